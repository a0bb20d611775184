import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { makePrivateDirectory } from '../../base/atomic-file.ts';
import { keepAlive, systemClock } from '../../base/time/clock.ts';
import { serverLeaseMs } from '../../server/upkeep/server-presence.ts';
import type { StorageConfig } from '../../server/wiring/storage-config.ts';
import { type MigrationProgress, takeInventory } from '../../store/migration/copy-records.ts';
import { migrateToEtcd } from '../../store/migration/migrate-to-etcd.ts';
import { migrateToSqlite } from '../../store/migration/migrate-to-sqlite.ts';
import { requireUnused, requireUnwritten } from '../../store/migration/unused-source.ts';
import { openStore } from '../../store/open.ts';
import { isStoreError, type Store, type StoreErrorCode } from '../../store/store.ts';
import { claimKey, parseClaim } from '../../store/store-claim.ts';
import { choice, file } from '../flags/flags.ts';
import { serverFlags } from '../flags/server-flags.ts';
import { databaseFile, etcdStorage } from '../flags/server-options.ts';
import { UsageError } from '../usage-error.ts';
import { defineCommand, type Terminal } from './command.ts';

const side = (help: string) =>
  choice({ of: ['', 'sqlite', 'etcd'], placeholder: 'sqlite|etcd', default: '', defaultText: '', help });

const flags = {
  from: side('where the objects are; must not be served'),
  to: side('where they are copied to; must hold nothing'),
  'data-dir': file({ placeholder: 'DIR', help: 'the --data-dir of the server with SQLite' }),
  'sqlite-file': file({ help: 'its --sqlite-file, where it has one', defaultText: '<data-dir>/orch.db' }),
  'etcd-cafile': serverFlags['etcd-cafile'],
  'etcd-certfile': serverFlags['etcd-certfile'],
  'etcd-keyfile': serverFlags['etcd-keyfile'],
  'etcd-prefix': serverFlags['etcd-prefix'],
  'etcd-servers': serverFlags['etcd-servers'],
} as const;

type EtcdConfig = Extract<StorageConfig, { readonly backend: 'etcd3' }>;

export const migrate = defineCommand({
  summary: 'Moves the objects of a server from SQLite to etcd, or back',
  description:
    'Copies every object as it is stored, with its uid, from a store that no server uses to one that holds nothing. Versions go on above those of the\n' +
    'source, so that clients list again. The source stays as it is: do not serve it again. After a break, run the same command again.',
  flags,
  async run(values, terminal) {
    const { from, to } = values;
    if (from === '' || to === '' || from === to) {
      throw new UsageError('--from and --to are needed: --from=sqlite --to=etcd, or --from=etcd --to=sqlite');
    }
    if (values['data-dir'] === undefined && values['sqlite-file'] === undefined) {
      throw new UsageError('--data-dir is missing: --data-dir=DIR');
    }
    const data = databaseFile({ 'data-dir': values['data-dir'] ?? '', 'sqlite-file': values['sqlite-file'] });
    const etcd = etcdStorage(values);
    // Connections and timers do not keep a process.
    const alive = keepAlive();
    try {
      if (from === 'sqlite') await fromSqlite(data, etcd, terminal);
      else await fromEtcd(etcd, data, terminal);
    } finally {
      alive.close();
    }
    return 0;
  },
});

