import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { FaultyStore } from '../../src/cache/cache-fixture.ts';
import type { ListenAddress } from '../../src/server/wiring/config.ts';
import { createApiServer } from '../../src/server/wiring/create-api-server.ts';
import { startServer } from '../../src/server/wiring/start-server.ts';
import { StoreError } from '../../src/store/store.ts';
import { admin, get, simulatedWorld } from '../simulation/simulated-world.ts';
import { getStatus } from '../support/command.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { listeningConfiguration, memoryConfiguration, tokens } from '../support/server-configuration.ts';

/** The health endpoints (spec section 4.2) of a server that runs, that stops and that starts. */

const endpoints = ['/healthz', '/livez', '/readyz'] as const;

describe('a server that runs', () => {
  let server: OrchProcess;
  before(async () => {
    server = await OrchProcess.start();
  });
  after(() => server[Symbol.asyncDispose]());

  for (const path of endpoints) {
    test(`${path} is ok, for anyone`, async () => {
      assert.deepEqual((await server.get(path, { as: 'anonymous' })).text, 'ok');
    });
  }

  for (const path of [
    ...endpoints,
    '/livez/',
    '/livez/ping',
    '/readyz/store',
    '/readyz/cache-sync',
    '/readyz/shutdown',
  ]) {
    test(`${path} is ok`, async () => {
      const answer = await server.get(path);
      assert.deepEqual([answer.status, answer.text], [200, 'ok']);
      assert.match(String(answer.headers['content-type']), /^text\/plain/);
      assert.equal(answer.headers['cache-control'], 'no-cache, private');
    });
  }

  for (const path of endpoints) {
    test(`${path}?verbose shows each check, and each can be asked for alone`, async () => {
      const lines = (await server.get(`${path}?verbose`)).text.split('\n');
      assert.deepEqual(lines.slice(-2), ['healthz check passed', '']);
      const names = lines.slice(0, -2).map((line) => /^\[\+\](\S+) ok$/.exec(line)?.[1] ?? assert.fail(line));
      assert.ok(names.includes('ping'));
      for (const name of names) {
        assert.deepEqual((await server.get(`${path}/${name}`)).text, 'ok', name);
        const { text } = await server.get(`${path}?verbose&exclude=${name}`);
        assert.deepEqual(
          text.split('\n').filter((line) => line.includes(name)),
          [`[+]${name} excluded: ok`],
        );
      }
      const all = names.map((name) => `exclude=${name}`).join('&');
      assert.equal((await server.get(`${path}?${all}`)).text, 'ok');
    });
  }

  test('what is asked for in another format, or compressed, is plain text all the same', async () => {
    const headers = { accept: 'application/yaml', 'accept-encoding': 'gzip' };
    assert.deepEqual((await server.get('/readyz', { headers })).text, 'ok');
  });

  test('HEAD has the status and no body', async () => {
    const answer = await server.request('HEAD', '/readyz?verbose');
    assert.deepEqual([answer.status, answer.text], [200, '']);
  });

  for (const [method, path, code] of [
    ['GET', '/livez/nosuch', 404],
    ['GET', '/livez/shutdown', 404],
    ['GET', '/livezz', 404],
    ['POST', '/livez', 405],
  ] as const) {
    test(`${method} ${path} is ${code}`, async () => {
      const answer = await server.request<{ code: number }>(method, path);
      assert.deepEqual([answer.status, answer.json.code], [code, code]);
    });
  }
});

