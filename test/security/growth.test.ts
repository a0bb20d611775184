import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { OrchProcess } from '../support/orch-process.ts';

/**
 * What patches make of objects, while they are applied and when they are stored: no type of patch, however many are under
 * way at once, takes memory or disk without bound.
 */

const maps = '/api/v1/namespaces/default/configmaps';
const accounts = '/api/v1/namespaces/default/serviceaccounts';
const mebibyte = 1024 * 1024;

/** Processes that run the server are given so little that what has no bound ends them. */
const heapMebibytes = 192;

/** That heap, that of the thread for heavy work, and what bodies and answers take beside them. */
const peakMax = (heapMebibytes + limits.heavyHeapMiB + 128) * mebibyte;

/** Done, refused by a bound, or asked to come again. */
const allowed = new Set([200, 400, 413, 422, 429]);

/** Fields and elements with long names, so that few of them weigh much. */
const name = (index: number, turn: number): string => `${turn}-${index}-`.padEnd(120, 'n');
const fields = (count: number, turn: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [name(index, turn), 'x']));
const items = (count: number, turn = 0) => Array.from({ length: count }, (_, index) => ({ name: name(index, turn) }));
const configMap = (name: string, data: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });
const account = (name: string, secrets: object) => ({
  ...{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } },
  secrets,
});
const copies = (from: string, path: string, count: number) =>
  Array.from({ length: count }, () => ({ op: 'copy', from, path }));

interface Growth {
  readonly what: string;
  readonly type: string;
  readonly collection: string;
  readonly object: (name: string) => object;
  readonly patch: (name: string, turn: number) => unknown;
}

const growths: readonly Growth[] = [
  {
    what: 'JSON patches of a few bytes that copy much',
    type: 'json-patch+json',
    collection: maps,
    object: (name) => configMap(name, { a: 'x'.repeat(900_000) }),
    patch: () => copies('/data/a', '/data/b', 100),
  },
  {
    what: 'JSON patches that copy lists into themselves',
    type: 'json-patch+json',
    collection: accounts,
    object: (name) => account(name, items(2_000)),
    patch: () => copies('/secrets', '/secrets/-', 1_000),
  },
  {
    what: 'JSON patches of very many elements that are copied',
    type: 'json-patch+json',
    collection: accounts,
    object: (name) => account(name, items(10)),
    patch: () => [{ op: 'add', path: '/secrets', value: Array(200_000).fill(0) }, ...copies('/secrets', '/a', 5)],
  },
  {
    what: 'JSON patches that add what is there once more',
    type: 'json-patch+json',
    collection: accounts,
    object: (name) => account(name, items(10)),
    patch: () => items(4_000).map((value) => ({ op: 'add', path: '/secrets/-', value })),
  },
  {
    what: 'merge patches with ever new fields',
    type: 'merge-patch+json',
    collection: maps,
    object: (name) => configMap(name, { a: 'x' }),
    patch: (_, turn) => ({ data: fields(2_000, turn) }),
  },
  {
    what: 'strategic patches with ever new elements of a list',
    type: 'strategic-merge-patch+json',
    collection: accounts,
    object: (name) => account(name, items(10)),
    patch: (_, turn) => ({ secrets: items(2_000, turn + 1) }),
  },
  {
    what: 'applies by ever new managers',
    type: 'apply-patch+yaml',
    collection: maps,
    object: (name) => configMap(name, { a: 'x' }),
    patch: (name, turn) => configMap(name, fields(2_000, turn)),
  },
];

const objects = 2;
const turns = 8;

describe('many patches at once', { timeout: 10 * 60_000 }, () => {
  let server: OrchProcess;
  before(async () => {
    server = await OrchProcess.start({ within: ['env', `NODE_OPTIONS=--max-old-space-size=${heapMebibytes}`] });
  });
  after(() => server[Symbol.asyncDispose]());

  for (const [index, { what, type, collection, object, patch }] of growths.entries()) {
    test(what, async () => {
      const { pid } = server;
      const names = Array.from({ length: objects }, (_, each) => `growth-${index}-${each}`);
      for (const each of names) assert.equal((await server.post(collection, object(each))).status, 201);
      const patched = names.flatMap((each) =>
        Array.from({ length: turns }, (_, turn) =>
          server.request('PATCH', `${collection}/${each}?fieldManager=m${turn}`, {
            body: JSON.stringify(patch(each, turn)),
            headers: { 'content-type': `application/${type}` },
          }),
        ),
      );
      const statuses = new Set<number>();
      for (const { status, text } of await Promise.all(patched)) {
        assert.ok(allowed.has(status), `${status} ${text.slice(0, 300)}`);
        statuses.add(status);
      }
      assert.ok(
        [400, 413, 422].some((refused) => statuses.has(refused)),
        `a bound was met: ${[...statuses]}`,
      );
      for (const each of names) {
        const { bytes } = await server.get(`${collection}/${each}`);
        assert.ok(bytes.length <= limits.objectBytesMax + 64, `${bytes.length}`);
      }
      assert.equal((await server.get('/readyz')).status, 200);
      assert.equal(server.pid, pid);
      const [, peak] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
      assert.ok(Number(peak) * 1024 < peakMax, `${peak} kB`);
    });
  }
});
