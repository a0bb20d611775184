/** The clients of a data file, on the thread that owns it: the one that started the thread, and those it lets in. */
import { setImmediate as turn } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import { isStoreError, type Revision, StoreError } from '../../store.ts';
import type { KeyRange } from './key-range.ts';
import { assertKept, type LogFile, type LogFileOptions, type OpenedLog } from './log-file.ts';
import {
  type GroupOutcome,
  type PackedBatch,
  type PackedWrite,
  packCommitted,
  packOutcomes,
  unpackWrites,
} from './messages.ts';
import { type PackedRecords, RecordPacker } from './packed-records.ts';
import { Packer } from './packing.ts';
import { SharedHead } from './shared-head.ts';

/** What clients may call, each on a port of its own: most calls are those of the file. */
export interface ClientCalls extends Omit<LogFile, 'commitWrites' | 'open' | 'scan'> {
  /** Records in order of key: a part of them, which may end early. Empty only if nothing follows. */
  scan(range: KeyRange, wanted: WantedRecords): PackedRecords | Promise<PackedRecords>;
  /** By the first client, once. */
  open(options: LogFileOptions): OpenedFile;
  /** For the first client: lets another one in. */
  admit(port: MessagePort): void;
  /** Begins the feed: the client is told of every change of the others after the state returned, in order. */
  join(): JoinedLog;
  /** Keeps the rows that reads at a revision need, until `release`. */
  hold(reading: number, at: Revision): void;
  release(reading: number): void;
  /** Ends the client. */
  leave(): void;
}

export interface WantedRecords {
  readonly limit: number;
  readonly room: number | undefined;
}

/** `durable`: the memory of a SharedHead. */
interface OpenedFile extends OpenedLog {
  readonly durable: SharedArrayBuffer;
}

/** The state in which a client finds the file. */
type JoinedLog = Pick<OpenedFile, 'head' | 'compacted' | 'durable'>;

/** What a client is told without having asked. */
export type FileNews =
  /**
   * Packed changes of a transaction, which follow what the client knows so far. Shared by all who are told. `own`: where
   * those of groups are that the client has sent itself, in order; their answers tell of them.
   */
  | { readonly type: 'changes'; readonly changes: SharedArrayBuffer; readonly own: readonly PackedStretch[] }
  /** Another client has compacted history. */
  | { readonly type: 'compacted'; readonly upTo: Revision }
  /** To the first client: a write of another one found only the room reserved for deletions. */
  | { readonly type: 'full' };

/** From the first to behind the last byte. */
export type PackedStretch = readonly [number, number];

/** One client, as the owner of the file sees it. */
export interface FileClient {
  answer(call: number, result: unknown): void;
  refuse(call: number, error: unknown): void;
  tell(news: FileNews): void;
  end(): void;
  /** Revisions of reads in progress. */
  readonly reading: Map<number, Revision>;
  /** The client is told of changes. */
  follows: boolean;
}

interface WaitingGroup {
  readonly client: FileClient;
  readonly call: number;
  readonly writes: readonly (PackedWrite | PackedBatch)[];
}

interface CommittedGroup extends WaitingGroup, Pick<GroupOutcome, 'outcomes'> {}

/** Bytes of values, and records, after which a part of what is scanned is sent: a millisecond of work for who receives it. */
const scannedBytesMax = 2 * 1024 * 1024;
const scannedRecordsMax = 1_000;

/** Bytes of writes that are committed together. */
const togetherBytesMax = 8 * 1024 * 1024;

/**
 * Executes the calls of all clients, one at a time. Answers and news reach each client in the order of revisions, so
 * that it can put its own writes and those of others in one sequence. Groups of writes that wait at the same time are
 * one transaction, whoever sent them.
 */
export class FileClients {
  readonly #file: LogFile;
  readonly #clients = new Set<FileClient>();
  readonly #durable = new SharedHead();
  #first: FileClient | undefined;
  #head: Revision = 0;
  #compacted: Revision = 0;
  #waiting: WaitingGroup[] = [];
  #bytes = 0;

  constructor(file: LogFile) {
    this.#file = file;
  }

  add(client: FileClient): void {
    this.#first ??= client;
    this.#clients.add(client);
  }

  /** A client that has gone, by its own will or with its thread. */
  remove(client: FileClient): void {
    this.#clients.delete(client);
  }

