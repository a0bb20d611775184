import { limits } from '../../base/limits.ts';
import { isStoreError, type Revision, type Store, StoreError, type StoreRecord } from '../store.ts';
import { claimKey, formatClaim, parseClaim } from '../store-claim.ts';
import { type MigrationProgress, pagesOf, type SourceRecords, takeInventory } from './copy-records.ts';

interface MigrationToEtcd {
  readonly source: SourceRecords & { readonly dialect: string };
  /** Counts revisions by itself; what it holds must be nothing, or what an earlier attempt left. */
  readonly target: Store;
  readonly progress: MigrationProgress;
}

interface Migrated {
  readonly records: number;
  /** The first attempt copied some of them already. */
  readonly resumed: boolean;
  /** Where revisions go on. */
  readonly revision: Revision;
}

/**
 * Copies a state into a store that others cannot serve meanwhile, batch by batch in the order of keys: an attempt that ended early is continued by the
 * next one from the same state, and refused from any other. The last write makes it a store that goes on above the source's revisions.
 *
 * Fails with `exists` if the target holds anything else, with `conflict` if it holds part of another state.
 */
export async function migrateToEtcd({ source, target, progress }: MigrationToEtcd): Promise<Migrated> {
  const { records: total, digest } = await takeInventory(source, progress);
  const { claim, last } = await beginOrContinue(target, digest);
  let done = last === undefined ? 0 : await countUpTo(source, last);
  progress({ phase: 'copy', done, total });
  for await (const page of pagesOf(source, last)) {
    for (const batch of batchesOf(page)) {
      await write(target, batch);
      done += batch.length;
      progress({ phase: 'copy', done, total });
    }
  }
  const copied = await target.list('/', { limit: 0 });
  if (copied.remaining !== total + 1) {
    throw new StoreError(
      'conflict',
      `the target holds ${copied.remaining - 1} records instead of ${total}: another program writes to it`,
    );
  }
  // The copied records have revisions above those of the source, whatever the target counts.
  const by = Math.max(0, source.at - claim.begunAt);
  const floor = copied.revision + by;
  const { dialect } = source;
  const { revision } = await target.update(
    claimKey,
    formatClaim({ type: 'served', dialect, moved: { by, floor } }),
    claim.revision,
  );
  return { records: total, resumed: last !== undefined, revision: revision + by };
}

interface UnfinishedClaim {
  readonly revision: Revision;
  /** Revision of the target before the first record was copied. */
  readonly begunAt: Revision;
}

async function beginOrContinue(
  target: Store,
  digest: string,
): Promise<{ readonly claim: UnfinishedClaim; readonly last: string | undefined }> {
  const found = await target.get(claimKey);
  const claimed = found && parseClaim(found.value);
  if (found && claimed?.type === 'unfinished') {
    if (claimed.source !== digest) {
      throw new StoreError('conflict', 'it holds part of another state, from a migration that was not finished');
    }
    return { claim: { revision: found.revision, begunAt: found.revision }, last: await lastKey(target) };
  }
  const { remaining } = await target.list('/', { limit: 0 });
  if (remaining > 0) throw new StoreError('exists', `it holds ${remaining} records`);
  const { revision } = await target.create(claimKey, formatClaim({ type: 'unfinished', source: digest }));
  return { claim: { revision, begunAt: revision }, last: undefined };
}

/** The last key in order; undefined if only the claim is there. */
async function lastKey(target: Store): Promise<string | undefined> {
  let last: string | undefined;
  for (let after: string | undefined; ; ) {
    const { records, remaining } = await target.list('/', {
      ...{ limit: limits.migrationPageMax, remaining: 'whether' },
      ...(after !== undefined && { after }),
    });
    after = records.at(-1)?.key;
    last = records.findLast(({ key }) => key !== claimKey)?.key ?? last;
    if (remaining === 0 || after === undefined) return last;
  }
}

async function countUpTo(source: SourceRecords, last: string): Promise<number> {
  let count = 0;
  for await (const page of pagesOf(source)) {
    count += page.filter(({ key }) => Buffer.compare(Buffer.from(key), Buffer.from(last)) <= 0).length;
    if (page.some(({ key }) => key === last)) break;
  }
  return count;
}

function* batchesOf(page: readonly StoreRecord[]): Iterable<readonly StoreRecord[]> {
  let [batch, bytes]: [StoreRecord[], number] = [[], 0];
  for (const record of page) {
    const size = record.key.length + record.value.length;
    if (batch.length > 0 && (batch.length === limits.migrationBatchMax || bytes + size > limits.migrationBatchBytes)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(record);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** A batch that is too large for the target is written record by record. */
async function write(target: Store, records: readonly StoreRecord[]): Promise<void> {
  try {
    await target.batch(records.map(({ key, value }) => ({ verb: 'create', key, value })));
  } catch (error) {
    const [first] = records;
    if (!isStoreError(error, 'tooLarge') || !first) throw error;
    if (records.length > 1) for (const record of records) await write(target, [record]);
    else
      throw new StoreError('tooLarge', `${first.key} has ${first.value.length} bytes, more than it takes`, {
        key: first.key,
        cause: error,
      });
  }
}
