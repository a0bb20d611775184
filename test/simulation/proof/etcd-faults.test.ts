import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { EtcdNetwork, networksMissing } from '../../../src/store/drivers/etcd/etcd-network-fixture.ts';
import {
  type EtcdCluster,
  etcdMissing,
  startEtcdCluster,
} from '../../../src/store/drivers/etcd/etcd-process-fixture.ts';
import { openEtcdStore } from '../../../src/store/drivers/etcd/etcd-store.ts';
import type { Change } from '../../../src/store/store.ts';
import { Dice } from '../dice.ts';
import { claimsProblem } from './claims.ts';
import { changesAfter } from './history.ts';
import { Processes } from './processes.ts';
import { type Fault, roundsProblems, runRounds, tallyOf } from './rounds.ts';

/**
 * Clients of two real servers on an etcd of three members. Servers are killed and paused; members, the leader among them, are
 * killed, paused, and cut off from one another or from everybody, where this machine lets us. `ORCH_FAULT_ROUNDS=200` runs more
 * rounds, `ORCH_FAULT_SEED=17` those of one cluster again.
 */
const rounds = Number(process.env['ORCH_FAULT_ROUNDS'] ?? 3);
const only = process.env['ORCH_FAULT_SEED'];
/** Rounds of one cluster: well within the time after which history is compacted. */
const roundsPerCluster = 25;
const servers = 2;

describe('faults of two servers and an etcd of three members', { skip: etcdMissing }, () => {
  const noNetworks = etcdMissing || networksMissing();
  const clusters = Math.ceil(rounds / roundsPerCluster);
  const seeds = only === undefined ? Array.from({ length: clusters }, (_, index) => index + 1) : [Number(only)];
  for (const seed of seeds) {
    const own = Math.min(roundsPerCluster, rounds - (only === undefined ? (seed - 1) * roundsPerCluster : 0));
    test(`${own} rounds, seed ${seed}`, { timeout: 60_000 + own * 60_000 }, async (t) => {
      if (noNetworks) t.diagnostic(`no partitions: ${noNetworks}`);
      using network = noNetworks ? undefined : new EtcdNetwork();
      const cluster = await startEtcdCluster(network?.hosts);
      try {
        const dice = new Dice(seed);
        await using processes = new Processes();
        for (let index = 0; index < servers; index++) {
          await processes.start([`--etcd-servers=${cluster.endpoints.join(',')}`]);
        }
        const faults = faultsOf({ processes, cluster, network, dice });
        const fault = (): Fault => dice.pick(faults);
        const done = await runRounds({ servers: processes, dice, rounds: own, fault });
        await processes.kill();
        const changes = await allChanges(cluster);
        const problems = [...roundsProblems(done, changes), claimsProblem(changes)];
        const { operations, unknown, refused, events } = tallyOf(done);
        t.diagnostic(
          `${own} rounds: ${operations} operations, ${unknown} of unknown outcome, ${refused} refused, ${events} events`,
        );
        assert.deepEqual(
          problems.filter((problem) => problem !== undefined),
          [],
          `again with ORCH_FAULT_SEED=${seed} ORCH_FAULT_ROUNDS=${own}`,
        );
        assert.ok(events > operations / 4, 'watches showed what was written');
      } finally {
        await cluster.stop();
      }
    });
  }
});

const pauseMsMax = 1_500;

interface FaultParts {
  readonly processes: Processes;
  readonly cluster: EtcdCluster;
  readonly network: EtcdNetwork | undefined;
  readonly dice: Dice;
}

function faultsOf({ processes, cluster, network, dice }: FaultParts): readonly Fault[] {
  const { members } = cluster;
  const during = async (begin: () => unknown, end: () => unknown): Promise<void> => {
    await begin();
    await delay(dice.below(pauseMsMax));
    await end();
  };
  const onMember = (name: string, begin: (index: number) => unknown, end: (index: number) => unknown): Fault[] => [
    {
      name: `${name} of a member`,
      strike: () => {
        const index = dice.below(members.length);
        return during(
          () => begin(index),
          () => end(index),
        );
      },
    },
    {
      name: `${name} of the leader`,
      strike: async () => {
        const index = await leaderOf(cluster);
        await during(
          () => begin(index),
          () => end(index),
        );
      },
    },
  ];
  return [
    { name: 'kill of a server', strike: () => processes.replace(dice.below(servers)) },
    { name: 'pause of a server', strike: () => processes.pause(dice.below(servers), dice.below(pauseMsMax)) },
    ...onMember(
      'kill',
      (index) => members[index]?.kill(),
      (index) => members[index]?.start(),
    ),
    ...onMember(
      'pause',
      (index) => members[index]?.freeze(),
      (index) => members[index]?.thaw(),
    ),
    ...(network
      ? [
          ...onMember(
            'isolation',
            (index) => network.isolate(index),
            (index) => network.join(index),
          ),
          ...onMember(
            'partition',
            (index) => network.cut(index),
            (index) => network.mend(index),
          ),
        ]
      : []),
  ];
}

/** The member that says that it leads; the first one where none does. */
async function leaderOf({ endpoints }: EtcdCluster): Promise<number> {
  for (const [index, endpoint] of endpoints.entries()) {
    const response = await fetch(`${endpoint}/v3/maintenance/status`, { method: 'POST', body: '{}' });
    const { header, leader } = (await response.json()) as { header: { member_id: string }; leader?: string };
    if (header.member_id === leader) return index;
  }
  return 0;
}

async function allChanges({ endpoints }: EtcdCluster): Promise<readonly Change[]> {
  const store = await openEtcdStore({ endpoints, prefix: '/registry' });
  try {
    return await changesAfter(store, 1);
  } finally {
    await store.close();
  }
}