  /** Takes a group of writes. With other clients about, it waits for what they have sent by now. */
  commit(client: FileClient, call: number, group: ArrayBuffer): void {
    this.#bytes += group.byteLength;
    let writes: WaitingGroup['writes'];
    try {
      writes = unpackWrites(group);
    } catch (error) {
      client.refuse(call, error);
      return;
    }
    this.#waiting.push({ client, call, writes });
    if (this.#clients.size === 1 || this.#bytes >= togetherBytesMax) this.flush();
    else if (this.#waiting.length === 1) setImmediate(() => this.flush());
  }

  /** Commits what waits. Before any other call, so that each client's calls take effect in order. */
  flush(): void {
    const groups = this.#waiting;
    if (groups.length === 0) return;
    this.#waiting = [];
    this.#bytes = 0;
    if (groups.length > 1) {
      try {
        this.#commitTogether(groups);
        return;
      } catch (error) {
        if (isStoreError(error, 'unknownOutcome')) {
          for (const { client, call } of groups) client.refuse(call, error);
          return;
        }
        // The cause may lie in one of them.
      }
    }
    for (const group of groups) {
      try {
        this.#commitTogether([group]);
      } catch (error) {
        if (isStoreError(error, 'full')) this.#tellFull(group.client);
        group.client.refuse(group.call, error);
      }
    }
  }

  #commitTogether(groups: readonly WaitingGroup[]): void {
    const { isFull, outcomes } = this.#file.commitWrites(groups.flatMap(({ writes }) => writes));
    const last = lastOf(outcomes) ?? this.#head;
    if (last > this.#head) {
      this.#head = last;
      this.#durable.set(last);
    }
    const committed: CommittedGroup[] = [];
    let from = 0;
    for (const group of groups) {
      const own = outcomes.slice(from, from + group.writes.length);
      from += group.writes.length;
      committed.push({ ...group, outcomes: own });
      group.client.answer(group.call, packOutcomes({ isFull, outcomes: own }));
      if (isFull) this.#tellFull(group.client);
    }
    this.#tellOthers(committed);
  }

  #tellOthers(groups: readonly CommittedGroup[]): void {
    const followers = [...this.#clients].filter(
      (other) => other.follows && groups.some(({ client }) => client !== other),
    );
    if (followers.length === 0) return;
    const packer = new Packer(groups.reduce((bytes, { writes }) => bytes + sizeOf(writes), 0));
    const stretches = groups.map(({ client, writes, outcomes }) => {
      const from = packer.length;
      packCommitted(packer, writes, outcomes);
      return { client, stretch: [from, packer.length] as const };
    });
    if (packer.length === 0) return;
    const changes = sharedCopy(packer.finish());
    for (const follower of followers) {
      const own = stretches.filter(({ client }) => client === follower).map(({ stretch }) => stretch);
      follower.tell({ type: 'changes', changes, own });
    }
  }

  #tellFull(client: FileClient): void {
    if (client !== this.#first) this.#first?.tell({ type: 'full' });
  }

  open(options: LogFileOptions): OpenedFile {
    const opened = this.#file.open(options);
    this.#head = opened.head;
    this.#compacted = opened.compacted;
    this.#durable.set(opened.head);
    return { ...opened, durable: this.#durable.memory };
  }

  join(client: FileClient): JoinedLog {
    if (this.#head === 0) throw new StoreError('unavailable', 'the data file is not open');
    client.follows = true;
    return { head: this.#head, compacted: this.#compacted, durable: this.#durable.memory };
  }

  /** Other calls come between its slices. */
  async scan(range: KeyRange, { limit, room }: WantedRecords): Promise<PackedRecords> {
    const records = new RecordPacker(room);
    let { after } = range;
    for (let [left, bytes] = [Math.min(limit, scannedRecordsMax), 0]; left > 0 && bytes < scannedBytesMax; ) {
      if (bytes > 0) await turn();
      const slice = this.#file.scan({ ...range, after }, left, records);
      if (slice.last === undefined) break;
      after = slice.last;
      left -= slice.count;
      bytes += slice.bytes;
    }
    return records.finish();
  }

  hold(client: FileClient, reading: number, at: Revision): void {
    assertKept(at, this.#compacted);
    client.reading.set(reading, at);
  }

  forget(client: FileClient, upTo: Revision): void {
    this.#file.forget(upTo);
    this.#compacted = Math.max(this.#compacted, upTo);
    for (const other of this.#clients) if (other !== client) other.tell({ type: 'compacted', upTo });
  }

  /** What others still read is left for the next time. */
  sweep(): boolean {
    for (const { reading } of this.#clients) for (const at of reading.values()) if (at < this.#compacted) return false;
    return this.#file.sweep();
  }

  /** Ends all clients, which ends the thread. */
  end(): void {
    for (const client of this.#clients) client.end();
    this.#clients.clear();
  }
}

/** An upper bound on what most groups take as changes; what they replace comes on top. */
const sizeOf = (writes: WaitingGroup['writes']): number => {
  let bytes = 0;
  for (const write of writes) {
    for (const { key, value } of write.verb === 'batch' ? write.writes : [write])
      bytes += 48 + key.length + value.length * 2;
  }
  return bytes;
};

const lastOf = (outcomes: GroupOutcome['outcomes']): Revision | undefined => {
  for (const outcome of outcomes.toReversed()) {
    if (outcome.status === 'committed') return outcome.revision;
    if (outcome.status === 'batchCommitted') return outcome.first + outcome.previous.length - 1;
  }
  return undefined;
};

const sharedCopy = (message: ArrayBuffer): SharedArrayBuffer => {
  const copy = new SharedArrayBuffer(message.byteLength);
  new Uint8Array(copy).set(new Uint8Array(message));
  return copy;
};
