import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../../src/base/waits-fixture.ts';
import { etcdMissing, startEtcd } from '../../../src/store/drivers/etcd/etcd-process-fixture.ts';
import type { Change } from '../../../src/store/store.ts';
import { policyOf, type RecordedEvent } from '../../support/audit.ts';
import type { OrchProcess } from '../../support/orch-process.ts';
import type { Dice } from '../dice.ts';
import { FakeClock, fakeClockMissing } from './fake-clock.ts';
import { faultTests } from './fault-tests.ts';
import { changesOfEtcd, changesOfFile } from './history.ts';
import { termsOf } from './leadership.ts';
import { Processes } from './processes.ts';
import { type Fault, runRounds } from './rounds.ts';

/**
 * Clients of real processes whose wall clocks jump, forward and back, by hours and by less, also over a kill: one on SQLite, two
 * on an etcd, each with a clock of its own.
 */
const onSqlite = {
  rounds: 5,
  roundsPerStore: 50,
  roundMsMax: 20_000,
  batchRevisions: 'consecutive',
  skip: fakeClockMissing,
} as const;
const onEtcd = {
  ...onSqlite,
  roundsPerStore: 25,
  rounds: 4,
  batchRevisions: 'shared',
  skip: fakeClockMissing || etcdMissing,
} as const;

faultTests('jumps of the clock of a process on SQLite', onSqlite, async ({ dice, rounds, folder }) => {
  using clock = new FakeClock();
  await using processes = new Processes();
  await processes.start([], { dataDir: folder, within: clock.within });
  const clocks = [clock];
  const done = await runRounds({ servers: processes, dice, rounds, fault: () => faultOf({ processes, clocks, dice }) });
  await processes.kill();
  const changes = await changesOfFile(join(folder, 'orch.db'));
  return { rounds: done, changes, problems: jumpsProblem(changes) };
});

faultTests('jumps of the clocks of two processes on an etcd', onEtcd, async ({ t, dice, rounds, folder }) => {
  const policy = join(folder, 'policy.json');
  const rule = { level: 'RequestResponse', verbs: ['create', 'update'], omitStages: ['RequestReceived'] };
  writeFileSync(policy, JSON.stringify(policyOf([rule])));
  using first = new FakeClock();
  using second = new FakeClock();
  const clocks = [first, second];
  const etcd = await startEtcd();
  try {
    await using processes = new Processes();
    const servers: OrchProcess[] = [];
    for (const [index, clock] of clocks.entries()) {
      const audit = [`--audit-policy-file=${policy}`, `--audit-log-path=${auditLog(folder, index)}`];
      servers.push(await processes.start([`--etcd-servers=${etcd.endpoint}`, ...audit], { within: clock.within }));
    }
    const fault = (): Fault =>
      dice.chance(0.3) ? leaderJumps(servers, clocks, dice) : faultOf({ processes, clocks, dice });
    const done = await runRounds({ servers: processes, dice, rounds, fault });
    await processes.kill();
    const changes = await changesOfEtcd([etcd.endpoint]);
    const { problems, terms, writes } = termsOf(
      changes,
      clocks.map((_, index) => eventsIn(auditLog(folder, index))),
    );
    t.diagnostic(`${terms} terms of leaders, ${writes} objects that controllers created`);
    return { rounds: done, changes, problems: [...problems, ...jumpsProblem(changes)] };
  } finally {
    await etcd.stop();
  }
});

