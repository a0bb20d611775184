import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import type { ApiClient, ApiList } from '../../src/client/api-client.ts';
import { resourcePath } from '../../src/client/resource-path.ts';
import { type Answer, answersOf } from '../support/answers.ts';
import { define, definitionOf, definitionPath, versionOf } from '../support/custom-resources.ts';
import { root, serverForSuite } from '../support/in-process-server.ts';

const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const text = { type: 'string' };
const object = (properties: object) => ({ type: 'object', properties });

/** What a definition says of reading its objects: columns of tables, fields of selectors. */
describe('custom objects in lists', () => {
  const suite = serverForSuite();
  const client = (): ApiClient => suite.server.clientAs(root, 'test');
  const { send, exchange } = answersOf(() => suite.server.transportAs(root));
  const at = (group: string, version = 'v1'): string =>
    resourcePath({ apiVersion: `${group}/${version}`, resource: 'widgets', namespace: 'default' });
  const create = async (group: string, name: string, spec: object, metadata: object = {}): Promise<void> => {
    const widget = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name, ...metadata }, spec };
    const { code, message } = await send('POST', at(group), widget);
    assert.equal(code, 201, message);
  };

  describe('columns', () => {
    const group = 'columns.example.com';
    const table = async (path: string) => {
      const accept = 'application/json;as=Table;g=meta.orch.io;v=v1';
      const { body } = await exchange({ method: 'GET', target: path, headers: { accept } });
      return body as unknown as {
        readonly columnDefinitions: readonly Readonly<Record<string, unknown>>[];
        readonly rows: readonly { readonly cells: readonly unknown[] }[];
      };
    };
    /** The cell of a column of that type, by value. */
    const cells: readonly (readonly [type: string, value: unknown, cell: unknown])[] = [
      ['string', 'x', 'x'],
      ['string', '', ''],
      ['string', 3, '3'],
      ['string', 0.5, '0.5'],
      ['string', 1e-5, '1e-05'],
      ['string', true, 'true'],
      ['string', { b: 1, a: [1] }, '{"b":1,"a":[1]}'],
      ['string', ['x'], '["x"]'],
      ['string', null, null],
      ['string', undefined, null],
      ['integer', 3, 3],
      ['integer', 2.7, 2],
      ['integer', -2.7, -2],
      ['integer', '3', null],
      ['integer', true, null],
      ['integer', {}, null],
      ['number', 0.5, 0.5],
      ['number', 2, 2],
      ['number', '2', null],
      ['boolean', false, false],
      ['boolean', 'true', null],
      ['boolean', 1, null],
      ['date', '2001-01-01T00:00:00Z', /^\d+y$/],
      ['date', '2001-01-01T00:00:00.5+02:00', /^\d+y$/],
      ['date', '2999-01-01T00:00:00Z', '<invalid>'],
      ['date', 'yesterday', '<invalid>'],
      ['date', '2001-01-01', '<invalid>'],
      ['date', '', '<unknown>'],
      ['date', '0001-01-01T00:00:00Z', '<unknown>'],
      ['date', 5, null],
      ['date', undefined, null],
    ];

    before(async () => {
      const columns = cells.map(([type], index) => ({ name: `C${index}`, type, jsonPath: `.spec.v${index}` }));
      const described = { ...columns[0], name: 'Said', description: 'said', format: 'byte', priority: 2 };
      const version = { additionalPrinterColumns: [described, ...columns] };
      await define(client(), definitionOf({ group, properties: { spec: open }, version }));
      const values = Object.fromEntries(cells.map(([, value], index) => [`v${index}`, value]));
      await create(group, 'one', values);
    });

    it('have the type, format, priority and description that the definition gives them', async () => {
      const { columnDefinitions } = await table(at(group));
      assert.deepEqual(columnDefinitions.slice(1, 3), [
        { name: 'Said', type: 'string', format: 'byte', priority: 2, description: 'said' },
        {
          ...{ name: 'C0', type: 'string', format: '', priority: 0 },
          description: 'Custom resource definition column (in JSONPath format): .spec.v0',
        },
      ]);
      assert.equal(columnDefinitions.length, cells.length + 2);
    });

    it('show values by their type', async () => {
      for (const path of [at(group), `${at(group)}/one`]) {
        const { rows } = await table(path);
        const [row] = rows;
        assert.equal(row?.cells[0], 'one');
        for (const [index, [type, value, cell]] of cells.entries()) {
          const shown: unknown = row?.cells[index + 2];
          const what = `${type} ${JSON.stringify(value)}`;
          if (cell instanceof RegExp) assert.match(String(shown), cell, what);
          else assert.deepEqual(shown, cell, what);
        }
      }
    });

    it('keep large integers exact', async () => {
      const large = 'large.example.com';
      const column = { name: 'N', type: 'integer', jsonPath: '.spec.n' };
      const spec = object({ n: { type: 'integer' } });
      await define(
        client(),
        definitionOf({ group: large, properties: { spec }, version: { additionalPrinterColumns: [column] } }),
      );
      const headers = { 'content-type': 'application/json' };
      const body = `{"apiVersion":"${large}/v1","kind":"Widget","metadata":{"name":"one"},"spec":{"n":9007199254740993}}`;
      assert.equal((await exchange({ method: 'POST', target: at(large), headers, body })).code, 201);
      const accept = 'application/json;as=Table;g=meta.orch.io;v=v1';
      const answer = await exchange({ method: 'GET', target: at(large), headers: { accept } });
      assert.match(answer.text, /"cells":\["one",9007199254740993\]/);
    });

    it('are name and age without others', async () => {
      const bare = 'bare.example.com';
      await define(client(), definitionOf({ group: bare, properties: { spec: open } }));
      await create(bare, 'one', {});
      const { columnDefinitions, rows } = await table(at(bare));
      assert.deepEqual(
        columnDefinitions.map(({ name, type }) => `${name} ${type}`),
        ['Name string', 'Age date'],
      );
      assert.match(String(rows[0]?.cells[1]), /^\d+s$/);
    });
  });

  describe('selectable fields', () => {
    const group = 'fields.example.com';
    const labels = ['spec.color', 'spec.big', 'spec.count', 'spec.deep.x'];
    const selectable = (paths: readonly string[]) => ({
      selectableFields: paths.map((path) => ({ jsonPath: `.${path}` })),
    });
    const spec = object({
      color: text,
      big: { type: 'boolean' },
      count: { type: 'integer' },
      deep: object({ x: text }),
      size: text,
    });
    const list = (selector: string, target = at(group)): Promise<Answer> =>
      send('GET', `${target}?fieldSelector=${encodeURIComponent(selector)}`);
    const namesOf = async (selector: string, target?: string): Promise<string> => {
      const { code, body, message } = await list(selector, target);
      assert.equal(code, 200, message);
      return (body as unknown as ApiList).items.map(({ metadata }) => metadata.name).join(' ');
    };
    const refused = async (selector: string, target?: string): Promise<void> => {
      const { code, message } = await list(selector, target);
      assert.deepEqual([code, message], [400, `field label not supported: ${selector.split('=')[0]}`]);
    };

    before(async () => {
      await define(client(), definitionOf({ group, properties: { spec }, version: selectable(labels) }));
      await create(group, 'a', { color: 'red', big: true, count: 5, deep: { x: 'y' } });
      await create(group, 'b', { color: 'blue', big: false, count: 5 });
      await create(group, 'c', {});
    });

    const rows: Readonly<Record<string, string>> = {
      'spec.color=red': 'a',
      'spec.color==red': 'a',
      'spec.color!=red': 'b c',
      'spec.color=': 'c',
      'spec.big=true': 'a',
      'spec.big=false': 'b',
      'spec.big!=true': 'b c',
      'spec.count=5': 'a b',
      'spec.count=5,spec.color=blue': 'b',
      'spec.count=5,metadata.name=a': 'a',
      'spec.deep.x=y': 'a',
      'spec.color=none': '',
      'metadata.namespace=default': 'a b c',
      'metadata.name!=a,spec.count=5': 'b',
    };
    for (const [selector, names] of Object.entries(rows)) {
      it(`${selector} selects ${names === '' ? 'nothing' : names}`, async () => {
        assert.equal(await namesOf(selector), names);
        assert.equal(await namesOf(selector, resourcePath({ apiVersion: `${group}/v1`, resource: 'widgets' })), names);
      });
    }

    for (const label of ['spec.size', 'spec', '.spec.color', 'status.phase']) {
      it(`${label} is not selectable`, () => refused(`${label}=1`));
    }

    it('select in watches and in deletions of collections', async () => {
      const group = 'deleted.example.com';
      await define(client(), definitionOf({ group, properties: { spec }, version: selectable(labels) }));
      await create(group, 'a', { color: 'red' });
      await create(group, 'b', { color: 'blue' });
      const stop = new AbortController();
      const seen: string[] = [];
      const watching = (async () => {
        const target = `${at(group)}?watch=1&fieldSelector=spec.color%3Dred`;
        for await (const { type, object } of client().watch(target, { signal: stop.signal })) {
          seen.push(`${type} ${(object as { metadata: { name: string } }).metadata.name}`);
        }
      })();
      await until(() => seen.length === 1);
      const paint = (name: string, color: string) => client().mergePatch(`${at(group)}/${name}`, { spec: { color } });
      await paint('b', 'red');
      await paint('a', 'green');
      await paint('a', 'yellow');
      await until(() => seen.length === 3);
      assert.deepEqual(seen, ['ADDED a', 'ADDED b', 'DELETED a']);
      assert.equal((await send('DELETE', `${at(group)}?fieldSelector=spec.color%3Dred`)).code, 200);
      await until(() => seen.length === 4);
      assert.equal(seen[3], 'DELETED b');
      assert.equal(await namesOf('', at(group)), 'a');
      stop.abort();
      await watching.catch(() => {});
    });

    it('come and go with the definition; open watches go on', async () => {
      const group = 'changes.example.com';
      await define(client(), definitionOf({ group, properties: { spec }, version: selectable(['spec.color']) }));
      await create(group, 'a', { color: 'red', size: 'large' });
      const stop = new AbortController();
      const seen: string[] = [];
      const watching = (async () => {
        const target = `${at(group)}?watch=1&fieldSelector=spec.color%3Dred`;
        for await (const { type, object } of client().watch(target, { signal: stop.signal })) {
          seen.push(`${type} ${(object as { metadata: { name: string } }).metadata.name}`);
        }
      })();
      await until(() => seen.length === 1);
      await refused('spec.size=large', at(group));
      const change = (paths: readonly string[]) =>
        client().mergePatch(definitionPath(`widgets.${group}`), {
          spec: { versions: [versionOf({ spec }, selectable(paths))] },
        });
      await change(['spec.size', 'spec.color']);
      await until(async () => (await list('spec.size=large', at(group))).code === 200);
      assert.equal(await namesOf('spec.size=large', at(group)), 'a');
      assert.equal(await namesOf('spec.color=red', at(group)), 'a');
      await create(group, 'b', { color: 'red', size: 'small' });
      await until(() => seen.length === 2);
      await change(['spec.size']);
      await until(async () => (await list('spec.color=red', at(group))).code === 400);
      assert.equal(await namesOf('spec.size=small', at(group)), 'b');
      assert.deepEqual(seen, ['ADDED a', 'ADDED b']);
      stop.abort();
      await watching.catch(() => {});
    });
  });
});
