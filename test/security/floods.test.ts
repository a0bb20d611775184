import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from 'node:http2';
import { after, before, describe, test } from 'node:test';
import { once, until } from '../../src/base/waits-fixture.ts';
import { as, Folder, grant, rule, user } from '../support/authorization.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** What one user sends in masses, or leaves unread, keeps nobody else from being served. */
const folder = new Folder();
let server: OrchProcess;
before(async () => {
  server = await OrchProcess.start({ flags: [folder.tokens({ nobody: [], jane: [], kate: [] })] });
  await grant(server, 'writers', [rule('*', 'configmaps')], [user('jane'), user('kate')]);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const configMaps = '/api/v1/namespaces/default/configmaps';
const reviews = '/apis/authorization.orch.io/v1/selfsubjectaccessreviews';
const review = JSON.stringify({
  apiVersion: 'authorization.orch.io/v1',
  kind: 'SelfSubjectAccessReview',
  spec: { resourceAttributes: { verb: 'get', resource: 'pods' } },
});

/** Requests of one user over as many connections as it takes. Those that are not answered stay open until the end. */
class Flood implements AsyncDisposable {
  readonly #sessions: ClientHttp2Session[] = [];
  readonly #headers: OutgoingHttpHeaders;
  readonly #windowBytes: number;
  readonly #perConnection: number;
  readonly statuses: number[] = [];
  sent = 0;
  closed = 0;

  constructor(name: string, { windowBytes = 65_535, perConnection = 100 } = {}) {
    this.#headers = { authorization: `Bearer ${as(name).token}`, 'content-type': 'application/json' };
    this.#windowBytes = windowBytes;
    this.#perConnection = perConnection;
  }

  /** `body` undefined: it is announced, and withheld. With `ends` false the last of it never comes. */
  send(
    count: number,
    method: string,
    path: string,
    body?: (n: number) => string | Uint8Array,
    { ends = true } = {},
  ): void {
    for (let n = 0; n < count; n++, this.sent++) {
      if (this.sent % this.#perConnection === 0) this.#connect();
      const headers = { ':method': method, ':path': path, ...this.#headers };
      const stream = this.#sessions.at(-1)?.request(headers, { endStream: method === 'GET' }) as ClientHttp2Stream;
      if (body && ends) stream.end(body(n));
      else if (body) stream.write(body(n));
      stream.on('response', (answered) => this.statuses.push(Number(answered[':status'])));
      stream.on('error', () => {});
      stream.on('close', () => this.closed++);
      if (this.#windowBytes > 0) stream.resume();
    }
  }

  /** The server has seen all that was sent. */
  async arrived(): Promise<void> {
    for (const session of this.#sessions) {
      if (session.connecting) await once(session, 'connect');
      await new Promise<void>((resolve, reject) => session.ping((error) => (error ? reject(error) : resolve())));
    }
  }

  #connect(): void {
    const { ca } = server.credentials;
    // Node's client overlooks answers while more than its session's memory waits to be sent.
    const settings = { initialWindowSize: this.#windowBytes };
    const session = connect(server.url, { ca, settings, maxSessionMemory: 1_000 });
    session.on('error', () => {});
    this.#sessions.push(session);
  }

  async answered(count: number, what: string): Promise<void> {
    await until(() => this.statuses.length >= count, what);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    await until(() => this.closed === this.sent, 'not all streams are closed');
  }
}

/** Memory that the server holds now, in MiB. */
const residentMiB = (): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

let names = 0;
const configMap = (data = 'x'): object => ({ metadata: { name: `cm-${names++}` }, data: { data } });

/** Administrators, controllers and users with a role are served, as if nothing else went on. */
async function othersAreServed(): Promise<void> {
  for (const sender of ['admin', as('jane'), as('kate')] as const) {
    const who = JSON.stringify(sender);
    const made = await server.post<{ metadata: { name: string } }>(configMaps, configMap(), { as: sender });
    assert.equal(made.status, 201, `${who} writes: ${made.text}`);
    const path = `${configMaps}/${made.json.metadata.name}`;
    assert.equal((await server.get(path, { as: sender })).status, 200, `${who} reads`);
    assert.equal((await server.get(configMaps, { as: sender })).status, 200, `${who} lists`);
    assert.equal((await server.post(reviews, review, { as: sender })).status, 201, `${who} asks what they may`);
    assert.equal((await server.delete(path, { as: sender })).status, 200, `${who} deletes`);
  }
  const namespace = `ns-${names++}`;
  assert.equal((await server.post('/api/v1/namespaces', { metadata: { name: namespace } })).status, 201);
  const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
  await until(async () => (await server.get(account)).status === 200, 'the controllers do not write');
  assert.equal((await server.get('/readyz')).status, 200);
}

for (const count of [200, 2_000]) {
  test(`${count} reviews by a user without any role whose bodies never come`, async () => {
    await using flood = new Flood('nobody');
    flood.send(count, 'POST', reviews);
    await flood.arrived();
    await othersAreServed();
    await flood.answered(count, 'the reviews are not given up');
    assert.deepEqual([...new Set(flood.statuses)], [408]);
    await until(() => flood.closed === count, 'streams stay open');
  });
}

test('a user who writes and reads over 50 connections at once leaves another their share', async () => {
  await using flood = new Flood('jane', { perConnection: 40 });
  flood.send(1_000, 'POST', configMaps, () => JSON.stringify(configMap()));
  flood.send(1_000, 'GET', configMaps);
  const unanswered: number[] = [];
  for (let n = 0; n < 10; n++) {
    const made = await server.post<{ metadata: { name: string } }>(configMaps, configMap(), { as: as('kate') });
    unanswered.push(flood.sent - flood.statuses.length);
    assert.equal(made.status, 201, made.text);
    const path = `${configMaps}/${made.json.metadata.name}`;
    assert.equal((await server.get(path, { as: as('kate') })).status, 200);
  }
  assert.ok(Number(unanswered[0]) >= 100, `others had to be answered first: ${unanswered}`);
  await flood.answered(2_000, 'not all are answered');
  assert.deepEqual(new Set(flood.statuses).difference(new Set([200, 201, 429])), new Set());
});

test('bodies of almost 3 MiB of which the last byte never comes fill no memory', async () => {
  const before = residentMiB();
  await using flood = new Flood('nobody', { perConnection: 20 });
  const body = Buffer.alloc(3 * 1024 * 1024 - 1, ' ');
  // More than there is room for, and no more than a busy machine sends in a few seconds.
  flood.send(60, 'POST', reviews, () => body, { ends: false });
  await until(() => flood.statuses.includes(429), 'all bodies are taken in');
  await othersAreServed();
  await flood.answered(60, 'the reviews are not given up');
  assert.deepEqual([...new Set(flood.statuses)].sort(), [408, 429]);
  assert.ok(residentMiB() - before < 384, `${residentMiB() - before} MiB more`);
});

describe('answers that nobody reads', () => {
  test('of 1,000 reviews by a user without any role', async () => {
    await using flood = new Flood('nobody', { windowBytes: 0 });
    flood.send(1_000, 'POST', reviews, () => review);
    await flood.answered(1_000, 'reviews are not answered');
    await othersAreServed();
    assert.deepEqual([...new Set(flood.statuses)], [201]);
  });

  test('of 1,000 lists of 12 MiB', async () => {
    for (let n = 0; n < 12; n++) {
      const made = await server.post(configMaps, configMap('x'.repeat(1024 * 1000)));
      assert.equal(made.status, 201, made.text + server.log.slice(-2000));
    }
    const before = residentMiB();
    await using flood = new Flood('jane', { windowBytes: 0 });
    flood.send(1_000, 'GET', configMaps);
    await until(() => flood.statuses.length + flood.closed >= 1_000, 'lists are not answered');
    await othersAreServed();
    assert.ok(residentMiB() - before < 512, `${residentMiB() - before} MiB more`);
  });
});
