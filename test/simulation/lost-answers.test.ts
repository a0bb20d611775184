import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../src/base/time/clock.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { StatusError } from '../../src/meta/status-error.ts';
import { RegistryFixture } from '../../src/registry/registry-fixture.ts';
import { readChanges } from '../../src/store/conformance/watch-changes.ts';
import { etcdMissing, startEtcd } from '../../src/store/drivers/etcd/etcd-process-fixture.ts';
import {
  type EtcdProxy,
  type Fate,
  type Loss,
  pass,
  startEtcdProxy,
} from '../../src/store/drivers/etcd/etcd-proxy-fixture.ts';
import { openEtcdStore } from '../../src/store/drivers/etcd/etcd-store.ts';
import { hurriedClock } from '../../src/store/drivers/etcd/faulty-network-fixture.ts';
import type { Change, Revision, Store } from '../../src/store/store.ts';

/**
 * Clients of two servers on one etcd, whose writes, or the answers to them, get lost at random. In the end the history that
 * etcd kept says what happened: every write that was acknowledged happened exactly once, at the version that was told;
 * every write of unknown outcome at most once; every other never.
 */
const seconds = Number(process.env['ORCH_LOST_ANSWERS_SECONDS'] ?? 8);
const clientsPerServer = 6;
const objects = 3;
/** Appends to one list before the next one is begun. */
const appendsMax = 150;
/** How late a write may get to etcd: some come after the server has given up looking for them. */
const longestMs = 900;

const configMaps = '/api/v1/namespaces/n/configmaps';
const roles = '/apis/rbac.authorization.orch.io/v1/namespaces/n/roles';

const chosen = <T>(all: readonly T[]): T => all[Math.floor(Math.random() * all.length)] ?? assert.fail('no choice');
const losses: readonly Loss[] = ['cut', 'reset', 'timeout'];

function fateOf(): Fate {
  const random = Math.random();
  const as = chosen(losses);
  if (random < 0.1) return { type: 'loseAnswer', as };
  if (random < 0.15) return { type: 'loseAnswer', as, meanwhile: () => delay(Math.random() * 50) };
  if (random < 0.18) return { type: 'loseRequest', as };
  if (random < 0.22) return { type: 'delay', as, until: delay(Math.random() * longestMs) };
  return pass;
}

type Outcome =
  | { readonly type: 'done'; readonly version: Revision; readonly uid: string }
  | { readonly type: 'unknown' }
  | { readonly type: 'refused' };

/** One write, told from all others by its token. */
interface Attempt {
  readonly token: string;
  readonly key: string;
  readonly outcome: Outcome;
}

class Log {
  /** Each adds its token to an object. */
  readonly additions: Attempt[] = [];
  /** Each counts from the number that is its token to the next. */
  readonly counts: Attempt[] = [];
  readonly deletions: Attempt[] = [];
  tokens = 0;

  get all(): readonly Attempt[] {
    return [...this.additions, ...this.counts, ...this.deletions];
  }

  share(type: Outcome['type']): number {
    return this.all.filter(({ outcome }) => outcome.type === type).length;
  }
}

class Client {
  readonly #server: RegistryFixture;
  readonly #log: Log;

  constructor(server: RegistryFixture, log: Log) {
    this.#server = server;
    this.#log = log;
  }

  async run(until: number): Promise<void> {
    const acts = [
      () => this.#append(),
      () => this.#replace(),
      () => this.#count(),
      () => this.#make(),
      () => this.#remove(),
    ];
    while (systemClock.monotonic() < until) await chosen(acts)();
  }

