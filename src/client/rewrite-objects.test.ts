import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemRandom } from '../base/random.ts';
import { ManualClock } from '../base/time/clock.ts';
import { within } from '../base/waits-fixture.ts';
import { orch } from '../dialect/orch.ts';
import type { Status } from '../meta/status-error.ts';
import { ApiClient } from './api-client.ts';
import type { DiscoveredResource } from './discovery-client.ts';
import { RewriteStopped, type Rewritten, rewriteObjects } from './rewrite-objects.ts';

const resource: DiscoveredResource = {
  ...{ apiVersion: 'v1', kind: 'Secret', resource: 'secrets', singular: 'secret', namespaced: true },
  verbs: ['list', 'patch'],
};

interface Served {
  /** Stored in an outdated form: the next write gives it another version. */
  stale: boolean;
  version: number;
}

type Refusal = readonly [code: number, reason: Status['reason']];

/** A server of some secrets, which refuses the first requests of a target as it is told. */
class ServerFixture {
  readonly clock = new ManualClock();
  readonly objects = new Map<string, Served>();
  /** By method and path. */
  readonly refusals = new Map<string, Refusal[]>();
  readonly written: string[] = [];

  constructor(...names: readonly string[]) {
    for (const name of names) this.objects.set(name, { stale: true, version: 1 });
  }

