import { createHash } from 'node:crypto';
import { limits } from '../../base/limits.ts';
import type { Revision, Store, StoreRecord } from '../store.ts';
import { addressesFolder, claimKey, serversFolder } from '../store-claim.ts';

/** What a migration copies: everything but what belongs to the store itself, which is the claim, and to its servers. */
export interface SourceRecords {
  readonly store: Pick<Store, 'list'>;
  /** The state that is copied. */
  readonly at: Revision;
}

/** Progress of a migration, in records. */
export type MigrationProgress = (progress: {
  readonly phase: 'read' | 'copy';
  readonly done: number;
  /** 0 while it is not known. */
  readonly total: number;
}) => void;

const ownFolders = [serversFolder, addressesFolder];

const isCopied = (key: string): boolean => key !== claimKey && !ownFolders.some((folder) => key.startsWith(folder));

/** The pages of a state in the order of keys, without what is not copied. */
export async function* pagesOf({ store, at }: SourceRecords, start?: string): AsyncGenerator<readonly StoreRecord[]> {
  let after = start;
  for (;;) {
    const { records, remaining } = await store.list('/', {
      ...{ at, limit: limits.migrationPageMax, remaining: 'whether' },
      ...(after !== undefined && { after }),
    });
    const copied = records.filter(({ key }) => isCopied(key));
    const unreadable = copied.find(({ corrupt }) => corrupt);
    if (unreadable) throw unreadable.corrupt as Error;
    if (copied.length > 0) yield copied;
    after = records.at(-1)?.key;
    if (remaining === 0 || after === undefined) return;
  }
}

export interface Inventory {
  readonly records: number;
  /** Of all keys, values and revisions: two states with the same one are the same. */
  readonly digest: string;
}

/** Reads the whole state once. */
export async function takeInventory(source: SourceRecords, progress: MigrationProgress): Promise<Inventory> {
  const hash = createHash('sha256');
  const lengths = Buffer.alloc(24);
  let records = 0;
  for await (const page of pagesOf(source)) {
    for (const { key, value, revision } of page) {
      const name = Buffer.from(key);
      lengths.writeBigUInt64LE(BigInt(name.length), 0);
      lengths.writeBigUInt64LE(BigInt(value.length), 8);
      lengths.writeBigUInt64LE(BigInt(revision), 16);
      hash.update(lengths).update(name).update(value);
    }
    records += page.length;
    progress({ phase: 'read', done: records, total: 0 });
  }
  return { records, digest: hash.digest('hex') };
}