  #send(method: string, path: string, body: unknown): Promise<Outcome> {
    this.#server.patchType = 'json';
    return this.#server.call(method, path, body).then(
      (reply): Outcome => {
        if (reply.type === 'status') return { type: 'done', version: 0, uid: reply.body.details?.uid ?? '' };
        if (reply.type !== 'object') throw new Error(`a write answers ${reply.type}`);
        const { metadata }: ApiObject = JSON.parse(reply.bytes.toString());
        return { type: 'done', version: Number(metadata.resourceVersion), uid: metadata.uid ?? '' };
      },
      (error: unknown): Outcome => {
        if (!(error instanceof StatusError)) throw error;
        assert.notEqual(error.reason, 'InternalError', String(error.cause));
        return { type: error.reason === 'Timeout' ? 'unknown' : 'refused' };
      },
    );
  }

  async #add(method: string, path: string, key: string, body: (token: string) => unknown): Promise<void> {
    const token = `t${++this.#log.tokens}t`;
    const outcome = await this.#send(method, path, body(token));
    this.#log.additions.push({ token, key, outcome });
  }

  /** Of an appending patch a blind repetition shows. */
  async #append(): Promise<void> {
    const name = `r${Math.floor(this.#log.additions.length / appendsMax)}`;
    const key = `/rbac.authorization.orch.io/roles/n/${name}`;
    if (!(await this.#found(`${roles}/${name}`))) {
      return this.#add('PUT', `${roles}/${name}`, key, (token) => ({ metadata: { name }, rules: [ruleOf(token)] }));
    }
    return this.#add('PATCH', `${roles}/${name}`, key, (token) => [
      { op: 'add', path: '/rules/-', value: ruleOf(token) },
    ]);
  }

  /** Reads, changes and writes back the state that was read. */
  async #replace(): Promise<void> {
    const name = `m${Math.floor(Math.random() * objects)}`;
    const found = await this.#found(`${configMaps}/${name}`);
    if (!found) return this.#make();
    await this.#add('PUT', `${configMaps}/${name}`, `/core/configmaps/n/${name}`, (token) => ({
      ...found,
      data: { written: token },
    }));
  }

  async #make(): Promise<void> {
    const name = `m${Math.floor(Math.random() * objects)}`;
    const key = `/core/configmaps/n/${name}`;
    await this.#add('POST', configMaps, key, (token) => ({ metadata: { name }, data: { written: token } }));
  }

  async #remove(): Promise<void> {
    const name = `m${Math.floor(Math.random() * objects)}`;
    const outcome = await this.#send('DELETE', `${configMaps}/${name}`, undefined);
    this.#log.deletions.push({ token: name, key: `/core/configmaps/n/${name}`, outcome });
  }

  /** All clients write the same bytes where they count from the same number in the same second. */
  async #count(): Promise<void> {
    const name = 'counter';
    const found = await this.#found(`${configMaps}/${name}`);
    if (!found) return void (await this.#send('POST', configMaps, { metadata: { name }, data: { n: '0' } }));
    const n = (found['data'] as { readonly n: string }).n;
    const patch = [
      { op: 'test', path: '/data/n', value: n },
      { op: 'replace', path: '/data/n', value: String(Number(n) + 1) },
    ];
    const outcome = await this.#send('PATCH', `${configMaps}/${name}`, patch);
    this.#log.counts.push({ token: n, key: `/core/configmaps/n/${name}`, outcome });
  }

  async #found(path: string): Promise<ApiObject | undefined> {
    return this.#server.object('GET', path).catch((error: unknown) => {
      if (error instanceof StatusError && error.reason === 'NotFound') return undefined;
      throw error;
    });
  }
}

const ruleOf = (token: string) => ({ apiGroups: [''], resources: ['pods'], verbs: [token] });

const tokensIn = (value: Uint8Array): ReadonlySet<string> => new Set(Buffer.from(value).toString().match(/t\d+t/g));

