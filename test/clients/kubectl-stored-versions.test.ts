import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { dialects } from '../../src/dialect/dialects.ts';
import { definitionOf, definitionPath, versionOf } from '../support/custom-resources.ts';
import { kubectl, kubectlMissing } from '../support/kubectl.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** How OPERATIONS.md finds what is stored in an old version of a custom resource, and gives that version up. */

const group = 'farm.example';
const name = `pens.${group}`;

interface Pen {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
}

for (const dialect of [dialects.orch, dialects.kubernetes]) {
  describe(`versions in which objects are stored, dialect ${dialect.name}`, { skip: kubectlMissing }, () => {
    test('objects are rewritten by replacing them with themselves', async () => {
      await using server = await OrchProcess.start({ flags: [`--dialect=${dialect.name}`] });
      const ok = async (args: readonly string[], input?: string): Promise<string> => {
        const { code, out, err } = await kubectl(server, args, { input });
        assert.equal(code, 0, err);
        return out;
      };
      const definition = (stored: string, ...served: readonly string[]) => {
        const versions = served.map((each) =>
          versionOf({ size: { type: 'integer' } }, { name: each, storage: each === stored }),
        );
        return definitionOf({ group, kind: 'Pen', versions, dialect });
      };
      const define = async (stored: string, ...served: readonly string[]): Promise<void> => {
        await ok(['apply', '-f', '-'], JSON.stringify(definition(stored, ...served)));
        await ok(['wait', '--for=condition=Established', `crd/${name}`]);
      };
      const make = async (called: string, version: string): Promise<void> => {
        const metadata = { name: called, namespace: 'default' };
        await ok(
          ['create', '-f', '-'],
          JSON.stringify({ apiVersion: `${group}/${version}`, kind: 'Pen', metadata, size: 1 }),
        );
      };
      const columns = 'custom-columns=NAME:.metadata.name,STORED:.status.storedVersions';
      const listed = async (): Promise<string> => (await ok(['get', 'crd', '-o', columns])).replaceAll(/ +/g, ' ');
      await define('v1', 'v1', 'v2');
      for (const called of ['old', 'older']) await make(called, 'v2');
      await define('v2', 'v1', 'v2');
      await until(async () => (await listed()) === `NAME STORED\n${name} [v1 v2]\n`, 'the version is not remembered');
      await make('new', 'v1');

      const versions = async (): Promise<Readonly<Record<string, string>>> => {
        const { items } = JSON.parse(await ok(['get', `pens.v2.${group}`, '-A', '-o', 'json'])) as { items: Pen[] };
        return Object.fromEntries(items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
      };
      const before = await versions();
      const replace = async (): Promise<string> =>
        ok(['replace', '-f', '-'], await ok(['get', `pens.v2.${group}`, '-A', '-o', 'json']));
      await replace();
      const after = await versions();
      const rewritten = Object.keys(after).filter((called) => after[called] !== before[called]);
      assert.deepEqual(rewritten, ['old', 'older']);
      await replace();
      assert.deepEqual(await versions(), after, 'what is stored in the right version is not written again');

      // The version cannot go while it is remembered.
      const early = await kubectl(server, ['apply', '-f', '-'], { input: JSON.stringify(definition('v2', 'v2')) });
      assert.match(early.err, /status\.storedVersions\[0\]: Invalid value: "v1": must appear in spec\.versions/);
      const stored = '{"status":{"storedVersions":["v2"]}}';
      await ok(['patch', 'crd', name, '--subresource=status', '--type=merge', '-p', stored]);
      assert.equal(await listed(), `NAME STORED\n${name} [v2]\n`);
      await define('v2', 'v2');
      assert.deepEqual(await versions(), after);
      assert.equal((await server.get(definitionPath(name, dialect))).status, 200);
    });
  });
}