test('a token counts while the clock of the server that is asked says so, wherever that jumps', {
  skip: fakeClockMissing,
}, async () => {
  using clock = new FakeClock();
  await using processes = new Processes();
  const server = await processes.start([], { within: clock.within });
  // Later, since certificates count from the start on.
  clock.set(dayMs);
  const account = '/api/v1/namespaces/default/serviceaccounts/default';
  await until(async () => (await server.get(account)).status === 200, 'there is no account');
  const { json, text } = await server.post<{ status?: { token: string } }>(`${account}/token`, {
    spec: { expirationSeconds: tokenMs / 1_000 },
  });
  const token = json.status?.token ?? assert.fail(text);
  const jumps = [
    [dayMs, 403],
    [dayMs + tokenMs - minuteMs, 403],
    [dayMs + tokenMs + minuteMs, 401],
    [2 * dayMs, 401],
    [dayMs + minuteMs, 403],
    [dayMs - 5 * minuteMs, 401],
    [0, 401],
    [dayMs, 403],
  ] as const;
  for (const [aheadMs, status] of jumps) {
    clock.set(aheadMs);
    const answer = await server.get(account, { as: { token } });
    assert.equal(answer.status, status, `${aheadMs / minuteMs} minutes ahead: ${answer.text}`);
  }
});

const auditLog = (folder: string, index: number): string => join(folder, `audit-${index}.log`);

function eventsIn(file: string): readonly RecordedEvent[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [JSON.parse(line)];
      } catch {
        return []; // the end of the file, or a line in which the server was killed
      }
    });
}

/** Namespaces know when they were made: that clocks jump shows there. */
function jumpsProblem(changes: readonly Change[]): readonly string[] {
  const times = changes.flatMap((change) =>
    change.type === 'create' && change.key.startsWith('/core/namespaces/')
      ? [Date.parse(JSON.parse(Buffer.from(change.value).toString()).metadata.creationTimestamp)]
      : [],
  );
  return Math.max(...times) - Math.min(...times) > hourMs ? [] : ['no clock has jumped'];
}

const lease = '/apis/coordination.orch.io/v1/namespaces/orch-system/leases/orch-controller-manager';

/**
 * The term of the leader is over by its own clock, unless it renews its lease before it writes. Whoever leads then does what is
 * to be done.
 */
const leaderJumps = (servers: readonly OrchProcess[], clocks: readonly FakeClock[], dice: Dice): Fault => ({
  name: 'a jump of the leader',
  strike: async () => {
    const [server] = servers;
    let leader = -1;
    const isKnown = async (): Promise<boolean> => {
      const { json } = (await server?.get<{ spec?: { holderIdentity: string } }>(lease)) ?? {};
      leader = servers.findIndex(({ log }) => log.includes(`identity="${json?.spec?.holderIdentity}"`));
      return leader >= 0;
    };
    await until(isKnown, 'nobody leads');
    const clock = clocks[leader];
    clock?.set(clock.aheadMs + hourMs);
    const namespace = `jump-${dice.below(1_000_000)}`;
    await server?.post('/api/v1/namespaces', { metadata: { name: namespace } });
    const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
    await until(async () => (await server?.get(account))?.status === 200, `${namespace} has no account`);
  },
});

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** The shortest that is given. */
const tokenMs = 10 * minuteMs;
/** Never before the start, when certificates were made that count from then on. */
const hoursMax = 48;
const pauseMsMax = 100;
const jumpsMax = 4;

/** Shorter than a lease, and longer. */
const smallMsMax = 30_000;

interface FaultParts {
  readonly processes: Processes;
  readonly clocks: readonly FakeClock[];
  readonly dice: Dice;
}

function faultOf({ processes, clocks, dice }: FaultParts): Fault {
  const jump = (): void => {
    const clock = dice.pick(clocks);
    const isSmall = dice.chance(0.3);
    const aheadMs = isSmall ? clock.aheadMs + dice.below(2 * smallMsMax) - smallMsMax : dice.below(hoursMax * hourMs);
    clock.set(Math.max(0, aheadMs));
  };
  const jumps = async (): Promise<void> => {
    for (let count = dice.below(jumpsMax); count >= 0; count--) {
      jump();
      await delay(dice.below(pauseMsMax));
    }
  };
  if (dice.chance(0.7)) return { name: 'jumps', strike: jumps };
  return {
    name: 'jumps, and a kill',
    strike: async () => {
      await jumps();
      await processes.replace(dice.below(clocks.length), { whileDown: async () => jump() });
    },
  };
}
