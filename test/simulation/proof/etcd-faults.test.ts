import { setTimeout as delay } from 'node:timers/promises';
import { EtcdNetwork, networksMissing } from '../../../src/store/drivers/etcd/etcd-network-fixture.ts';
import {
  type EtcdCluster,
  etcdMissing,
  startEtcdCluster,
} from '../../../src/store/drivers/etcd/etcd-process-fixture.ts';
import type { Dice } from '../dice.ts';
import { faultTests } from './fault-tests.ts';
import { changesOfEtcd } from './history.ts';
import { Processes } from './processes.ts';
import { type Fault, runRounds } from './rounds.ts';

/**
 * Clients of two real servers on an etcd of three members. Servers are killed and paused; members, the leader among them, are
 * killed, paused, and cut off from one another or from everybody, where this machine lets us.
 */
const options = {
  rounds: 3,
  roundsPerStore: 25,
  roundMsMax: 60_000,
  batchRevisions: 'shared',
  skip: etcdMissing,
} as const;
const servers = 2;

faultTests('faults of two servers and an etcd of three members', options, async ({ t, dice, rounds }) => {
  const noNetworks = networksMissing();
  if (noNetworks) t.diagnostic(`no partitions: ${noNetworks}`);
  using network = noNetworks ? undefined : new EtcdNetwork();
  const cluster = await startEtcdCluster(network?.hosts);
  try {
    await using processes = new Processes();
    for (let index = 0; index < servers; index++) {
      await processes.start([`--etcd-servers=${cluster.endpoints.join(',')}`]);
    }
    const faults = faultsOf({ processes, cluster, network, dice });
    const done = await runRounds({ servers: processes, dice, rounds, fault: () => dice.pick(faults) });
    await processes.kill();
    return { rounds: done, changes: await changesOfEtcd(cluster.endpoints) };
  } finally {
    await cluster.stop();
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
