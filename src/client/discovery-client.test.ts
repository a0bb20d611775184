import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiClient } from './api-client.ts';
import { discoverGroups, discoverResources } from './discovery-client.ts';
import { ScriptedServer } from './scripted-server-fixture.ts';

const signal = new AbortController().signal;

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
      assert.deepEqual(asText(await discoverGroups(serverOf([farm], answers), ['farm.example'], signal)), expected);
    });
    it(`${why}: all groups`, async () => {
      const client = serverOf([{ groups: [farm] }, { resources: [] }], answers);
      assert.deepEqual(asText(await discoverResources(client, signal)), expected);
    });
  }
});
