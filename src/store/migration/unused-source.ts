import { type Clock, pause } from '../../base/time/clock.ts';
import { type Change, type Revision, type Store, StoreError } from '../store.ts';
import { addressesFolder, serversFolder } from '../store-claim.ts';

interface Look {
  readonly clock: Clock;
  /** How long a server counts after it was last heard of. Milliseconds. */
  readonly leaseMs: number;
  /** Called before each further look, with the names of servers that may have gone. */
  readonly waiting: (names: readonly string[]) => void;
}

const lookEveryMs = 1_000;
const never = new AbortController().signal;

/**
 * Fails with `unavailable` if servers of this store are running. Each renews a key: keys that stay as they are for the time of a lease are those of
 * servers that ended without removing theirs. Resolves to a revision from before the last look: who writes later was not seen, or has come since.
 *
 * Fails with `full` while an alarm is raised: no server can renew its key then, so the keys tell nothing.
 */
export async function requireUnused(
  store: Pick<Store, 'head' | 'list' | 'alarms'>,
  { clock, leaseMs, waiting }: Look,
): Promise<Revision> {
  await requireNoAlarm(store);
  const first = await serversOf(store);
  const deadline = clock.monotonic() + leaseMs;
  for (;;) {
    const at = await store.head();
    const now = await serversOf(store);
    const alive = [...now].flatMap(([key, revision]) => (first.get(key) === revision ? [] : [key]));
    if (alive.length > 0) {
      throw new StoreError('unavailable', `it is in use by the servers at ${namesOf(alive).join(', ')}`);
    }
    if (now.size === 0 || clock.monotonic() >= deadline) {
      // One that was raised since the first look kept keys as they are, too.
      await requireNoAlarm(store);
      return at;
    }
    waiting(namesOf(now.keys()));
    await pause(clock, lookEveryMs, never);
  }
}

async function requireNoAlarm(store: Pick<Store, 'alarms'>): Promise<void> {
  const [alarm] = (await store.alarms?.()) ?? [];
  if (alarm === undefined) return;
  throw new StoreError('full', `etcd has raised the alarm ${alarm}: its servers cannot tell that they are running`, {
    remedy:
      alarm === 'NOSPACE'
        ? 'stop all of them; compact etcd (etcdctl compact REVISION), defragment it (etcdctl defrag --cluster), end the ' +
          'alarm (etcdctl alarm disarm), and try again'
        : 'stop all of them, repair etcd, end the alarm (etcdctl alarm disarm), and try again',
  });
}

async function serversOf(store: Pick<Store, 'list'>): Promise<ReadonlyMap<string, Revision>> {
  const pages = [await store.list(serversFolder), await store.list(addressesFolder)];
  return new Map(pages.flatMap(({ records }) => records.map(({ key, revision }) => [key, revision] as const)));
}

/** Machines, or addresses of servers of the release before. A process with several threads has a key for each. */
const namesOf = (keys: Iterable<string>): readonly string[] => [
  ...new Set([...keys].map((key) => key.split('/')[2] ?? key)),
];

/**
 * Fails with `conflict` if a record was written after this revision: a server has come, or is running that has no key; with
 * `full` if an alarm is raised, which keeps it from writing one.
 */
export async function requireUnwritten(store: Pick<Store, 'head' | 'changes' | 'alarms'>, at: Revision): Promise<void> {
  await requireNoAlarm(store);
  const head = await store.head();
  const done = new AbortController();
  try {
    if (head > at) {
      for await (const { changes, revision } of store.changes(at, done.signal)) {
        const written = changes.find((change) => !isFarewell(change));
        if (written)
          throw new StoreError('conflict', `${written.key} was written while it was copied: a server is running`);
        if (revision >= head) break;
      }
    }
  } finally {
    done.abort();
  }
}

/** What a server wrote before that, it wrote after the revision too. */
const isFarewell = ({ type, key }: Change): boolean => type === 'delete' && key.startsWith(serversFolder);
