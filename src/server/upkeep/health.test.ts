import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { LogFields } from '../../base/log-lines.ts';
import { silentLogger } from '../../base/logger.ts';
import { ManualClock } from '../../base/time/clock.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { StatusError } from '../../meta/status-error.ts';
import { Health, type HealthOptions } from './health.ts';

let clock: ManualClock;
let state: { stopping: boolean; cache: string | undefined; trouble: string | undefined; writes: string | undefined };
let logged: LogFields[];
let health: Health;
beforeEach(() => {
  clock = new ManualClock();
  state = { stopping: false, cache: undefined, trouble: undefined, writes: undefined };
  logged = [];
  health = healthOf(orch);
});

const healthOf = (dialect: Dialect, more: Partial<HealthOptions> = {}): Health =>
  new Health({
    clock,
    logger: { ...silentLogger, info: (_, fields) => void logged.push(fields ?? {}) },
    dialect,
    livezGraceMs: 10_000,
    stopping: () => state.stopping,
    cacheProblem: async () => state.cache,
    storeProblem: async () => state.trouble,
    writeProblem: () => state.writes,
    ...more,
  });

const answer = (path: string, query = '') => health.answer(path, new URLSearchParams(query));
const statuses = async (): Promise<readonly number[]> =>
  Promise.all(['/healthz', '/livez', '/readyz'].map(async (path) => (await answer(path))?.status ?? 0));

/** A state, and the statuses of `/healthz`, `/livez` and `/readyz` in it. */
const rows: readonly (readonly [what: string, arrange: () => void, statuses: readonly [number, number, number]])[] = [
  ['it has just begun to start', () => {}, [500, 200, 500]],
  ['the start takes its grace period', () => clock.advance(10_000), [500, 200, 500]],
  ['the start takes longer', () => clock.advance(10_001), [500, 500, 500]],
  ['it has started', () => health.started(), [200, 200, 200]],
  [
    'it has started, late',
    () => {
      clock.advance(60_000);
      health.started();
    },
    [200, 200, 200],
  ],
  [
    'the store is in trouble',
    () => {
      health.started();
      state.trouble = 'unavailable';
    },
    [500, 200, 500],
  ],
  [
    'the cache does not follow the store',
    () => {
      health.started();
      state.cache = 'the cache is not loaded';
    },
    [500, 200, 500],
  ],
  [
    'writes are refused for long',
    () => {
      health.started();
      state.writes = 'no write has ended for 20 s while others wait';
    },
    [200, 200, 500],
  ],
  [
    'it is stopping',
    () => {
      health.started();
      state.stopping = true;
    },
    [200, 200, 500],
  ],
];

describe('healthz, livez and readyz when', () => {
  for (const [what, arrange, expected] of rows) {
    test(what, async () => {
      arrange();
      assert.deepEqual(await statuses(), expected);
    });
  }
});

test('the body of a success is ok', async () => {
  health.started();
  for (const path of ['/livez', '/readyz/', '/healthz', '/readyz/ping', '/readyz/store/']) {
    assert.deepEqual(await answer(path), { status: 200, body: 'ok' }, path);
  }
});

test('verbose shows every check (spec section 4.2)', async () => {
  health.started();
  assert.deepEqual(await answer('/readyz', 'verbose'), {
    status: 200,
    body:
      '[+]ping ok\n[+]store ok\n[+]cache-sync ok\n[+]poststarthook/start-server ok\n[+]writes ok\n[+]shutdown ok\n' +
      'healthz check passed\n',
  });
  assert.equal(
    (await answer('/livez', 'verbose=1'))?.body,
    '[+]ping ok\n[+]poststarthook/start-server ok\nhealthz check passed\n',
  );
});

test('published probes find the check of the store by its name', async () => {
  health = healthOf(kubernetes);
  health.started();
  assert.deepEqual(await answer('/readyz/etcd'), { status: 200, body: 'ok' });
  state.trouble = 'unavailable';
  for (const path of ['/readyz/etcd', '/healthz/etcd']) assert.equal((await answer(path))?.status, 500);
  assert.deepEqual(await answer('/healthz', 'exclude=etcd'), { status: 200, body: 'ok' });
});

