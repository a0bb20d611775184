/**
 * Contents of the packed messages between the store and its worker; reading and writing of each message side by side.
 */
import type { Change, Revision, StoreRecord } from '../../store.ts';
import { Packer, Unpacker } from './packing.ts';

/** A write as sent to the worker, with the key as UTF-8 bytes, as in the file. */
export interface PackedWrite {
  readonly verb: WriteVerb;
  readonly key: Uint8Array<ArrayBuffer>;
  readonly value: Uint8Array<ArrayBuffer>;
  /** 0 for create. */
  readonly expected: Revision;
}

/** Writes that are all applied or none. */
export interface PackedBatch {
  readonly verb: 'batch';
  readonly writes: readonly PackedWrite[];
}

/** `mark`: an update that is a step of a deletion. */
type WriteVerb = 'create' | 'update' | 'mark' | 'delete';

/** The outcome of one write of a group. */
export type WriteOutcome =
  /** `previous` is the replaced or deleted value; empty for create. Its revision is the one that the write expected. */
  { readonly status: 'committed'; readonly revision: Revision; readonly previous: Uint8Array } | WriteRefusal;

/** Why a write was refused. */
export type WriteRefusal =
  | { readonly status: 'exists'; readonly revision: Revision }
  | { readonly status: 'conflict'; readonly revision: Revision }
  | { readonly status: 'notFound' }
  /** The only room left is reserved for deletions. */
  | { readonly status: 'full' };

/** The outcome of a batch. */
export type BatchOutcome =
  /** The writes have consecutive revisions from `first` on; `previous` as for a single write. */
  | { readonly status: 'batchCommitted'; readonly first: Revision; readonly previous: readonly Uint8Array[] }
  /** The write at `index` was refused. */
  | { readonly status: 'batchRefused'; readonly index: number; readonly refusal: WriteRefusal };

/** The outcome of a group. */
export interface GroupOutcome {
  /** The room reserved for deletions is in use. */
  readonly isFull: boolean;
  /** One per write or batch. */
  readonly outcomes: readonly (WriteOutcome | BatchOutcome)[];
}

const verbs: readonly (WriteVerb | 'batch')[] = ['create', 'update', 'mark', 'delete', 'batch'];
const statuses: readonly (WriteOutcome | BatchOutcome)['status'][] = [
  'committed',
  'exists',
  'conflict',
  'notFound',
  'full',
  'batchCommitted',
  'batchRefused',
];
const changeTypes: readonly Change['type'][] = ['create', 'update', 'delete'];
const nothing = new Uint8Array(0);

/** A write to send to the worker. */
export interface WriteRequest {
  readonly verb: WriteVerb;
  readonly key: string;
  /** Empty for delete. */
  readonly value: Uint8Array;
  /** 0 for create. */
  readonly expected: Revision;
}

export const packBatch = (packer: Packer, writes: readonly WriteRequest[]): void => {
  packer.number(verbs.indexOf('batch'));
  packer.number(writes.length);
  for (const write of writes) packWrite(packer, write);
};

export const packWrite = (packer: Packer, write: WriteRequest): void => {
  packer.number(verbs.indexOf(write.verb));
  packer.number(write.expected);
  packer.text(write.key);
  packer.bytes(write.value);
};

/** An upper bound on the bytes that `packWrite` needs. */
export const packedSizeMax = ({ key, value }: WriteRequest): number => 24 + 3 * key.length + value.length;

export const unpackWrites = (message: ArrayBuffer): readonly (PackedWrite | PackedBatch)[] => {
  const unpacker = new Unpacker(message);
  const writes: (PackedWrite | PackedBatch)[] = [];
  while (!unpacker.done) {
    const verb = named(verbs, unpacker.number());
    if (verb === 'batch') writes.push({ verb, writes: unpackBatch(unpacker) });
    else writes.push(unpackWrite(unpacker, verb));
  }
  return writes;
};

const unpackBatch = (unpacker: Unpacker): readonly PackedWrite[] =>
  Array.from({ length: unpacker.number() }, () => {
    const verb = named(verbs, unpacker.number());
    if (verb === 'batch') throw new RangeError('a batch has no batches');
    return unpackWrite(unpacker, verb);
  });

const unpackWrite = (unpacker: Unpacker, verb: WriteVerb): PackedWrite => {
  const expected = unpacker.number();
  return { verb, expected, key: unpacker.bytes(), value: unpacker.bytes() };
};

export const packOutcomes = ({ isFull, outcomes }: GroupOutcome): ArrayBuffer => {
  const packer = new Packer(outcomes.length * 32);
  packer.number(isFull ? 1 : 0);
  for (const outcome of outcomes) packOutcome(packer, outcome);
  return packer.finish();
};

