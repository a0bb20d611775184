import assert from 'node:assert/strict';
import { test } from 'node:test';
import { created, podWith, type Sent } from './pod-fixture.ts';

const full = { cpu: '1', memory: '1Gi' };
const container = (name: string, resources: Sent): Sent => ({ name, image: 'a', resources });

const table: readonly (readonly [string, Sent, string])[] = [
  ['nothing', { containers: [container('a', {})] }, 'BestEffort'],
  ['limits only', { containers: [container('a', { limits: full })] }, 'Guaranteed'],
  [
    'the same amount in another unit',
    { containers: [container('a', { limits: full, requests: { cpu: '1000m', memory: '1024Mi' } })] },
    'Guaranteed',
  ],
  ['less asked for', { containers: [container('a', { limits: full, requests: { cpu: '500m' } })] }, 'Burstable'],
  ['one of two limited', { containers: [container('a', { limits: full }), container('b', {})] }, 'Burstable'],
  ['no memory', { containers: [container('a', { limits: { cpu: '1' } })] }, 'Burstable'],
  [
    'init container without',
    { containers: [container('a', { limits: full })], initContainers: [container('i', {})] },
    'Burstable',
  ],
  ['zero counts as nothing', { containers: [container('a', { requests: { cpu: '0' } })] }, 'BestEffort'],
  [
    'other resources don’t count',
    { containers: [container('a', { limits: { 'example.com/gpu': '1' } })] },
    'BestEffort',
  ],
  [
    'sums that agree by chance',
    {
      containers: [
        container('a', { limits: { cpu: '3', memory: '1Gi' }, requests: { cpu: '1', memory: '1Gi' } }),
        container('b', { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1', memory: '1Gi' } }),
      ],
    },
    'Burstable',
  ],
];

for (const [what, spec, expected] of table) {
  test(`QoS class: ${what}`, () => {
    assert.equal(created(podWith(spec)).pod.status?.qosClass, expected);
  });
}