  rewrite(after?: string, served: DiscoveredResource = resource): Promise<Rewritten> {
    const client = new ApiClient(
      { send: ({ method, target }) => Promise.resolve(this.#answer(method, target)) },
      'test',
    );
    const { signal } = new AbortController();
    const context = { client, dialect: orch, clock: this.clock, random: systemRandom, signal };
    return rewriteObjects({ ...context, resource: served, after });
  }

  /** The result, while time passes. */
  async passing<T>(result: Promise<T>): Promise<T> {
    let done = false;
    const ended = result.finally(() => {
      done = true;
    });
    ended.catch(() => {});
    while (!done) {
      await new Promise((resolve) => setImmediate(resolve));
      this.clock.advance(1_000);
    }
    return within(ended, 'it does not end');
  }

  #answer(method: string, target: string) {
    const { pathname, searchParams } = new URL(target, 'https://server');
    const refusal = this.refusals.get(`${method} ${pathname}`)?.shift();
    if (refusal) {
      const [code, reason] = refusal;
      return answered(code, { kind: 'Status', reason, message: reason, code });
    }
    if (pathname === namespaces) return answered(200, this.#namespaces());
    if (method === 'GET')
      return answered(200, this.#page(searchParams, /namespaces\/([^/]+)/.exec(pathname)?.[1] ?? ''));
    const name = pathname.replace('/api/v1/namespaces/', '').replace('/secrets/', '/');
    const found = this.objects.get(name);
    if (!found) return answered(404, { kind: 'Status', reason: 'NotFound', message: 'gone', code: 404 });
    if (found.stale) found.version++;
    found.stale = false;
    this.written.push(name);
    return answered(200, itemOf(name, found));
  }

  /** By name, in which `a` is before `a-b`. */
  #namespaces() {
    const names = new Set([...this.objects.keys()].map((key) => key.split('/')[0]));
    const items = [...names].sort().map((name) => ({ kind: 'Namespace', apiVersion: 'v1', metadata: { name } }));
    return { kind: 'NamespaceList', apiVersion: 'v1', metadata: { resourceVersion: '9' }, items };
  }

  /** Two at a time. */
  #page(query: URLSearchParams, namespace: string) {
    const from = Number(query.get('continue') ?? 0);
    const listed = [...this.objects].filter(([key]) => namespace === '' || key.startsWith(`${namespace}/`));
    const items = listed.slice(from, from + 2).map(([name, served]) => itemOf(name, served));
    const next = from + 2 < listed.length ? { continue: String(from + 2) } : {};
    return { kind: 'SecretList', apiVersion: 'v1', metadata: { resourceVersion: '9', ...next }, items };
  }
}

const itemOf = (key: string, { version }: Served) => {
  const [namespace, name] = key.split('/');
  return { kind: 'Secret', apiVersion: 'v1', metadata: { namespace, name, resourceVersion: String(version) } };
};

const answered = (status: number, body: object) => ({
  status,
  headers: {},
  body: (async function* () {
    yield Buffer.from(JSON.stringify(body));
  })(),
});

const patchOf = (name: string): string => `PATCH /api/v1/namespaces/${name.replace('/', '/secrets/')}`;
const listing = 'GET /api/v1/secrets';
const namespaces = '/api/v1/namespaces';
const all = ['a/one', 'a/two', 'b/one', 'b/two', 'c/one'];

describe('objects of a collection', () => {
  test('are all written, and counted where their stored form was outdated', async () => {
    const server = new ServerFixture(...all);
    const fresh = server.objects.get('a/two');
    if (fresh) fresh.stale = false;
    assert.deepEqual(await server.rewrite(), { seen: 5, written: 4, last: 'c/one', refused: [], unlisted: [] });
    assert.deepEqual(server.written, all);
    assert.deepEqual((await server.rewrite()).written, 0);
  });

  test('are passed over up to where a run goes on', async () => {
    const server = new ServerFixture(...all);
    assert.deepEqual((await server.rewrite('b/one')).seen, 2);
    assert.deepEqual(server.written, ['b/two', 'c/one']);
  });

  const transient: readonly Refusal[] = [
    [409, 'Conflict'],
    [429, 'TooManyRequests'],
    [500, 'ServerTimeout'],
    [503, 'ServiceUnavailable'],
    [504, 'Timeout'],
  ];
  for (const refusal of transient) {
    test(`are written after ${refusal[1]}`, async () => {
      const server = new ServerFixture(...all);
      server.refusals.set(patchOf('b/one'), [refusal, refusal]);
      assert.deepEqual((await server.passing(server.rewrite())).seen, 5);
      assert.equal(server.written.filter((name) => name === 'b/one').length, 1);
    });
  }

  test('of a list that has expired are written on from the last one', async () => {
    const server = new ServerFixture(...all);
    const expire = [[410, 'Expired'] as const];
    const { refusals } = server;
    const rewriting = server.rewrite();
    // The first page is asked for by now.
    refusals.set(listing, [...expire]);
    assert.deepEqual(await server.passing(rewriting), {
      seen: 5,
      written: 5,
      last: 'c/one',
      refused: [],
      unlisted: [],
    });
    assert.deepEqual(server.written, all, 'each once');
  });

  test('that went meanwhile are none', async () => {
    const server = new ServerFixture(...all);
    server.refusals.set(patchOf('a/two'), [[404, 'NotFound']]);
    assert.deepEqual(await server.rewrite(), { seen: 5, written: 4, last: 'c/one', refused: [], unlisted: [] });
  });

  test('that are refused are named, and the others written', async () => {
    const server = new ServerFixture(...all);
    server.refusals.set(patchOf('a/two'), [[422, 'Invalid']]);
    const { written, refused } = await server.rewrite();
    assert.deepEqual([written, refused], [4, ['a/two: Invalid']]);
  });

  const unreadable: Refusal = [500, 'InternalError'];

  test('beside one that cannot be read are written in other namespaces, in the order of keys, each once', async () => {
    const server = new ServerFixture('a-b/one', 'a/one', 'a/two', 'b/one', 'b/two', 'c/one');
    server.refusals.set(listing, [unreadable]);
    server.refusals.set(`GET ${namespaces}/a/secrets`, [[429, 'TooManyRequests'], unreadable]);
    const { seen, last, unlisted } = await server.passing(server.rewrite());
    assert.deepEqual([seen, last, unlisted], [4, 'c/one', ['a: InternalError']]);
    assert.deepEqual(server.written, ['a-b/one', 'b/one', 'b/two', 'c/one']);
    assert.deepEqual((await server.rewrite('b/one')).unlisted, [], 'it was repaired');
  });

  test('are all written where their lists fail together only', async () => {
    const server = new ServerFixture(...all);
    server.refusals.set(listing, [unreadable]);
    assert.deepEqual(await server.rewrite('a/one'), { seen: 4, written: 4, last: 'c/one', refused: [], unlisted: [] });
  });

  test('without namespaces are not written where one cannot be read', async () => {
    const server = new ServerFixture(...all);
    server.refusals.set(listing, [unreadable]);
    const nothing = { seen: 0, written: 0, last: '', refused: [], unlisted: ['InternalError'] };
    assert.deepEqual(await server.rewrite('', { ...resource, namespaced: false }), nothing);
  });

  test('that may not be listed, or a server that stays away, end the run with where to go on', async () => {
    const forbidden = new ServerFixture(...all);
    forbidden.refusals.set(listing, [[403, 'Forbidden']]);
    await assert.rejects(forbidden.rewrite(), (error) => error instanceof RewriteStopped && error.so.last === '');
    const away = new ServerFixture(...all);
    const many = Array.from({ length: 100 }, (): Refusal => [503, 'ServiceUnavailable']);
    away.refusals.set(patchOf('b/one'), many);
    await assert.rejects(
      away.passing(away.rewrite()),
      (error) => error instanceof RewriteStopped && error.so.last === 'a/two',
    );
  });
});
