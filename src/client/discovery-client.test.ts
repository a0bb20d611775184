import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ManualClock } from '../base/time/clock.ts';
import { orch } from '../dialect/orch.ts';
import { ApiClient } from './api-client.ts';
import { discoverGroups, discoverResources } from './discovery-client.ts';
import { ScriptedServer } from './scripted-server-fixture.ts';

const partsOf = (client: ApiClient) => ({
  ...{ client, clock: new ManualClock(), dialect: orch },
  signal: new AbortController().signal,
});

/** The resources of each version by path; a version without any is away. */
type Served = Readonly<Record<string, readonly string[] | undefined>>;

const groupOf = (name: string, ...versions: readonly string[]) => ({
  name,
  versions: versions.map((version) => ({ groupVersion: `${name}/${version}` })),
  // Not the first: the order of versions says nothing about which one is preferred.
  preferredVersion: { groupVersion: `${name}/${versions.at(-1)}` },
});
const farm = groupOf('farm.example', 'v1alpha1', 'v1beta1', 'v1');

/** Answers as many requests as a discovery of these versions sends. */
function serverOf(first: readonly unknown[], versions: readonly (readonly string[] | undefined)[]): ApiClient {
  const server = new ScriptedServer();
  for (const answer of first) server.answer(200, answer);
  for (const resources of versions) {
    if (resources === undefined) server.answer(503, { kind: 'Status', reason: 'ServiceUnavailable', message: 'away' });
    else
      server.answer(200, { resources: resources.map((name) => ({ name, kind: name, namespaced: true, verbs: [] })) });
  }
  return new ApiClient(server, 'tester');
}

const rows: readonly (readonly [why: string, served: Served, found: readonly string[], failed: readonly string[]])[] = [
  ['one version has all', { v1: ['pigs', 'pigs/status'], v1alpha1: [], v1beta1: [] }, ['v1 pigs'], []],
  ['the preferred version counts', { v1: ['pigs'], v1alpha1: ['pigs'], v1beta1: ['pigs'] }, ['v1 pigs'], []],
  [
    'resources that the preferred version has not',
    { v1: ['pigs'], v1alpha1: ['cows', 'pigs'], v1beta1: ['cows', 'hens'] },
    ['v1 pigs', 'v1alpha1 cows', 'v1beta1 hens'],
    [],
  ],
  [
    'a version is away',
    { v1: ['pigs'], v1alpha1: ['cows'], v1beta1: undefined },
    ['v1 pigs', 'v1alpha1 cows'],
    ['v1beta1'],
  ],
  ['the preferred version is away', { v1: undefined }, [], ['v1', 'v1alpha1', 'v1beta1']],
  ['a version before others is away', { v1: ['pigs'], v1alpha1: undefined }, ['v1 pigs'], ['v1alpha1', 'v1beta1']],
];

describe('discovery of a group with several versions', () => {
  const asText = ({ resources, failures }: Awaited<ReturnType<typeof discoverGroups>>) => [
    resources.map(({ apiVersion, resource }) => `${apiVersion} ${resource}`),
    failures.map(({ groupVersion }) => groupVersion),
  ];
  for (const [why, served, found, failed] of rows) {
    const answers = Object.values(served);
    const expected = [found.map((each) => `farm.example/${each}`), failed.map((each) => `farm.example/${each}`)];
    it(`${why}: that group`, async () => {
      assert.deepEqual(
        asText(await discoverGroups(partsOf(serverOf([farm], answers)), new Set(['farm.example']))),
        expected,
      );
    });
    it(`${why}: all groups`, async () => {
      const client = serverOf([{ groups: [farm] }, { resources: [] }], answers);
      assert.deepEqual(asText(await discoverResources(partsOf(client))), expected);
    });
  }
});

