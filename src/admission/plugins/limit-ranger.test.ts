import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { StatusError } from '../../meta/status-error.ts';
import { attributesOf } from '../attributes-fixture.ts';
import { limitRanger } from './limit-ranger.ts';

type Write = Parameters<typeof attributesOf>[0];
type Amounts = Readonly<Record<string, string>>;

interface Resources {
  readonly requests?: Amounts;
  readonly limits?: Amounts;
}

const range = (...limits: readonly object[]): ApiObject => ({
  ...{ apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'r' } },
  spec: { limits },
});

const plugin = (ranges: readonly ApiObject[], dialect = orch) =>
  limitRanger({ dialect, limitRanges: (namespace) => (namespace === 'n' ? ranges : []) });

async function mutated(ranges: readonly ApiObject[], write: Write, dialect = orch): Promise<ApiObject | undefined> {
  const attributes = attributesOf(structuredClone({ resource: 'pods', namespace: 'n', ...write }));
  const made = plugin(ranges, dialect);
  // As mutation does when a webhook changed the object.
  for (let round = 0; round < 2; round++) if (made.concerns(attributes)) await made.mutate?.(attributes);
  return attributes.object;
}

async function refusal(ranges: readonly ApiObject[], write: Write): Promise<string | undefined> {
  const attributes = attributesOf({ resource: 'pods', namespace: 'n', ...write });
  const made = plugin(ranges);
  try {
    if (made.concerns(attributes)) await made.validate?.(attributes);
    return undefined;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    assert.equal(error.code, 403);
    return error.message;
  }
}

const container = (name: string, resources?: Resources, more: object = {}) => ({
  ...{ name, image: 'i', ...more },
  ...(resources && { resources }),
});
const podOf = (containers: readonly object[], initContainers: readonly object[] = []) => ({
  object: { spec: { containers, initContainers } },
});

describe('defaults of containers', () => {
  const defaults = { type: 'Container', default: { memory: '1Gi', cpu: '2' }, defaultRequest: { cpu: '1' } };
  const full = { requests: { cpu: '1' }, limits: { memory: '1Gi', cpu: '2' } };
  const annotation = (text: string) => ({ 'orch.io/limit-ranger': `LimitRanger plugin set: ${text}` });
  const cases: readonly (readonly [title: string, write: Write, spec: object, annotations: object | undefined])[] = [
    [
      'all are set, and said in order',
      podOf([container('a')], [container('i')]),
      { containers: [container('a', full)], initContainers: [container('i', full)] },
      annotation(
        'cpu request for container a; cpu, memory limit for container a; cpu request for init container i; cpu, memory limit for init container i',
      ),
    ],
    [
      'what a container says stays',
      podOf([container('a', { requests: { cpu: '3' }, limits: { cpu: '4' } }), container('b', full)]),
      {
        containers: [
          container('a', { requests: { cpu: '3' }, limits: { cpu: '4', memory: '1Gi' } }),
          container('b', full),
        ],
        initContainers: [],
      },
      annotation('memory limit for container a'),
    ],
    [
      'nothing to set',
      podOf([container('b', full)]),
      { containers: [container('b', full)], initContainers: [] },
      undefined,
    ],
    [
      'another namespace',
      { ...podOf([container('a')]), namespace: 'other' },
      { containers: [container('a')], initContainers: [] },
      undefined,
    ],
    [
      'an update, which cannot change them',
      { ...podOf([container('a')]), operation: 'update' },
      { containers: [container('a')], initContainers: [] },
      undefined,
    ],
    [
      'a resize',
      { ...podOf([container('a')]), operation: 'update', resource: 'pods/resize' },
      { containers: [container('a', full)], initContainers: [] },
      annotation('cpu request for container a; cpu, memory limit for container a'),
    ],
    [
      'a resize of what is being deleted',
      {
        ...podOf([container('a')]),
        ...{ operation: 'update', resource: 'pods/resize' },
        old: { metadata: { name: 'x', deletionTimestamp: '2026-01-01T00:00:00Z' } },
      },
      { containers: [container('a')], initContainers: [] },
      undefined,
    ],
  ];
  for (const [title, write, spec, annotations] of cases) {
    it(title, async () => {
      const object = await mutated([range(defaults, { type: 'Pod', default: { cpu: '9' } })], write);
      assert.deepEqual(object?.['spec'], spec);
      assert.deepEqual(object?.metadata.annotations, annotations);
    });
  }

  it('of several ranges the first counts', async () => {
    const other = range({ type: 'Container', default: { cpu: '7', 'ephemeral-storage': '1Gi' } });
    const object = await mutated([range(defaults), other], podOf([container('a')]), kubernetes);
    const limits = { memory: '1Gi', cpu: '2', 'ephemeral-storage': '1Gi' };
    assert.deepEqual(object?.['spec'], {
      containers: [container('a', { requests: { cpu: '1' }, limits })],
      initContainers: [],
    });
    assert.deepEqual(object?.metadata.annotations, {
      'kubernetes.io/limit-ranger': 'LimitRanger plugin set: ephemeral-storage limit for container a',
    });
  });
});