async function fromSqlite(data: string, etcd: EtcdConfig, terminal: Terminal): Promise<void> {
  if (!existsSync(data)) throw new Error(`the file ${data} does not exist: see --data-dir and --sqlite-file`);
  const source = await openStore({ backend: 'sqlite', file: data });
  try {
    const dialect = await dialectOf(source, data);
    const target = await openStore(etcd);
    try {
      const at = await source.head();
      const progress = showMigration(terminal);
      const { records, resumed, revision } = await migrateToEtcd({
        ...{ source: { store: source, at, dialect }, target, progress },
      }).catch((error) => {
        throw explained(error, etcd);
      });
      const earlier = resumed ? ', some of them by an attempt before' : '';
      terminal.out(`${nameOf(etcd)}: ${records} records of ${data}${earlier}; revisions go on from ${revision}\n`);
      terminal.out(`Start servers with --etcd-servers, and do not serve ${data} again.\n`);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

async function fromEtcd(etcd: EtcdConfig, data: string, terminal: Terminal): Promise<void> {
  if (existsSync(data))
    throw new Error(`${data} exists already; it was left as it is: choose another --data-dir, or move it away`);
  makePrivateDirectory(dirname(data));
  const source = await openStore(etcd);
  try {
    const dialect = await dialectOf(source, nameOf(etcd));
    let isTold = false;
    const waiting = (names: readonly string[]): void => {
      if (!isTold)
        terminal.err(
          `waiting up to ${serverLeaseMs / 1_000} s whether the servers at ${names.join(', ')} have ended\n`,
        );
      isTold = true;
    };
    const at = await requireUnused(source, { clock: systemClock, leaseMs: serverLeaseMs, waiting });
    const progress = showMigration(terminal);
    const inventory = await takeInventory({ store: source, at }, progress);
    const confirm = () => requireUnwritten(source, at);
    const revision = await migrateToSqlite({
      ...{ source: { store: source, at, dialect }, to: data, clock: systemClock, inventory, progress, confirm },
    });
    terminal.out(`${data}: ${inventory.records} records of ${nameOf(etcd)}; revisions go on from ${revision}\n`);
    terminal.out(`Start the server with it, and do not serve ${nameOf(etcd)} again.\n`);
  } catch (error) {
    if (isStoreError(error, 'full') && error.remedy !== undefined) {
      throw new Error(`${nameOf(etcd)}: ${error.message}: ${error.remedy}`, { cause: error });
    }
    if (isStoreError(error, 'unavailable') || isStoreError(error, 'conflict')) {
      throw new Error(`${nameOf(etcd)}: ${error.message}: stop all of its servers, and try again`, { cause: error });
    }
    throw error;
  } finally {
    await source.close();
  }
}

const nameOf = ({ endpoints, prefix }: EtcdConfig): string => `${endpoints.join()}${prefix}`;

/** Every store that was served has one. */
async function dialectOf(store: Store, name: string): Promise<string> {
  const record = await store.get(claimKey);
  if (!record) throw new Error(`${name} holds nothing that a server has written: see --from`);
  const claim = parseClaim(record.value);
  if (claim.type === 'served') return claim.dialect;
  throw new Error(
    `${name} holds part of a migration that was not finished: finish that first, or begin from where it came`,
  );
}

/** What to do about what a target refuses. */
function explained(error: unknown, etcd: EtcdConfig): unknown {
  const empty = `empty it (etcdctl del --prefix ${etcd.prefix}/)`;
  const again = 'run the same command again: it goes on where it ended';
  const advice: Partial<Record<StoreErrorCode, string>> = {
    exists: `choose another --etcd-prefix, or ${empty}`,
    conflict: `${empty}, and begin again`,
    tooLarge: `start etcd with --max-request-bytes=3211264, and ${again}`,
    full: `raise etcd's --quota-backend-bytes, and ${again}`,
    unavailable: again,
    unknownOutcome: again,
  };
  for (const [code, what] of Object.entries(advice)) {
    if (isStoreError(error, code as StoreErrorCode))
      return new Error(`${nameOf(etcd)}: ${error.message}: ${what}`, { cause: error });
  }
  return error;
}

/** Shows the progress on one line that is redrawn; without a terminal, at each tenth. */
function showMigration(terminal: Terminal): MigrationProgress {
  let shown = '';
  return ({ phase, done, total }) => {
    const step = Math.max(1, Math.floor(total / 10));
    if (!terminal.interactive && (phase === 'read' || (done % step !== 0 && done < total))) return;
    const text = phase === 'read' ? `reading: ${done} records` : `copying: ${done} of ${total} records`;
    if (text === shown) return;
    terminal.err(terminal.interactive ? `\r${text.padEnd(shown.length)}` : `${text}\n`);
    if (terminal.interactive && phase === 'copy' && done === total) terminal.err('\n');
    shown = text;
  };
}