interface Aggregated {
  readonly versions?: readonly object[];
}
const aggregatedOf = (groups: Readonly<Record<string, Aggregated>>) => ({
  ...{ kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.orch.io/v2', metadata: {} },
  items: Object.entries(groups).map(([name, { versions }]) => ({ metadata: { name }, ...(versions && { versions }) })),
});
const versionOf = (version: string, freshness: string, ...resources: readonly string[]) => ({
  ...{ version, freshness },
  resources: resources.map((resource) => ({
    ...{ resource, scope: resource === 'pigs' ? 'Namespaced' : 'Cluster', verbs: ['list'] },
    responseKind: { group: '', version: '', kind: `Kind of ${resource}` },
    subresources: [{ subresource: 'status', verbs: ['get'] }],
  })),
});
const core = aggregatedOf({ '': { versions: [versionOf('v1', 'Current', 'pods')] } });
const statusOf = (reason: string) => ({ kind: 'Status', reason, message: reason });

describe('aggregated discovery', () => {
  const rows: readonly (readonly [
    why: string,
    groups: Readonly<Record<string, Aggregated>>,
    found: readonly string[],
    failed: readonly string[],
  ])[] = [
    [
      'the first version is the preferred one',
      { farm: { versions: [versionOf('v2', 'Current', 'pigs'), versionOf('v1', 'Current', 'pigs', 'cows')] } },
      ['farm/v2 pigs', 'farm/v1 cows'],
      [],
    ],
    [
      'a stale version, and those after it',
      {
        farm: {
          versions: [
            versionOf('v3', 'Current', 'cows'),
            versionOf('v2', 'Stale', 'pigs'),
            versionOf('v1', 'Current', 'hens'),
          ],
        },
      },
      ['farm/v3 cows'],
      ['farm/v2', 'farm/v1'],
    ],
    ['a malformed name', { 'a/b': { versions: [versionOf('v1', 'Current', 'pigs')] } }, [], ['a/b/v1']],
    ['a group without versions', { empty: {} }, [], []],
    ['a version without resources', { farm: { versions: [{ version: 'v1' }] } }, [], []],
  ];
  for (const [why, groups, found, failed] of rows) {
    it(why, async () => {
      const server = new ScriptedServer();
      server.answer(200, aggregatedOf(groups));
      server.answer(200, core);
      const { resources, failures } = await discoverResources(partsOf(new ApiClient(server, 'tester')));
      assert.deepEqual(
        resources.map(({ apiVersion, resource }) => `${apiVersion} ${resource}`),
        ['v1 pods', ...found],
      );
      assert.deepEqual(
        failures.map(({ groupVersion }) => groupVersion),
        failed,
      );
      assert.deepEqual(server.requests, ['GET /apis', 'GET /api']);
      for (const { headers } of server.sent) {
        assert.equal(
          headers?.['accept'],
          'application/json;g=apidiscovery.orch.io;v=v2;as=APIGroupDiscoveryList,' +
            'application/json;g=apidiscovery.orch.io;v=v2beta1;as=APIGroupDiscoveryList,application/json',
        );
      }
    });
  }

  it('says kind, scope and verbs', async () => {
    const server = new ScriptedServer();
    server.answer(200, aggregatedOf({ farm: { versions: [versionOf('v1', 'Current', 'pigs')] } }));
    server.answer(200, core);
    const { resources } = await discoverResources(partsOf(new ApiClient(server, 'tester')));
    const names = { apiVersion: 'farm/v1', kind: 'Kind of pigs', resource: 'pigs', singular: '' };
    assert.deepEqual(resources[1], { ...names, namespaced: true, verbs: ['list'] });
  });

  it('has a resource in all versions, if they are wanted', async () => {
    const versions = [versionOf('v2', 'Current', 'pigs'), versionOf('v1', 'Current', 'pigs', 'cows')];
    for (const [inAllVersions, found] of [
      [false, ['farm/v2 pigs', 'farm/v1 cows']],
      [true, ['farm/v2 pigs', 'farm/v1 pigs', 'farm/v1 cows']],
    ] as const) {
      const server = new ScriptedServer();
      server.answer(200, aggregatedOf({ farm: { versions } }));
      server.answer(200, core);
      const parts = { ...partsOf(new ApiClient(server, 'tester')), inAllVersions };
      const { resources } = await discoverResources(parts);
      const ofFarm = resources.filter(({ apiVersion }) => apiVersion.startsWith('farm'));
      assert.deepEqual(
        ofFarm.map(({ apiVersion, resource }) => `${apiVersion} ${resource}`),
        found,
      );
    }
  });

  it('of the core that fails fails for the core alone', async () => {
    const server = new ScriptedServer();
    server.answer(200, aggregatedOf({ farm: { versions: [versionOf('v1', 'Current', 'pigs')] } }));
    server.answer(503, statusOf('ServiceUnavailable'));
    const { resources, failures } = await discoverResources(partsOf(new ApiClient(server, 'tester')));
    assert.deepEqual(
      resources.map(({ resource }) => resource),
      ['pigs'],
    );
    assert.deepEqual(failures, [{ groupVersion: 'v1', type: 'unavailable', message: 'ServiceUnavailable' }]);
  });

  it('that fails as a whole rejects', async () => {
    const server = new ScriptedServer();
    server.answer(503, statusOf('ServiceUnavailable'));
    await assert.rejects(discoverResources(partsOf(new ApiClient(server, 'tester'))), /ServiceUnavailable/);
  });

  it('is read for many groups, of which others are left out', async () => {
    const server = new ScriptedServer();
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const versions = [versionOf('v1', 'Current', 'pigs')];
    const stale = [versionOf('v1', 'Stale', 'pigs')];
    server.answer(
      200,
      aggregatedOf({ ...Object.fromEntries(names.map((name) => [name, { versions }])), g: { versions: stale } }),
    );
    server.answer(200, core);
    const asked = new Set(names.slice(1));
    const { resources, failures } = await discoverGroups(partsOf(new ApiClient(server, 'tester')), asked);
    assert.deepEqual(
      resources.map(({ apiVersion }) => apiVersion),
      names.slice(1).map((name) => `${name}/v1`),
    );
    assert.deepEqual(failures, []);
    assert.equal(server.requests.length, 2);
  });
});