test('other stores have checks of their own, which go with that of the main one', async () => {
  const wrong = { healthz: [undefined, undefined], readyz: [undefined, undefined] } as {
    [path: string]: (string | undefined)[];
  };
  const overrides = [0, 1].map((index) => ({
    storeProblem: async () => wrong['healthz']?.[index],
    storeUnready: async () => wrong['readyz']?.[index],
  }));
  health = healthOf(kubernetes, { overrides });
  health.started();
  for (const path of ['/healthz', '/readyz']) {
    const lines = '[+]ping ok\n[+]etcd ok\n[+]etcd-override-0 ok\n[+]etcd-override-1 ok\n[+]cache-sync ok\n';
    assert.ok((await answer(path, 'verbose'))?.body.startsWith(lines));
  }
  wrong['readyz'] = [undefined, 'unavailable'];
  assert.deepEqual(await statuses(), [200, 200, 500]);
  assert.equal((await answer('/readyz/etcd-override-0'))?.status, 200);
  assert.equal((await answer('/readyz/etcd-override-1'))?.status, 500);
  for (const name of ['etcd', 'etcd-override-1']) {
    assert.equal((await answer('/readyz', `exclude=${name}`))?.status, 200, name);
  }
  assert.equal((await answer('/readyz', 'exclude=etcd-override-0'))?.status, 500);
  wrong['healthz'] = ['unavailable', undefined];
  assert.deepEqual(await statuses(), [500, 200, 500]);
  assert.equal(health.storeProblems.length, 3);
});

test('a failure lists every check even without verbose, and withholds the reason', async () => {
  health.started();
  state.trouble = 'unavailable';
  const failed = await answer('/readyz');
  assert.equal(failed?.status, 500);
  assert.equal(
    failed?.body,
    '[+]ping ok\n[-]store failed: reason withheld\n[+]cache-sync ok\n[+]poststarthook/start-server ok\n[+]writes ok\n[+]shutdown ok\n' +
      'healthz check failed\n',
  );
  assert.deepEqual(logged, [{ endpoint: 'readyz', check: 'store', why: 'unavailable' }]);
});

describe('exclude', () => {
  beforeEach(() => {
    health.started();
    state.trouble = 'unavailable';
    state.stopping = true;
  });

  test('leaves out the checks it names, however many', async () => {
    assert.equal((await answer('/readyz', 'exclude=store'))?.status, 500);
    assert.deepEqual(await answer('/readyz', 'exclude=store&exclude=shutdown'), { status: 200, body: 'ok' });
    assert.deepEqual(
      logged.map(({ check }) => check),
      ['shutdown'],
      'what is left out is not run',
    );
  });

  test('is listed with the checks', async () => {
    const body = (await answer('/readyz', 'verbose&exclude=store&exclude=shutdown'))?.body ?? '';
    assert.match(body, /^\[\+\]store excluded: ok$/m);
    assert.match(body, /^\[\+\]shutdown excluded: ok$/m);
    assert.match(body, /^\[\+\]ping ok$/m);
    assert.match(body, /^healthz check passed$/m);
  });

  test('warns of an unknown check, in one line whatever its name', async () => {
    const body = (await answer('/livez', `verbose&exclude=${encodeURIComponent('no\n[+]such')}`))?.body ?? '';
    assert.match(body, /^warn: there is no check "no\\n\[\+\]such" to exclude$/m);
    assert.equal((await answer('/livez', 'exclude=nosuch'))?.status, 200);
  });
});

describe('a single check', () => {
  for (const [path, status] of [
    ['/livez/ping', 200],
    ['/readyz/shutdown', 500],
    ['/readyz/poststarthook/start-server', 500],
    ['/livez/poststarthook/start-server', 200],
  ] as const) {
    test(`${path} is ${status}, whatever the others are`, async () => {
      state.stopping = true;
      state.trouble = 'unavailable';
      const one = await answer(path);
      assert.equal(one?.status, status);
      assert.equal(one?.body, status === 200 ? 'ok' : 'failed: reason withheld\n');
    });
  }

  for (const path of ['/livez/nosuch', '/livez/shutdown', '/readyz/constructor', '/livez/ping/more', '/livez//']) {
    test(`${path} is not found`, async () => {
      await assert.rejects(answer(path), (error) => error instanceof StatusError && error.code === 404);
    });
  }
});

test('other paths are not handled', async () => {
  for (const path of ['/', '/livezz', '/api/livez', '/Livez']) assert.equal(await answer(path), undefined, path);
});

test('checks of whole endpoints are counted, and shown as metrics', async () => {
  const shown = (): readonly string[] =>
    health.metrics
      .render()
      .split('\n')
      .filter((line) => /^[^#]/.test(line));
  assert.deepEqual(shown(), []);
  health.started();
  state.trouble = 'no store';
  for (const path of ['/livez', '/healthz', '/healthz?exclude=store']) {
    const [endpoint = '', query] = path.split('?');
    await health.answer(endpoint, new URLSearchParams(query));
  }
  await health.answer('/healthz/ping', new URLSearchParams());
  for (const line of [
    'orch_healthcheck{name="ping",type="livez"} 1',
    'orch_healthcheck{name="store",type="healthz"} 0',
    'orch_healthchecks_total{name="ping",type="healthz",status="success"} 2',
    'orch_healthchecks_total{name="ping",type="livez",status="success"} 1',
    'orch_healthchecks_total{name="store",type="healthz",status="error"} 1',
  ]) {
    assert.ok(shown().includes(line), `${line} is not in\n${shown().join('\n')}`);
  }
  assert.match(health.metrics.render(), /^# HELP orch_healthcheck \[STABLE\] /m);
});
