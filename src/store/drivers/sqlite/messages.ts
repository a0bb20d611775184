/** What the packed messages between the store and its worker hold; each is written and read here. */
import type { Change, Revision, StoreRecord } from '../../store.ts';
import { Packer, Unpacker } from './packing.ts';

/** A write as it travels to the worker. The key is its UTF-8 bytes there, as in the file. */
export interface PackedWrite {
  readonly verb: WriteVerb;
  readonly key: Uint8Array<ArrayBuffer>;
  readonly value: Uint8Array<ArrayBuffer>;
  /** 0 with create. */
  readonly expected: Revision;
}

/** `mark`: an update that is a step of a deletion. */
export type WriteVerb = 'create' | 'update' | 'mark' | 'delete';

/** What became of one write of a group. */
export type WriteOutcome =
  /** `previous` is the replaced or deleted value; empty with create. Its revision is the one the write expected. */
  | { readonly status: 'committed'; readonly revision: Revision; readonly previous: Uint8Array }
  | { readonly status: 'exists'; readonly revision: Revision }
  | { readonly status: 'conflict'; readonly revision: Revision }
  | { readonly status: 'notFound' }
  /** No room is left but what is kept for deletions. */
  | { readonly status: 'full' };

/** What became of a group. */
interface GroupOutcome {
  /** The room that is kept for deletions is in use. */
  readonly isFull: boolean;
  readonly outcomes: readonly WriteOutcome[];
}

const verbs: readonly WriteVerb[] = ['create', 'update', 'mark', 'delete'];
const statuses: readonly WriteOutcome['status'][] = ['committed', 'exists', 'conflict', 'notFound', 'full'];
const changeTypes: readonly Change['type'][] = ['create', 'update', 'delete'];
const nothing = new Uint8Array(0);

export const packWrite = (
  packer: Packer,
  write: { readonly verb: WriteVerb; readonly key: string; readonly value: Uint8Array; readonly expected: Revision },
): void => {
  packer.number(verbs.indexOf(write.verb));
  packer.number(write.expected);
  packer.text(write.key);
  packer.bytes(write.value);
};

export const unpackWrites = (message: ArrayBuffer): readonly PackedWrite[] => {
  const unpacker = new Unpacker(message);
  const writes: PackedWrite[] = [];
  while (!unpacker.done) {
    const verb = named(verbs, unpacker.number());
    const expected = unpacker.number();
    writes.push({ verb, expected, key: unpacker.bytes(), value: unpacker.bytes() });
  }
  return writes;
};

export const packOutcomes = ({ isFull, outcomes }: GroupOutcome): ArrayBuffer => {
  const packer = new Packer(outcomes.length * 32);
  packer.number(isFull ? 1 : 0);
  for (const outcome of outcomes) {
    packer.number(statuses.indexOf(outcome.status));
    if ('revision' in outcome) packer.number(outcome.revision);
    if (outcome.status === 'committed') packer.bytes(outcome.previous);
  }
  return packer.finish();
};

export const unpackOutcomes = (message: ArrayBuffer): GroupOutcome => {
  const unpacker = new Unpacker(message);
  const isFull = unpacker.number() === 1;
  const outcomes: WriteOutcome[] = [];
  while (!unpacker.done) {
    const status = named(statuses, unpacker.number());
    if (status === 'notFound' || status === 'full') outcomes.push({ status });
    else if (status === 'committed') outcomes.push({ status, revision: unpacker.number(), previous: unpacker.bytes() });
    else outcomes.push({ status, revision: unpacker.number() });
  }
  return { isFull, outcomes };
};

export const packRecord = (packer: Packer, key: Uint8Array, revision: Revision, value: Uint8Array): void => {
  packer.number(revision);
  packer.bytes(key);
  packer.bytes(value);
};

/** Values are views on the message. */
export const unpackRecords = (message: ArrayBuffer): StoreRecord[] => {
  const unpacker = new Unpacker(message);
  const records: StoreRecord[] = [];
  while (!unpacker.done) {
    const revision = unpacker.number();
    records.push({ key: unpacker.text(), value: unpacker.bytes(), revision });
  }
  return records;
};

/** A row of the log and the row it replaced. */
interface LoggedChange {
  readonly revision: Revision;
  readonly key: Uint8Array;
  readonly deleted: boolean;
  readonly value: Uint8Array;
  readonly previous: { readonly revision: Revision; readonly value: Uint8Array } | undefined;
}

export const packChange = (packer: Packer, change: LoggedChange): void => {
  const type = change.deleted ? 'delete' : change.previous ? 'update' : 'create';
  packer.number(changeTypes.indexOf(type));
  packer.number(change.revision);
  packer.number(change.previous?.revision ?? 0);
  packer.bytes(change.key);
  packer.bytes(change.value);
  packer.bytes(change.previous?.value ?? nothing);
};

/** Values are views on the message. */
export const unpackChanges = (message: ArrayBuffer): readonly Change[] => {
  const unpacker = new Unpacker(message);
  const changes: Change[] = [];
  while (!unpacker.done) {
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