/** What the history of etcd says of writes that add a token. */
function checkAdditions(additions: readonly Attempt[], history: readonly Change[]): void {
  const addedAt = new Map<string, Revision[]>();
  for (const change of history) {
    if (change.type === 'delete') continue;
    const text = Buffer.from(change.value).toString();
    const before = change.type === 'update' ? tokensIn(change.previous.value) : new Set();
    for (const token of tokensIn(change.value)) {
      assert.equal(text.split(token).length, 2, `${token} is there twice at ${change.revision}`);
      if (!before.has(token)) addedAt.set(token, [...(addedAt.get(token) ?? []), change.revision]);
    }
  }
  for (const { token, key, outcome } of additions) {
    const at = addedAt.get(token) ?? [];
    const what = `${token} of ${key}, ${outcome.type}, was written at ${at.join()}`;
    if (outcome.type === 'done') assert.deepEqual(at, [outcome.version], what);
    else assert.ok(at.length <= (outcome.type === 'unknown' ? 1 : 0), what);
  }
}

function checkCounts(counts: readonly Attempt[], history: readonly Change[]): void {
  const done = counts.filter(({ outcome }) => outcome.type === 'done').map(({ token }) => token);
  const unknown = counts.filter(({ outcome }) => outcome.type === 'unknown').length;
  assert.equal(new Set(done).size, done.length, 'no two clients counted from the same number');
  const updates = history.filter(({ key, type }) => key.endsWith('/counter') && type === 'update').length;
  assert.ok(
    updates >= done.length && updates <= done.length + unknown,
    `${updates} counts, ${done.length} + ${unknown}`,
  );
}

function checkDeletions(deletions: readonly Attempt[], history: readonly Change[]): void {
  const gone = history.flatMap((change) => {
    if (change.type !== 'delete') return [];
    const { metadata }: ApiObject = JSON.parse(Buffer.from(change.previous.value).toString());
    return [metadata.uid];
  });
  const done = deletions.flatMap(({ outcome }) => (outcome.type === 'done' ? [outcome.uid] : []));
  const unknown = deletions.filter(({ outcome }) => outcome.type === 'unknown').length;
  assert.equal(new Set(done).size, done.length, 'no two clients deleted the same object');
  for (const uid of done) assert.ok(gone.includes(uid), `${uid} was deleted`);
  assert.ok(gone.length <= done.length + unknown, `${gone.length} went, ${done.length} + ${unknown} were deleted`);
}

test(`writes whose answers get lost, ${seconds} s`, {
  skip: etcdMissing,
  timeout: (seconds + 60) * 1_000,
}, async (t) => {
  const etcd = await startEtcd();
  const stores: Store[] = [];
  const proxies: EtcdProxy[] = [];
  const servers: RegistryFixture[] = [];
  const open = async (endpoint: string): Promise<Store> => {
    const store = await openEtcdStore({ endpoints: [endpoint], prefix: '/random', clock: hurriedClock(4) });
    stores.push(store);
    return store;
  };
  try {
    const direct = await open(etcd.endpoint);
    const from = await direct.head();
    for (let index = 0; index < 2; index++) {
      const proxy = await startEtcdProxy(etcd.endpoint);
      proxies.push(proxy);
      servers.push(await RegistryFixture.open({ store: await open(proxy.endpoint) }));
      proxy.fate = fateOf;
    }
    const log = new Log();
    const until = systemClock.monotonic() + seconds * 1_000;
    const clients = servers.flatMap((server) =>
      Array.from({ length: clientsPerServer }, () => new Client(server, log)),
    );
    await Promise.all(clients.map((client) => client.run(until)));
    // What was delayed still happens.
    for (const proxy of proxies) await proxy.idle();
    const history = await readChanges(direct, from, await direct.head());
    checkAdditions(log.additions, history);
    checkCounts(log.counts, history);
    checkDeletions(log.deletions, history);
    t.diagnostic(`${log.share('done')} done, ${log.share('unknown')} unknown, ${log.share('refused')} refused`);
    assert.ok(log.share('done') > 100 && log.share('unknown') > 0, 'there was something to see');
  } finally {
    for (const server of servers) await server.cache.close();
    for (const store of stores) await store.close();
    for (const proxy of proxies) await proxy.close();
    await etcd.stop();
  }
});
