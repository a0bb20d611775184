import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { once, until } from '../../src/base/waits-fixture.ts';
import { as, Folder, grant, make, rule, user } from '../support/authorization.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { StalledReaders } from '../support/stalled-readers.ts';

/** Crowds of clients: health answers, memory stays within bounds, and others are served. `npm run bench` has larger ones. */
const folder = new Folder();
let server: OrchProcess;
before(async () => {
  server = await OrchProcess.start({ flags: [folder.tokens({ jane: [], kate: [] })] });
  await grant(server, 'readers', [rule('*', 'configmaps')], [user('jane'), user('kate')]);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const configMaps = '/api/v1/namespaces/default/configmaps';

/** Memory of the server, in MiB. */
const memoryMiB = (what: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`^${what}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) /
  1024;
/** That it holds now. */
const residentMiB = (): number => memoryMiB('VmRSS');

/** Connections of one user. */
class Crowd implements Disposable {
  readonly #headers: Readonly<Record<string, string>>;
  readonly #sessions: ClientHttp2Session[] = [];
  #asks = false;
  answers = 0;
  streams = 0;

  constructor(name: string) {
    this.#headers = { authorization: `Bearer ${as(name).token}` };
  }

  async connect(count: number): Promise<void> {
    const atOnce = 50;
    for (let n = 0; n < count; n += atOnce) {
      const opened = Array.from({ length: Math.min(atOnce, count - n) }, () => {
        const session = connect(server.url, { ca: server.credentials.ca });
        session.on('error', () => {});
        return session;
      });
      await Promise.all(opened.map((session) => once(session, 'connect')));
      this.#sessions.push(...opened);
    }
  }

  /** Each connection sends its next request as soon as the one before is answered. */
  askOn(path: string): void {
    this.#asks = true;
    for (const session of this.#sessions) this.#ask(session, path);
  }

  stop(): void {
    this.#asks = false;
  }

  #ask(session: ClientHttp2Session, path: string): void {
    const stream = session.request({ ':path': path, ...this.#headers });
    stream.on('error', () => {});
    stream.resume().on('end', () => {
      this.answers += 1;
      if (this.#asks) this.#ask(session, path);
    });
  }

  /** Each connection opens streams and resets them at once. */
  resetOn(path: string, perConnection: number): void {
    for (const session of this.#sessions) {
      for (let n = 0; n < perConnection; n++) {
        const stream = session.request({ ':path': path, ...this.#headers });
        stream.on('error', () => {});
        stream.close(constants.NGHTTP2_CANCEL);
      }
    }
  }

  watch(path: string, perConnection: number): void {
    for (const session of this.#sessions) {
      for (let n = 0; n < perConnection; n++) {
        const stream = session.request({ ':path': path, ...this.#headers });
        stream.on('error', () => {});
        stream.resume().on('response', () => {
          this.streams += 1;
        });
      }
    }
  }

  [Symbol.dispose](): void {
    this.stop();
    for (const session of this.#sessions) session.destroy();
  }
}

/** Watches of the ConfigMaps of a namespace that are open. */
async function openWatches(): Promise<number> {
  const { text } = await server.get('/metrics');
  const line =
    /^apiserver_longrunning_requests\{verb="WATCH".*,resource="configmaps",.*scope="namespace".*\} (\d+)$/m.exec(text);
  return Number(line?.[1] ?? 0);
}

async function healthAnswers(): Promise<void> {
  for (const path of ['/livez', '/readyz'])
    assert.equal((await server.get(path, { as: 'anonymous' })).status, 200, path);
}

test('beside 300 clients of one user that send without a pause, another is served first', async () => {
  using kate = new Crowd('kate');
  await kate.connect(1);
  using flood = new Crowd('jane');
  await flood.connect(300);
  flood.askOn(configMaps);
  await until(() => flood.answers > 1_000, 'the flood is not answered');
  const before = flood.answers;
  kate.askOn(configMaps);
  await until(() => kate.answers >= 300, 'the other is not served');
  kate.stop();
  const meanwhile = flood.answers - before;
  assert.ok(meanwhile < 20 * kate.answers, `${meanwhile} answers for one, ${kate.answers} for the other`);
  await healthAnswers();
  const paused = flood.answers;
  await until(() => flood.answers > paused + 500, 'the flood is not served when it is alone');
  assert.ok(residentMiB() < 600, `${residentMiB()} MiB`);
});

test('10,000 idle watches of one user: health answers, others are served, memory is bounded', async () => {
  using crowd = new Crowd('jane');
  await crowd.connect(200);
  crowd.watch(`${configMaps}?watch=1`, 50);
  await until(() => crowd.streams === 10_000, 'not all watches are open');
  await healthAnswers();
  const made = await server.post(configMaps, { metadata: { name: 'seen' } }, { as: as('kate') });
  assert.equal(made.status, 201, made.text);
  assert.ok(residentMiB() < 400, `${residentMiB()} MiB`);
});

test('2,000 connections of one user: health answers, others are served, memory is bounded', async () => {
  using crowd = new Crowd('jane');
  await crowd.connect(2_000);
  await healthAnswers();
  assert.equal((await server.get(configMaps, { as: as('kate') })).status, 200);
  assert.ok(residentMiB() < 400, `${residentMiB()} MiB`);
});

test('20,000 streams of one user that are reset as soon as they are opened: others are served, memory is bounded', async () => {
  using crowd = new Crowd('jane');
  await crowd.connect(20);
  crowd.resetOn(configMaps, 1_000);
  for (let n = 0; n < 20; n++) {
    assert.equal((await server.get(configMaps, { as: as('kate') })).status, 200);
    assert.ok(residentMiB() < 600, `${residentMiB()} MiB`);
  }
  await healthAnswers();
});

describe('clients of one user that never read from their sockets', () => {
  // What connections of the tests above took may not be given back yet.
  before(async () => {
    await server.stop();
    await server.restart();
    for (let n = 0; n < 20; n++) {
      const made = await server.post(configMaps, {
        metadata: { name: `cm-${n}` },
        data: { data: 'x'.repeat(100_000) },
      });
      assert.equal(made.status, 201, made.text);
    }
  });
  const rows = [
    { protocol: 'h2', connections: 6, lists: 100 },
    { protocol: 'http/1.1', connections: 60, lists: 6 },
  ] as const;
  for (const { protocol, connections, lists } of rows) {
    test(`${protocol}: ${connections} with ${lists} lists each are closed, memory is bounded`, async () => {
      using stalled = new StalledReaders(server, 'jane', protocol);
      await stalled.ask(connections, configMaps, lists);
      await until(() => {
        stalled.probe();
        return stalled.ended > 0;
      }, 'no connection is closed');
      await healthAnswers();
      assert.equal((await server.get(configMaps, { as: as('kate') })).status, 200);
      assert.ok(residentMiB() < 300, `${residentMiB()} MiB`);
    });
  }

  // An event waits for its client where the object is, not in a copy: there is nothing to gain by closing them.
  test('h2: 6 with 100 watches each hold nothing that others need, memory is bounded', async () => {
    using stalled = new StalledReaders(server, 'jane', 'h2');
    await stalled.ask(6, `${configMaps}?watch=1`, 100);
    await until(async () => (await openWatches()) >= 600, 'not all watches are open');
    // Longer than one that has taken nothing may stay where there is too much.
    for (let look = 0; look < 8; look++) {
      await pause(500);
      await healthAnswers();
    }
    assert.equal((await server.get(configMaps, { as: as('kate') })).status, 200);
    const most = memoryMiB('VmHWM');
    assert.ok(most < 300, `${most} MiB`);
  });
});

describe('a crowd of one user that never reads what it asked for', () => {
  const namespace = '/api/v1/namespaces/many';
  // 6 MiB in small objects: more than the system takes for a client that does not read.
  const objects = 1_700;
  before(async () => {
    await make(server, '/api/v1/namespaces', { metadata: { name: 'many' } });
    const data = { data: 'x'.repeat(3_000) };
    const names = Iterator.from(Array.from({ length: objects }, (_, n) => `cm-${n}`));
    const makeAll = async (): Promise<void> => {
      for (const name of names) await make(server, `${namespace}/configmaps`, { metadata: { name }, data });
    };
    await Promise.all(Array.from({ length: 20 }, makeAll));
  });
  const sendInitialEvents =
    '?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan';
  const rows = [
    { protocol: 'h2', what: 'initial events', query: sendInitialEvents },
    { protocol: 'http/1.1', what: 'initial events', query: '?watch=1' },
    { protocol: 'http/1.1', what: 'lists', query: '' },
  ] as const;
  for (const { protocol, what, query } of rows) {
    test(`${protocol}, ${what}: connections are closed, memory is bounded`, async () => {
      await server.stop();
      await server.restart();
      await healthAnswers();
      const before = residentMiB();
      using stalled = new StalledReaders(server, 'jane', protocol);
      await stalled.ask(1_000, `${namespace}/configmaps${query}`, 1);
      await until(async () => {
        await pause(1_000);
        stalled.probe();
        return stalled.ended > 0;
      }, 'no connection is closed');
      await healthAnswers();
      assert.equal((await server.get(configMaps, { as: as('kate') })).status, 200);
      assertLittleMore(before);
    });
  }

  // What takes long to make: most wait for the server, and then for their clients.
  const formats = [
    {
      what: '1,000 lists in protobuf',
      count: 1_000,
      lists: 1,
      headers: { accept: 'application/vnd.kubernetes.protobuf' },
    },
    { what: '1,000 compressed lists', count: 1_000, lists: 1, headers: { 'accept-encoding': 'gzip' } },
    {
      what: '600 lists of large objects in protobuf',
      count: 6,
      lists: 100,
      headers: { accept: 'application/vnd.kubernetes.protobuf' },
    },
  ] as const;
  for (const { what, count, lists, headers } of formats) {
    test(`${what}: others are served, memory is bounded`, async () => {
      await server.stop();
      await server.restart();
      await healthAnswers();
      const before = residentMiB();
      using stalled = new StalledReaders(server, 'jane', 'h2', headers);
      await stalled.ask(count, lists === 1 ? `${namespace}/configmaps` : configMaps, lists);
      for (let look = 0; look < 8; look++) {
        await pause(500);
        await healthAnswers();
        assert.equal((await server.get(configMaps, { as: as('kate') })).status, 200);
      }
      assertLittleMore(before);
    });
  }

  function assertLittleMore(before: number): void {
    const more = memoryMiB('VmHWM') - before;
    // 110 to 145 MiB were seen, half of it for 1,000 connections.
    assert.ok(more < 170, `${more} MiB more than ${before}`);
  }
});