const packOutcome = (packer: Packer, outcome: WriteOutcome | BatchOutcome): void => {
  packer.number(statuses.indexOf(outcome.status));
  switch (outcome.status) {
    case 'committed':
      packer.number(outcome.revision);
      packer.bytes(outcome.previous);
      break;
    case 'exists':
    case 'conflict':
      packer.number(outcome.revision);
      break;
    case 'notFound':
    case 'full':
      break;
    case 'batchCommitted':
      packer.number(outcome.first);
      packer.number(outcome.previous.length);
      for (const previous of outcome.previous) packer.bytes(previous);
      break;
    case 'batchRefused':
      packer.number(outcome.index);
      packOutcome(packer, outcome.refusal);
      break;
  }
};

export const unpackOutcomes = (message: ArrayBuffer): GroupOutcome => {
  const unpacker = new Unpacker(message);
  const isFull = unpacker.number() === 1;
  const outcomes: (WriteOutcome | BatchOutcome)[] = [];
  while (!unpacker.done) outcomes.push(unpackOutcome(unpacker));
  return { isFull, outcomes };
};

const unpackOutcome = (unpacker: Unpacker): WriteOutcome | BatchOutcome => {
  const status = named(statuses, unpacker.number());
  switch (status) {
    case 'committed':
      return { status, revision: unpacker.number(), previous: unpacker.bytes() };
    case 'exists':
    case 'conflict':
      return { status, revision: unpacker.number() };
    case 'notFound':
    case 'full':
      return { status };
    case 'batchCommitted':
      return {
        status,
        first: unpacker.number(),
        previous: Array.from({ length: unpacker.number() }, () => unpacker.bytes()),
      };
    case 'batchRefused': {
      const index = unpacker.number();
      return { status, index, refusal: unpackOutcome(unpacker) as WriteRefusal };
    }
  }
};

export const packRecord = (packer: Packer, key: Uint8Array, revision: Revision, value: Uint8Array): void => {
  packer.number(revision);
  packer.bytes(key);
  packer.bytes(value);
};

/** The value is a view on the message. */
export const unpackRecord = (message: ArrayBuffer): StoreRecord | undefined => {
  const unpacker = new Unpacker(message);
  if (unpacker.done) return undefined;
  const revision = unpacker.number();
  return { key: unpacker.text(), value: unpacker.bytes(), revision };
};

/** A row of the log and the row that it replaced. */
interface LoggedChange {
  readonly revision: Revision;
  readonly key: Uint8Array;
  readonly deleted: boolean;
  readonly value: Uint8Array;
  readonly previous: { readonly revision: Revision; readonly value: Uint8Array } | undefined;
}

/** Adds what the writes of a group changed. */
export const packCommitted = (
  packer: Packer,
  writes: readonly (PackedWrite | PackedBatch)[],
  outcomes: readonly (WriteOutcome | BatchOutcome)[],
): void => {
  const pack = ({ verb, key, value, expected }: PackedWrite, revision: Revision, replaced: Uint8Array): void => {
    const previous = verb === 'create' ? undefined : { revision: expected, value: replaced };
    packChange(packer, { revision, deleted: verb === 'delete', key, value, previous });
  };
  for (const [index, write] of writes.entries()) {
    const outcome = outcomes[index];
    if (write.verb === 'batch' && outcome?.status === 'batchCommitted') {
      const { first, previous } = outcome;
      for (const [at, each] of write.writes.entries()) pack(each, first + at, previous[at] ?? nothing);
    } else if (write.verb !== 'batch' && outcome?.status === 'committed') {
      pack(write, outcome.revision, outcome.previous);
    }
  }
};

export const packChange = (packer: Packer, change: LoggedChange): void => {
  const type = change.deleted ? 'delete' : change.previous ? 'update' : 'create';
  packer.number(changeTypes.indexOf(type));
  packer.number(change.revision);
  packer.number(change.previous?.revision ?? 0);
  packer.bytes(change.key);
  packer.bytes(change.value);
  packer.bytes(change.previous?.value ?? nothing);
};

/** Of the bytes from `from` to behind `to`; all of them by default. Values are views on the message. */
export const unpackChanges = (
  message: ArrayBufferLike,
  from = 0,
  to: number = message.byteLength,
): readonly Change[] => {
  const unpacker = new Unpacker(message, from);
  const changes: Change[] = [];
  while (unpacker.position < to) {
    const type = named(changeTypes, unpacker.number());
    const revision = unpacker.number();
    const previousRevision = unpacker.number();
    const key = unpacker.text();
    const value = unpacker.bytes();
    const previous = { key, value: unpacker.bytes(), revision: previousRevision };
    switch (type) {
      case 'create':
        changes.push({ type, key, revision, value });
        break;
      case 'update':
        changes.push({ type, key, revision, value, previous });
        break;
      case 'delete':
        changes.push({ type, key, revision, previous });
        break;
    }
  }
  return changes;
};

const named = <Name>(names: readonly Name[], index: number): Name => {
  const name = names[index];
  if (name === undefined) throw new RangeError(`no name has number ${index}`);
  return name;
};