describe('a server that is asked to stop', () => {
  const configMaps = '/api/v1/namespaces/default/configmaps';

  test('is alive and not ready while --shutdown-delay-duration lasts, and serves on', async () => {
    await using server = await OrchProcess.start({ flags: ['--shutdown-delay-duration=1h'] });
    const watch = server.watch(`${configMaps}?watch=1`);
    process.kill(server.pid, 'SIGTERM');
    await until(async () => (await server.get('/readyz')).status === 500, 'ready although it stops');
    const { text } = await server.get('/readyz');
    assert.match(text, /^\[-\]shutdown failed: reason withheld$/m);
    assert.match(text, /^healthz check failed$/m);
    assert.equal((await server.get('/readyz/shutdown')).status, 500);
    for (const path of ['/livez', '/healthz', '/readyz?exclude=shutdown', '/readyz/store']) {
      assert.equal((await server.get(path)).status, 200, path);
    }
    const body = { metadata: { name: 'late' } };
    assert.equal((await server.post(configMaps, body)).status, 201);
    await watch.until(({ events }) => events.some(({ object }) => object.metadata.name === 'late'));
    assert.equal(await getStatus(`${server.url}/livez`, { ca: server.credentials.ca }), 200, 'a new connection');
    watch.close();
  });

  test('ends when the delay is over: watches end in order, and the exit is clean', async () => {
    const delayMs = 300;
    await using server = await OrchProcess.start({ flags: [`--shutdown-delay-duration=${delayMs}ms`] });
    const watch = server.watch('/api/v1/secrets?watch=1');
    await watch.until(({ status }) => status === 200);
    const stoppedAt = performance.now();
    assert.equal(await server.stop(), 0);
    assert.ok(performance.now() - stoppedAt >= delayMs, 'the delay was not waited for');
    await until(() => watch.ended, 'the watch did not end');
    assert.deepEqual([watch.complete, watch.events], [true, []]);
    await assert.rejects(getStatus(`${server.url}/livez`, { rejectUnauthorized: false }));
  });
});

/** How a server answers while its start has not finished. */
async function whileStarting(livezGraceMs: number, look: (url: string) => Promise<void>): Promise<void> {
  const listening = Promise.withResolvers<ListenAddress>();
  const finish = Promise.withResolvers<void>();
  const starting = startServer(
    listeningConfiguration({
      livezGraceMs,
      beforeReady: (address) => {
        listening.resolve(address);
        return finish.promise;
      },
    }),
  );
  try {
    const { port } = await Promise.race([listening.promise, starting]);
    const url = `https://127.0.0.1:${port}`;
    await look(url);
    finish.resolve();
    await starting;
    for (const path of endpoints) assert.equal(await status(url, path), 200, `${path} after the start`);
  } finally {
    finish.resolve();
    await (await starting).stop();
  }
}

const status = (url: string, path: string): Promise<number> =>
  getStatus(url + path, { rejectUnauthorized: false, headers: { authorization: `Bearer ${tokens.root}` } });

describe('a server that starts', () => {
  test('is not ready, and alive within --livez-grace-period', async () => {
    await whileStarting(3600_000, async (url) => {
      for (const [path, expected] of [
        ['/readyz', 500],
        ['/healthz', 500],
        ['/livez', 200],
        ['/readyz/poststarthook/start-server', 500],
        ['/readyz?exclude=poststarthook/start-server', 200],
        ['/readyz/ping', 200],
      ] as const) {
        assert.equal(await status(url, path), expected, path);
      }
    });
  });

  test('is not alive once that period is over', async () => {
    await whileStarting(0, async (url) => {
      assert.equal(await status(url, '/livez'), 500);
      assert.equal(await status(url, '/livez/ping'), 200);
      assert.equal(await status(url, '/livez/poststarthook/start-server'), 500);
    });
  });
});

test('a server whose cache cannot follow the store is alive and not ready until it can', async () => {
  const store = new FaultyStore();
  const { clock, environment } = simulatedWorld(1, {});
  const server = await createApiServer(memoryConfiguration, { ...environment, openStore: async () => store });
  const statuses = async (): Promise<readonly number[]> => {
    const paths = ['/livez', '/readyz', '/readyz/cache-sync', '/readyz/store'];
    return Promise.all(paths.map(async (path) => (await server.transportAs(admin).send(get(path))).status));
  };
  try {
    await server.start();
    assert.deepEqual(await statuses(), [200, 200, 200, 200]);
    const broken = new StoreError('unavailable', 'no changes come');
    store.before = (call) => {
      if (call === 'changes') throw broken;
    };
    store.breakChangeStreams(broken);
    await store.create('/written-by-another-server', Buffer.from('{}'));
    clock.advance(limits.storeHealthMs);
    assert.deepEqual(await statuses(), [200, 200, 200, 200], 'it may be about to follow');
    clock.advance(limits.cacheBehindMsMax + 1);
    assert.deepEqual(await statuses(), [200, 500, 500, 200]);
    store.before = () => {};
    await until(async () => {
      clock.advance(limits.changeStreamRetryMsMax);
      return (await statuses()).every((status) => status === 200);
    }, 'the server does not become ready again');
  } finally {
    await server.stop();
  }
});