describe('bounds', () => {
  const cpu = (request?: string, limit?: string): Resources => ({
    ...(request !== undefined && { requests: { cpu: request } }),
    ...(limit !== undefined && { limits: { cpu: limit } }),
  });
  const of = (type: string, bounds: object) => range({ type, ...bounds });
  const min = { min: { cpu: '50m' } };
  const max = { max: { cpu: '1' } };
  const ratio = { maxLimitRequestRatio: { cpu: '2' } };
  const one = (resources?: Resources) => podOf([container('a', resources)]);
  const sidecar = { restartPolicy: 'Always' };
  /** The text behind `pods "x" is forbidden: `. */
  const cases: readonly (readonly [range: ApiObject, write: Write, why: string | undefined])[] = [
    [of('Container', min), one(cpu('50m')), undefined],
    [of('Container', min), one(), 'minimum cpu usage per Container is 50m.  No request is specified'],
    [of('Container', min), one(cpu('40m')), 'minimum cpu usage per Container is 50m, but request is 40m'],
    [of('Container', min), one(cpu('50m', '40m')), 'minimum cpu usage per Container is 50m, but limit is 40m'],
    [of('Container', max), one(cpu(undefined, '1000m')), undefined],
    [of('Container', max), one(cpu('1')), 'maximum cpu usage per Container is 1.  No limit is specified'],
    [of('Container', max), one(cpu('1', '1500m')), 'maximum cpu usage per Container is 1, but limit is 1500m'],
    [of('Container', max), one(cpu('2', '1')), 'maximum cpu usage per Container is 1, but request is 2'],
    [of('Container', ratio), one(cpu('1', '2')), undefined],
    [
      of('Container', ratio),
      one(cpu('1', '2500m')),
      'cpu max limit to request ratio per Container is 2, but provided ratio is 2.500000',
    ],
    [
      of('Container', ratio),
      one(cpu(undefined, '2')),
      'cpu max limit to request ratio per Container is 2, but no request is specified or request is 0',
    ],
    [
      of('Container', ratio),
      one(cpu('0', '2')),
      'cpu max limit to request ratio per Container is 2, but no request is specified or request is 0',
    ],
    [
      of('Container', ratio),
      one(cpu('1')),
      'cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0',
    ],
    [
      of('Container', { min: { memory: '1Gi', cpu: '1' }, ...max }),
      one(cpu('1', '2')),
      '[minimum memory usage per Container is 1Gi.  No request is specified, maximum cpu usage per Container is 1, but limit is 2]',
    ],
    [
      of('Container', max),
      podOf([container('a', cpu('1', '2')), container('b', cpu('1', '2'))]),
      'maximum cpu usage per Container is 1, but limit is 2',
    ],
    [
      of('Container', max),
      podOf([container('a', cpu('1', '1'))], [container('i', cpu('1', '3'))]),
      'maximum cpu usage per Container is 1, but limit is 3',
    ],
    [of('Pod', max), podOf([container('a', cpu('400m', '500m')), container('b', cpu('400m', '500m'))]), undefined],
    [
      of('Pod', max),
      podOf([container('a', cpu('400m', '600m')), container('b', cpu('400m', '600m'))]),
      'maximum cpu usage per Pod is 1, but limit is 1200m',
    ],
    [
      of('Pod', max),
      podOf([container('a', cpu('1', '1'))], [container('i', cpu('1', '2'))]),
      'maximum cpu usage per Pod is 1, but limit is 2',
    ],
    [
      of('Pod', max),
      podOf([container('a', cpu('500m', '500m'))], [container('s', cpu('600m', '600m'), sidecar)]),
      'maximum cpu usage per Pod is 1, but limit is 1100m',
    ],
    [
      of('Pod', max),
      podOf(
        [container('a', cpu('100m', '100m'))],
        [container('s', cpu('600m', '600m'), sidecar), container('i', cpu('600m', '600m'))],
      ),
      'maximum cpu usage per Pod is 1, but limit is 1200m',
    ],
    [of('Pod', min), podOf([container('a', cpu('20m')), container('b', cpu('30m'))]), undefined],
    [
      of('Pod', ratio),
      one(cpu('100m', '300m')),
      'cpu max limit to request ratio per Pod is 2, but provided ratio is 3.000000',
    ],
    [of('PersistentVolumeClaim', { max: { storage: '1Gi' } }), one(), undefined],
    [of('Container', max), { ...one(cpu('1', '2')), operation: 'update' }, undefined],
    [of('Container', max), { ...one(cpu('1', '2')), resource: 'pods/status', operation: 'update' }, undefined],
    [
      of('Container', max),
      { ...one(cpu('1', '2')), resource: 'pods/resize', operation: 'update' },
      'maximum cpu usage per Container is 1, but limit is 2',
    ],
  ];
  for (const [bounds, write, why] of cases) {
    it(`${JSON.stringify(bounds['spec'])} ${JSON.stringify(write)}`, async () => {
      assert.equal(await refusal([bounds], write), why && `pods "x" is forbidden: ${why}`);
    });
  }

  const claim = (storage?: string, more: Partial<NonNullable<Write>> = {}): Write => ({
    resource: 'persistentvolumeclaims',
    object: { spec: { resources: { requests: storage === undefined ? {} : { storage } } } },
    ...more,
  });
  const storage = of('PersistentVolumeClaim', { min: { storage: '1Gi' }, max: { storage: '10Gi' } });
  const claims: readonly (readonly [write: Write, why: string | undefined])[] = [
    [claim('1Gi'), undefined],
    [claim('10Gi'), undefined],
    [claim('500Mi'), 'minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi'],
    [claim('11Gi'), 'maximum storage usage per PersistentVolumeClaim is 10Gi, but request is 11Gi'],
    [
      claim('11Gi', { operation: 'update' }),
      'maximum storage usage per PersistentVolumeClaim is 10Gi, but request is 11Gi',
    ],
    [
      claim(),
      '[minimum storage usage per PersistentVolumeClaim is 1Gi.  No request is specified, maximum storage usage per PersistentVolumeClaim is 10Gi.  No request is specified]',
    ],
    [
      claim('11Gi', { operation: 'update', old: { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } } }),
      undefined,
    ],
    [claim('11Gi', { operation: 'update', resource: 'persistentvolumeclaims/status' }), undefined],
    [claim('11Gi', { operation: 'delete' }), undefined],
  ];
  for (const [write, why] of claims) {
    it(`claim ${JSON.stringify(write)}`, async () => {
      assert.equal(await refusal([storage], write), why && `persistentvolumeclaims "x" is forbidden: ${why}`);
    });
  }
});
