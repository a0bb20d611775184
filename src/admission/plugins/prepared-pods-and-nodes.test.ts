import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { StatusError } from '../../meta/status-error.ts';
import { attributesOf } from '../attributes-fixture.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { alwaysPullImages } from './always-pull-images.ts';
import { defaultTolerationSeconds } from './default-toleration-seconds.ts';
import { namespaceExists } from './namespace-exists.ts';
import { taintNodesByCondition } from './taint-nodes-by-condition.ts';

type Write = Parameters<typeof attributesOf>[0];

/** What mutation makes of the specification of an object. */
async function mutated(plugin: AdmissionPlugin, write: Write): Promise<unknown> {
  const attributes = attributesOf(structuredClone(write));
  for (let round = 0; round < 2; round++) if (plugin.concerns(attributes)) await plugin.mutate?.(attributes);
  return (attributes.object as { readonly spec?: unknown } | undefined)?.spec;
}

async function refusal(plugin: AdmissionPlugin, write: Write): Promise<string | undefined> {
  const attributes = attributesOf(write);
  try {
    if (plugin.concerns(attributes)) await plugin.validate?.(attributes);
    return undefined;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return `${error.reason}: ${error.message}`;
  }
}

describe('DefaultTolerationSeconds', () => {
  const plugin = defaultTolerationSeconds({ dialect: kubernetes, seconds: { notReady: 300, unreachable: 7 } });
  const notReady = 'node.kubernetes.io/not-ready';
  const unreachable = 'node.kubernetes.io/unreachable';
  const added = {
    [notReady]: { operator: 'Exists', effect: 'NoExecute', key: notReady, tolerationSeconds: 300 },
    [unreachable]: { operator: 'Exists', effect: 'NoExecute', key: unreachable, tolerationSeconds: 7 },
  };
  const both = [added[notReady], added[unreachable]];
  const own = { key: 'k', operator: 'Exists' };
  const cases: readonly (readonly [title: string, before: readonly object[] | undefined, after: readonly object[]])[] =
    [
      ['both are added', undefined, both],
      ['behind others', [own], [own, ...both]],
      [
        'not where there is one',
        [{ key: notReady, effect: 'NoExecute' }],
        [{ key: notReady, effect: 'NoExecute' }, both[1] ?? {}],
      ],
      ['nor for any effect', [{ key: unreachable }], [{ key: unreachable }, both[0] ?? {}]],
      ['nor for any taint', [{ operator: 'Exists' }], [{ operator: 'Exists' }]],
      [
        'but for another effect',
        [{ key: notReady, effect: 'NoSchedule' }],
        [{ key: notReady, effect: 'NoSchedule' }, ...both],
      ],
    ];
  for (const operation of ['create', 'update'] as const) {
    for (const [title, before, after] of cases) {
      it(`${operation}: ${title}`, async () => {
        const object = { spec: before === undefined ? {} : { tolerations: before } };
        assert.deepEqual(await mutated(plugin, { operation, resource: 'pods', object, old: object }), {
          tolerations: after,
        });
      });
    }
  }
  for (const resource of ['pods/status', 'pods/binding', 'pods/ephemeralcontainers', 'deployments']) {
    it(`${resource} is left alone`, async () => {
      assert.deepEqual(await mutated(plugin, { operation: 'update', resource, object: { spec: {} } }), {});
    });
  }
});

describe('TaintNodesByCondition', () => {
  const plugin = taintNodesByCondition(kubernetes);
  const taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
  const other = { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' };
  const cases: readonly (readonly [title: string, write: Write, spec: unknown])[] = [
    ['a new node is tainted', { object: {} }, { taints: [taint] }],
    [
      'with its other taints',
      { object: { spec: { podCIDR: 'x', taints: [other] } } },
      { podCIDR: 'x', taints: [other, taint] },
    ],
    ['once', { object: { spec: { taints: [{ ...taint, value: 'v' }] } } }, { taints: [{ ...taint, value: 'v' }] }],
    ['an update is left alone', { operation: 'update', object: { spec: {} } }, {}],
    ['its status is', { resource: 'nodes/status', object: { spec: {} } }, {}],
    ['other kinds are', { resource: 'nodes', group: 'example.com', object: { spec: {} } }, {}],
  ];
  for (const [title, write, spec] of cases) {
    it(title, async () => assert.deepEqual(await mutated(plugin, { resource: 'nodes', ...write }), spec));
  }
});

describe('AlwaysPullImages', () => {
  const plugin = alwaysPullImages();
  const container = (image: string, imagePullPolicy?: string) => ({
    name: 'c',
    image,
    ...(imagePullPolicy && { imagePullPolicy }),
  });
  const all = (policy?: string) => ({
    initContainers: [container('a', policy)],
    containers: [container('b', policy)],
    ephemeralContainers: [container('c', policy)],
  });
  const cases: readonly (readonly [title: string, write: Write, spec: unknown])[] = [
    ['all containers', { object: { spec: all('Never') } }, all('Always')],
    [
      'an update with a new image',
      { operation: 'update', object: { spec: all() }, old: { spec: { containers: [container('a')] } } },
      all('Always'),
    ],
    ['an update without', { operation: 'update', object: { spec: all('Never') }, old: { spec: all() } }, all('Never')],
    [
      'subresources',
      { operation: 'update', resource: 'pods/ephemeralcontainers', object: { spec: all('Never') } },
      all('Never'),
    ],
  ];
  for (const [title, write, spec] of cases) {
    it(title, async () => assert.deepEqual(await mutated(plugin, { resource: 'pods', ...write }), spec));
  }
  it('what a webhook sets back is refused', async () => {
    const problem = (field: string, value: string) =>
      `spec.${field}[0].imagePullPolicy: Unsupported value: "${value}": supported values: "Always"`;
    const one = { containers: [container('a', 'Never')] };
    assert.equal(
      await refusal(plugin, { resource: 'pods', object: { spec: one } }),
      `Forbidden: pods "x" is forbidden: ${problem('containers', 'Never')}`,
    );
    assert.equal(
      await refusal(plugin, { resource: 'pods', object: { spec: { ...one, initContainers: [container('a')] } } }),
      `Forbidden: pods "x" is forbidden: [${problem('initContainers', '')}, ${problem('containers', 'Never')}]`,
    );
    assert.equal(await refusal(plugin, { resource: 'pods', object: { spec: all('Always') } }), undefined);
  });
});

describe('NamespaceExists', () => {
  const absent = 'NotFound: namespaces "none" not found';
  const cases: readonly (readonly [write: Write, refused: string | undefined])[] = [
    ...(['create', 'update', 'delete'] as const).flatMap((operation) => [
      [{ operation, namespace: 'none' }, absent] as const,
      [{ operation, namespace: 'there' }, undefined] as const,
      [{ operation, namespace: 'going' }, undefined] as const,
      [{ operation, resource: 'nodes' }, undefined] as const,
      [{ operation, resource: 'namespaces', namespace: 'none' }, undefined] as const,
    ]),
    [{ operation: 'connect', namespace: 'none' }, undefined],
  ];
  for (const later of [false, true]) {
    for (const [write, refused] of cases) {
      it(`${JSON.stringify(write)}${later ? ', asked' : ''}`, async () => {
        const phases = { there: 'Active', going: 'Terminating' } as const;
        const phase = (name: string) => phases[name as keyof typeof phases] ?? 'absent';
        const plugin = namespaceExists({ phase: (name) => (later ? Promise.resolve(phase(name)) : phase(name)) });
        assert.equal(await refusal(plugin, write), refused);
      });
    }
  }
});
