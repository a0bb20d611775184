/** Limits of stores, their history and the cache in front of them, part of `limits`: bytes, milliseconds, counts. */
export const storageLimits = {
  /** Records read from the store at once for a list that the cache cannot answer. */
  storePageMax: 10_000,
  /** History of the store available to watches, exact reads and continue tokens (spec section 8). */
  historyMs: 5 * 60_000,
  /** Bytes of that history; beyond this, the oldest is compacted early. */
  historyBytesMax: 1024 * 1024 * 1024,
  /** How long a read may wait for a future resourceVersion (spec section 4.5). */
  futureRevisionWaitMs: 3_000,
  /**
   * Changes, and bytes of their values, that a store keeps in memory for its change streams; streams further behind
   * read its history.
   */
  storeRecentChangesMax: 10_000,
  storeRecentBytesMax: 8 * 1024 * 1024,
  /**
   * Disk space that SQLite reserves for deletions: enough to move the write-ahead log, 16 MiB, into a file that cannot
   * grow otherwise. Reserved this long after the start, and retried at this interval if there is no room.
   */
  sqliteReserveBytes: 20 * 1024 * 1024,
  sqliteReserveDelayMs: 5_000,
  sqliteReserveRetryMs: 60_000,
  /** How often a full store checks for free space. */
  sqliteFullRetryMs: 1_000,
  /** Added to the revision of a copied store, so that it is above any that a client of the original has seen. */
  copyRevisionStep: 1_000_000_000,
  /** Change events that the cache keeps per resource to start watches from. */
  cacheHistoryEventsMax: 10_000,
  /** Bytes of objects that those events keep alive, per resource. */
  cacheHistoryBytesMax: 32 * 1024 * 1024,
  /** The same for all resources together: the largest are reduced first. */
  cacheHistoriesBytesMax: 128 * 1024 * 1024,
  /** Encoded forms of those events for watchers, in total. */
  cacheEncodingsBytesMax: 32 * 1024 * 1024,
  /** How often expired history and snapshots of idle resources are removed. */
  cacheSweepMs: 60_000,
  /** Entries of a resource that may be scattered in memory before compaction is considered. */
  cacheScatteredMin: 256,
  /** Changes waiting for delivery to watchers before the cache stops reading more. */
  cacheFanOutMax: 10_000,
  /** Snapshots per resource that the cache keeps for exact reads; older ones are read from the store. */
  cacheSnapshotsMax: 256,
  /** How long health checks of the store share a result. */
  storeHealthMs: 1_000,
  /** A store that takes longer to report its head is unhealthy. */
  storeHealthWaitMs: 2_000,
  /** The server reports not ready if the cache has lacked a revision of the store for longer. */
  cacheBehindMsMax: 10_000,
  /** Memory of objects that are neighbours. Small enough that one that stays retains little of others. */
  slabBytes: 128 * 1024,
  /** Records that the cache reads from the store at once, to load or to compare: at first, later, and their bytes, about. */
  cacheFirstPageMax: 100,
  cacheLoadPageMax: 1_000,
  cacheLoadPageBytes: 2 * 1024 * 1024,
  /** First delay after the store's change stream broke; doubled up to the maximum. */
  changeStreamRetryMsMin: 100,
  changeStreamRetryMsMax: 5_000,
  /** A response of etcd; etcd's own limit for a request is 1.5 MiB (`--max-request-bytes`). */
  etcdMessageBytesMax: 64 * 1024 * 1024,
  /** Target size of a page of a list read from etcd, estimated from the previous page. */
  etcdPageBytes: 4 * 1024 * 1024,
  /** Records in the first page of a list, whose size is unknown, and in any page. */
  etcdFirstPageMax: 500,
  etcdPageMax: 10_000,
  /** One attempt of a read; one write. etcd itself gives up after 7 s. */
  etcdReadMsMax: 5_000,
  etcdWriteMsMax: 8_000,
  /** How long a member has for an update or deletion before a copy goes to another one. The last copy has the rest. */
  etcdCopyMsMax: 2_000,
  /** How often an update or deletion is sent at most, as long as its outcome is not known. */
  etcdCopiesMax: 3,
  /** A write with the search for its outcome, as far as that must read: 3 s are left of the 15 that requests may take. */
  etcdWriteTotalMsMax: 11_000,
  /**
   * How long the store searches for a write without a response, once etcd can be read; etcd applies a write within
   * milliseconds.
   */
  etcdSettleMsMax: 2_000,
  /** The same for a write that was sent to a frozen member, which applies it when it goes on, if ever. */
  etcdSettleFrozenMsMax: 250,
  /** How long a call with a transient failure is retried, on all endpoints; if that long nothing has answered, how long then. */
  etcdRetryMsMax: 10_000,
  etcdOutageRetryMsMax: 1_000,
  /** How long a member with calls may be silent before it is asked whether it lives, and how long it has to answer. */
  etcdSuspectMs: 500,
  etcdProbeMsMax: 750,
  /** Longest delay of the back-off. */
  etcdBackoffMsMax: 500,
  /** Longest delay between requests for progress. */
  etcdProgressMsMax: 2_000,
  /** How long a broken watch on etcd tries to reconnect before it fails. */
  etcdWatchBrokenMsMax: 60_000,
  /** Records that a migration reads at once, and writes in one transaction, with the bytes of their keys and values. */
  migrationPageMax: 500,
  migrationBatchMax: 100,
  migrationBatchBytes: 512 * 1024,
  /** How long a server that ends tries to tell the others of its store so. */
  presenceRemovalMsMax: 1_000,
  /** Keys of others below the prefix in etcd that are logged; all are counted. */
  etcdForeignKeysLogged: 100,
  /** How often an idle watch on etcd polls the head. */
  etcdHeadPollMs: 5_000,
  /** A reader that takes longer for a batch is slow: etcd may compact what it has not read. */
  etcdSlowReaderMs: 1_000,
  /** Writes of one batch, and bytes of their keys and values. etcd accepts less: see `Store.batch`. */
  storeBatchWritesMax: 1_000,
  storeBatchBytesMax: 16 * 1024 * 1024,
} as const;
