import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { goQuantity } from '../../meta/go-values.ts';
import { RegistryFixture } from '../../registry/registry-fixture.ts';
import { create, row, type Sent, update } from '../strategy-fixture.ts';
import { limitRange } from './limit-range.ts';

const kind = limitRange(orch);
const limits = (...of: readonly unknown[]): Sent => ({ spec: { limits: of } });
const container = (fields: Sent): Sent => limits({ type: 'Container', ...fields });
const at = 'spec.limits[0]';

const rows: readonly { readonly why: string; readonly sent: Sent; readonly errors: readonly string[] }[] = [
  { why: 'no limits', sent: limits(), errors: [] },
  {
    why: 'each type',
    sent: limits(
      { type: 'Pod', max: { cpu: '2' } },
      { type: 'Container', min: { memory: '1Mi' } },
      { type: 'PersistentVolumeClaim', min: { storage: '1Gi' } },
      { type: 'x.io/Y', max: { 'a.b/c': '1' } },
    ),
    errors: [],
  },
  {
    why: 'a type twice',
    sent: limits({ type: 'Pod' }, { type: 'Pod' }),
    errors: ['spec.limits[1].type: Duplicate value: "Pod"'],
  },
  {
    why: 'an unknown type',
    sent: limits({ type: 'Node' }),
    errors: [`${at}.type: Invalid value: "Node": must be a standard limit type or fully qualified`],
  },
  {
    why: 'an unknown resource of pods',
    sent: limits({ type: 'Pod', max: { disk: '1' } }),
    errors: [
      `${at}.max[disk]: Invalid value: disk: must be a standard resource type or fully qualified`,
      `${at}.max[disk]: Invalid value: disk: must be a standard resource for containers`,
    ],
  },
  {
    why: 'an unknown resource of claims',
    sent: limits({ type: 'PersistentVolumeClaim', min: { storage: '1', disk: '1' } }),
    errors: [`${at}.min[disk]: Invalid value: disk: must be a standard resource type or fully qualified`],
  },
  {
    why: 'claims without storage',
    sent: limits({ type: 'PersistentVolumeClaim' }),
    errors: [
      `${at}.limits: Required value: either minimum or maximum storage value is required, but neither was provided`,
    ],
  },
  {
    why: 'defaults of pods',
    sent: limits({ type: 'Pod', default: { cpu: '1' }, defaultRequest: { cpu: '1' } }),
    errors: [
      `${at}.default: Forbidden: may not be specified when \`type\` is 'Pod'`,
      `${at}.defaultRequest: Forbidden: may not be specified when \`type\` is 'Pod'`,
    ],
  },
  {
    why: 'more at least than at most',
    sent: limits({ type: 'Pod', min: { cpu: '2' }, max: { cpu: '1' } }),
    errors: [`${at}.min[cpu]: Invalid value: ${goQuantity('2')}: min value 2 is greater than max value 1`],
  },
  {
    why: 'a default request below the least',
    sent: container({ min: { cpu: '2' }, defaultRequest: { cpu: '1' } }),
    errors: [
      `${at}.defaultRequest[cpu]: Invalid value: ${goQuantity('1')}: min value 2 is greater than default request value 1`,
    ],
  },
  {
    why: 'a default request above the most',
    sent: container({ max: { cpu: '1' }, defaultRequest: { cpu: '2' } }),
    errors: [
      `${at}.defaultRequest[cpu]: Invalid value: ${goQuantity('2')}: default request value 2 is greater than max value 1`,
      `${at}.defaultRequest[cpu]: Invalid value: ${goQuantity('2')}: default request value 2 is greater than default limit value 1`,
    ],
  },
  {
    why: 'a default below the least',
    sent: container({ min: { cpu: '2' }, default: { cpu: '1' }, defaultRequest: { cpu: '2' } }),
    errors: [
      `${at}.defaultRequest[cpu]: Invalid value: ${goQuantity('2')}: default request value 2 is greater than default limit value 1`,
      `${at}.default[cpu]: Invalid value: ${goQuantity('2')}: min value 2 is greater than default value 1`,
    ],
  },
  {
    why: 'a default above the most',
    sent: container({ max: { cpu: '1' }, default: { cpu: '2' }, defaultRequest: { cpu: '1' } }),
    errors: [`${at}.default[cpu]: Invalid value: ${goQuantity('1')}: default value 2 is greater than max value 1`],
  },
  {
    why: 'a ratio below 1',
    sent: container({ maxLimitRequestRatio: { cpu: '500m' } }),
    errors: [`${at}.maxLimitRequestRatio[cpu]: Invalid value: ${goQuantity('500m')}: ratio 500m is less than 1`],
  },
  {
    why: 'a ratio that cannot be',
    sent: limits({ type: 'Pod', min: { cpu: '1' }, max: { cpu: '2' }, maxLimitRequestRatio: { cpu: '3' } }),
    errors: [
      `${at}.maxLimitRequestRatio[cpu]: Invalid value: ${goQuantity('3')}: ratio 3 is greater than max/min = 2.000000`,
    ],
  },
  {
    why: 'a ratio of more than anything to nothing',
    sent: limits({ type: 'Pod', min: { cpu: '0' }, max: { cpu: '2' }, maxLimitRequestRatio: { cpu: '3' } }),
    errors: [],
  },
  {
    why: 'defaults that differ, of what cannot be overcommitted',
    sent: container({ default: { 'x.io/gpu': '2' }, defaultRequest: { 'x.io/gpu': '1' } }),
    errors: [
      `${at}.defaultRequest[x.io/gpu]: Invalid value: ${goQuantity('1')}: default value 2 must equal to defaultRequest value 1 in x.io/gpu`,
    ],
  },
];

for (const { why, sent, errors } of rows) {
  test(`LimitRange: ${why}`, () => {
    assert.deepEqual(create(kind, sent).errors, errors);
    assert.deepEqual(update(kind, {}, sent).errors, errors);
  });
}

test('LimitRange: defaults of containers come from the most and the least', () => {
  const given = {
    type: 'Container',
    max: { cpu: '2', memory: '1Gi' },
    min: { cpu: '100u', 'ephemeral-storage': '1' },
    default: { cpu: '1' },
  };
  const rounded = { cpu: '1m', 'ephemeral-storage': '1' };
  const defaults = { cpu: '1', memory: '1Gi' };
  assert.deepEqual(create(kind, limits(given)).object['spec'], {
    limits: [{ ...given, min: rounded, default: defaults, defaultRequest: { ...defaults, 'ephemeral-storage': '1' } }],
  });
  const pod = { type: 'Pod', max: { cpu: '2' } };
  assert.deepEqual(create(kind, limits(pod)).object['spec'], { limits: [pod] });
});

test('LimitRange: columns', () =>
  assert.deepEqual(row(kind, { metadata: { creationTimestamp: '2026-01-01T00:00:00Z' } }), {
    Name: 'one',
    'Created At': '2026-01-01T00:00:00Z',
  }));

test('a limit range without a name is given one', async () => {
  await using fixture = await RegistryFixture.open();
  const at = '/api/v1/namespaces/n/limitranges';
  const made = await Promise.all([1, 2].map(() => fixture.object('POST', at, { metadata: {}, spec: { limits: [] } })));
  const names = new Set(made.map(({ metadata }) => metadata.name));
  for (const name of names) assert.match(name ?? '', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.equal(names.size, 2);
  const generated = await fixture.object('POST', at, { metadata: { generateName: 'a-' }, spec: { limits: [] } });
  assert.match(generated.metadata.name ?? '', /^a-/);
});
