import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../base/limits.ts';
import { ManualClock } from '../base/time/clock.ts';
import { parseStored } from '../codec/json.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { listPages } from './list-pages.ts';

const { signal } = new AbortController();

interface Served {
  readonly names: readonly string[];
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly padding?: number;
}

const objectOf = (name: string, padding = 0): object => ({
  kind: 'C',
  metadata: { name },
  data: 'x]}"'.repeat(padding),
});

/** Serves pages in this server's format and records the requests. */
function served(pages: readonly Served[], write: (page: object) => string = JSON.stringify) {
  const asked: string[] = [];
  const left = [...pages];
  const getBytes = (target: string): Promise<Buffer> => {
    asked.push(target);
    const { names = [], metadata, padding } = left.shift() ?? {};
    const items = names.map((name) => objectOf(name, padding));
    return Promise.resolve(Buffer.from(`${write({ kind: 'CList', apiVersion: 'v1', metadata, items })}\n`));
  };
  return { asked, client: { getBytes } };
}

const end = { resourceVersion: '7' };
const going = { resourceVersion: '7', continue: 'a b' };

async function namesOf(
  client: Parameters<typeof listPages>[0]['client'],
  path = '/c',
): Promise<readonly (readonly unknown[])[]> {
  const pages: (readonly unknown[])[] = [];
  for await (const { items, metadata } of listPages({ client, path, signal, clock: new ManualClock() })) {
    pages.push([metadata.resourceVersion, ...items.map((item) => item.metadata.name)]);
  }
  return pages;
}

describe('pages of a collection', () => {
  for (const [what, write] of [
    ['written as this server does', undefined],
    ['indented', (page: object) => JSON.stringify(page, undefined, 2)],
    ['items first', (page: object) => JSON.stringify(Object.fromEntries(Object.entries(page).reverse()))],
  ] as const) {
    test(`are complete, ${what}`, async () => {
      const { client } = served(
        [
          { names: ['a', 'b'], metadata: going },
          { names: [], metadata: end },
        ],
        write,
      );
      assert.deepEqual(await namesOf(client), [['7', 'a', 'b'], ['7']]);
    });
  }

  test('that are truncated are rejected', async () => {
    const client = { getBytes: () => Promise.resolve(Buffer.from('{"metadata":{},"items":[{"metadata":{"name":"a"}')) };
    await assert.rejects(namesOf(client), SyntaxError);
  });

  test('grow if objects are small, and shrink if they are large', async () => {
    const small = { names: ['a'], metadata: going };
    const large = { names: ['a', 'b', 'c'], metadata: going, padding: 1_000_000 };
    const { client, asked } = served([small, small, large, large, { names: [], metadata: end }]);
    await namesOf(client, '/c?fieldSelector=x');
    const asOf = asked.map((target) => Number(/limit=(\d+)/.exec(target)?.[1]));
    assert.deepEqual(asOf.slice(0, 3), [50, 200, 500]);
    assert.ok((asOf[3] ?? 0) < 100 && (asOf[4] ?? 0) < (asOf[3] ?? 0), String(asOf));
    assert.equal(asked[1], '/c?fieldSelector=x&limit=200&continue=a%20b');
  });

  test('are parsed in slices', async () => {
    const clock = new ManualClock();
    const names = Array.from({ length: 100 }, (_, index) => `n${index}`);
    const { client } = served([{ names, metadata: end }]);
    let turn = 0;
    let counting = true;
    const count = (): void => {
      turn += 1;
      if (counting) setImmediate(count);
    };
    count();
    const readByTurn = new Map<number, number>();
    const readItem = (bytes: Buffer): ApiObject => {
      clock.advance(1);
      readByTurn.set(turn, (readByTurn.get(turn) ?? 0) + 1);
      return parseStored(bytes) as ApiObject;
    };
    for await (const { items } of listPages({ client, path: '/c', signal, clock, readItem })) {
      assert.deepEqual(
        items.map(({ metadata }) => metadata.name),
        names,
      );
    }
    counting = false;
    assert.ok(Math.max(...readByTurn.values()) <= limits.turnMs, `${Math.max(...readByTurn.values())} in one turn`);
  });
});
