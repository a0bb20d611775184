import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { kubernetes } from '../../src/dialect/kubernetes.ts';
import { orch } from '../../src/dialect/orch.ts';
import { KubectlClient } from '../support/kubectl.ts';
import { kubectlReleases } from '../support/kubectl-releases.ts';
import { OrchProcess } from '../support/orch-process.ts';
import {
  definitionManifest,
  definitionName,
  type PublishedDefinition,
  publishedDefinitions,
  sampleManifest,
} from '../support/published-definitions.ts';

/**
 * Ten definitions in the shapes that projects publish, from their creation to their removal. The newest release of the client
 * does everything in both dialects, the others what they do differently.
 */

const list = (items: readonly object[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
const definitionsOf = (dialect: typeof orch): string =>
  list(publishedDefinitions.map((definition) => definitionManifest(definition, dialect)));
const samples = (name: string): string =>
  list(publishedDefinitions.map((definition) => sampleManifest(definition, name)));
const names = publishedDefinitions.map(definitionName);
/** Resources with their group, as arguments name them: the same as the names of definitions. */
const everything = names.join(',');
const columnsOf = (table: string): readonly string[] => table.split('\n', 1)[0]?.trim().split(/\s+/) ?? [];

const lines = (text: string): readonly string[] => text.trim().split('\n');

/** Creates the definitions and waits until they are served. */
async function define(client: KubectlClient, dialect: typeof orch): Promise<void> {
  await client.prints(['create', '-f', '-'], { input: definitionsOf(dialect) });
  const objects = names.map((name) => `customresourcedefinition/${name}`);
  const waited = await client.prints(['wait', '--for=condition=Established', '--timeout=30s', ...objects]);
  assert.equal(lines(waited).length, names.length);
}

/** Names with resourceVersions of all objects. */
const versionsOf = (client: KubectlClient): Promise<string> =>
  client.prints([
    ...['get', everything, '-o'],
    'jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{"\\n"}{end}',
  ]);

async function explainAll(client: KubectlClient): Promise<void> {
  for (const { spec, sample } of publishedDefinitions) {
    const text = await client.prints(['explain', `${spec.names.plural}.${spec.group}`, '--recursive']);
    assert.match(text, new RegExp(`KIND: +${spec.names.kind}`));
    for (const field of Object.keys(Object(Reflect.get(sample, 'spec')))) {
      assert.match(text, new RegExp(`^ +${field}\\t`, 'm'), spec.names.kind);
    }
  }
}

async function applyTwice(client: KubectlClient, name: string, flags: readonly string[]): Promise<void> {
  const apply = ['apply', ...flags, '-f', '-'];
  assert.equal(lines(await client.prints(apply, { input: samples(name) })).length, names.length);
  const before = await versionsOf(client);
  await client.prints(apply, { input: samples(name) });
  assert.equal(await versionsOf(client), before);
}

async function refuseWrong(client: KubectlClient): Promise<void> {
  for (const definition of publishedDefinitions) {
    for (const { merge, field, text } of [{ ...definition.wrong, text: '' }, ...(definition.broken ?? [])]) {
      const input = JSON.stringify(sampleManifest(definition, 'wrong', merge));
      const said = await client.refused(['create', '-f', '-'], { input });
      assert.ok(said.includes(`is invalid: ${field}: `) || said.includes(`* ${field}: `), said);
      assert.ok(said.includes(text), said);
    }
  }
}

async function removeAll(client: KubectlClient): Promise<void> {
  await client.prints(['delete', 'customresourcedefinition', ...names]);
  await until(async () => {
    const served = lines(await client.prints(['api-resources', '--cached=false', '-o', 'name']));
    return !served.some((name) => names.includes(name));
  });
  assert.match(await client.refused(['get', names[0] ?? '']), /the server doesn't have a resource type/);
}

const resourceOf = (definition: PublishedDefinition): readonly [string, string] => [definitionName(definition), 'one'];

async function seeColumns(client: KubectlClient): Promise<void> {
  for (const definition of publishedDefinitions) {
    const { columns, wide } = definition;
    assert.deepEqual(columnsOf(await client.prints(['get', ...resourceOf(definition)])), columns);
    assert.deepEqual(columnsOf(await client.prints(['get', ...resourceOf(definition), '-o', 'wide'])), wide);
  }
}

async function change(client: KubectlClient, definition: PublishedDefinition): Promise<void> {
  const patch = ['patch', ...resourceOf(definition), '--type=merge', '-p'];
  const read = ['get', ...resourceOf(definition), '-o'];
  assert.match(await client.prints([...patch, JSON.stringify(definition.change)]), / patched\n/);
  assert.match(await client.prints([...patch, JSON.stringify(definition.change)]), / patched \(no change\)\n/);
  await client.prints([...patch, JSON.stringify({ status: definition.status }), '--subresource=status']);
  assert.equal(await client.prints([...read, 'jsonpath={.metadata.generation}']), '2');
  const status = JSON.parse(await client.prints([...read, 'jsonpath={.status}']));
  assert.partialDeepStrictEqual(status, definition.status);
  for (const { merge, field, text } of definition.refusedChanges ?? []) {
    const said = await client.refused([...patch, JSON.stringify(merge)]);
    assert.match(said, new RegExp(`is invalid: ${field}: .*${text}`));
  }
}

async function scale(client: KubectlClient): Promise<void> {
  for (const [name, path] of [
    ['machinesets.fleet.example.com', '{.spec.replicas}'],
    ['databases.data.example.com', '{.spec.instances}'],
  ] as const) {
    assert.match(await client.prints(['scale', `${name}/one`, '--replicas=5']), / scaled\n/);
    assert.equal(await client.prints(['get', name, 'one', '-o', `jsonpath=${path}`]), '5');
  }
  assert.match(await client.refused(['scale', 'databases.data.example.com/one', '--replicas=10']), /spec\.instances/);
}

async function editStatus(client: KubectlClient): Promise<void> {
  const database = ['databases.data.example.com', 'one'];
  const env = { KUBE_EDITOR: 'sed -i s/Healthy/Failing/' };
  assert.match(await client.prints(['edit', ...database, '--subresource=status'], { env }), / edited\n/);
  assert.equal(await client.prints(['get', ...database, '-o', 'jsonpath={.status.phase}']), 'Failing');
}

const newest = kubectlReleases.at(-1);

describe('definitions in the shapes that projects publish', {
  skip: newest === undefined && 'kubectl is not installed',
}, () => {
  for (const dialect of [orch, kubernetes]) {
    describe(`with --dialect=${dialect.name}`, () => {
      const start = (): Promise<OrchProcess> => OrchProcess.start({ flags: [`--dialect=${dialect.name}`] });

      it('kubectl of the newest release works with their objects', async () => {
        await using server = await start();
        const client = new KubectlClient(newest ?? assert.fail(), server);
        await define(client, dialect);
        await explainAll(client);
        const created = ['create', '--save-config', '--validate=strict', '-f', '-'];
        assert.equal(lines(await client.prints(created, { input: samples('one') })).length, names.length);
        await applyTwice(client, 'one', []);
        await applyTwice(client, 'two', ['--server-side']);
        for (const definition of publishedDefinitions) await change(client, definition);
        await editStatus(client);
        await seeColumns(client);
        await scale(client);
        await refuseWrong(client);
        const old = await client.run(['get', 'accesspolicies.v1alpha1.policy.example.com', 'one', '-o', 'name']);
        assert.match(old.err, /Warning: policy\.example\.com\/v1alpha1 AccessPolicy is old, use v1/);
        await removeAll(client);
      });

      for (const release of dialect === kubernetes ? kubectlReleases.slice(0, -1) : []) {
        it(`kubectl ${release.release} explains, applies and removes them`, async () => {
          await using server = await start();
          const client = new KubectlClient(release, server);
          await define(client, dialect);
          await explainAll(client);
          await applyTwice(client, 'one', ['--validate=strict']);
          await applyTwice(client, 'two', ['--server-side']);
          const [first] = publishedDefinitions;
          if (first) await change(client, first);
          await scale(client);
          await removeAll(client);
        });
      }
    });
  }
});
