import { MessageReader, MessageWriter } from './protobuf-wire.ts';

/**
 * The part of etcd's v3 API that the driver speaks. Method names, message fields and their numbers are those of etcd's
 * published `rpc.proto` and `kv.proto`; fields that the driver does not use are absent here and skipped when read.
 */

/** A call with one answer. */
export interface UnaryMethod<Request, Response> {
  readonly path: string;
  readonly encode: (request: Request) => Buffer;
  readonly decode: (bytes: Buffer) => Response;
}

/** Every answer of the key-value service carries the revision of the whole etcd at that moment. */
export interface ResponseHeader {
  readonly revision: number;
}

export interface KeyValue {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  readonly createRevision: number;
  readonly modRevision: number;
}

export interface RangeRequest {
  readonly key: Uint8Array;
  /** Exclusive. Absent: the one key. */
  readonly rangeEnd?: Uint8Array;
  /** Absent: no limit. */
  readonly limit?: number;
  /** Absent: the newest. */
  readonly revision?: number;
  readonly keysOnly?: boolean;
  readonly countOnly?: boolean;
}

export interface RangeResponse {
  readonly header: ResponseHeader;
  readonly records: readonly KeyValue[];
  /** Keys in the whole range, whatever the limit. */
  readonly count: number;
}

interface PutRequest {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** A write that is done if the key's last modification has this revision (0: the key is absent). */
interface GuardedWrite {
  readonly key: Uint8Array;
  readonly modRevision: number;
  /** Absent: delete the key. */
  readonly value?: Uint8Array | undefined;
}

/** Does all of the writes if each of them can be done, else reads the keys. */
interface GuardedWrites {
  readonly writes: readonly GuardedWrite[];
  /** Put along with the writes. */
  readonly beside?: PutRequest | undefined;
}

interface GuardedWritesResponse {
  readonly header: ResponseHeader;
  readonly succeeded: boolean;
  /** The keys as they are, without values, in the order of the writes, when a guard failed; undefined where one is absent. */
  readonly current: readonly (KeyValue | undefined)[];
}

interface CompactionRequest {
  readonly revision: number;
}

interface StatusResponse {
  /** Of the member that answers: `3.5.17`. */
  readonly version: string;
  /** Bytes of the member's database file. */
  readonly dbSize: number;
}

export type WatchRequest =
  | {
      readonly type: 'create';
      readonly key: Uint8Array;
      /** Exclusive. Absent: the one key. */
      readonly rangeEnd?: Uint8Array;
      /** The first revision that is wanted. */
      readonly startRevision: number;
    }
  | { readonly type: 'progress' };

export interface WatchEvent {
  readonly type: 'put' | 'delete';
  /** With a delete: the key, and the revision of the deletion in `modRevision`. */
  readonly record: KeyValue;
  /** Undefined with a key's first put, and where the earlier value was compacted away. */
  readonly previous: KeyValue | undefined;
}

export interface WatchResponse {
  readonly header: ResponseHeader;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly cancelReason: string;
  /** Not 0: the watch was ended because history before this revision is gone. */
  readonly compactRevision: number;
  /** More events of this response follow in the next message. */
  readonly fragment: boolean;
  readonly events: readonly WatchEvent[];
}

export const rangeMethod: UnaryMethod<RangeRequest, RangeResponse> = {
  path: '/etcdserverpb.KV/Range',
  encode: (request) => encodeRange(request).finish(),
  decode: (bytes) => decodeRange(bytes),
};

export const putMethod: UnaryMethod<PutRequest, ResponseHeader> = {
  path: '/etcdserverpb.KV/Put',
  encode: (request) => encodePut(request).finish(),
  decode: (bytes) => decodeHeaderOnly(bytes),
};

export const guardedWritesMethod: UnaryMethod<GuardedWrites, GuardedWritesResponse> = {
  path: '/etcdserverpb.KV/Txn',
  encode: (request) => encodeGuardedWrites(request).finish(),
  decode: (bytes) => decodeGuardedWrites(bytes),
};

export const compactMethod: UnaryMethod<CompactionRequest, ResponseHeader> = {
  path: '/etcdserverpb.KV/Compact',
  encode: (request) => new MessageWriter().int64(1, request.revision).finish(),
  decode: (bytes) => decodeHeaderOnly(bytes),
};

export const statusMethod: UnaryMethod<undefined, StatusResponse> = {
  path: '/etcdserverpb.Maintenance/Status',
  encode: () => Buffer.alloc(0),
  decode: (bytes) => decodeStatus(bytes),
};

export const watchPath = '/etcdserverpb.Watch/Watch';

const encodeRange = ({ key, rangeEnd, limit, revision, keysOnly, countOnly }: RangeRequest): MessageWriter =>
  new MessageWriter()
    .bytes(1, key)
    .bytes(2, rangeEnd ?? noBytes)
    .int64(3, limit ?? 0)
    .int64(4, revision ?? 0)
    .bool(8, keysOnly ?? false)
    .bool(9, countOnly ?? false);

const encodePut = ({ key, value }: PutRequest): MessageWriter => new MessageWriter().bytes(1, key).bytes(2, value);

const encodeDelete = (key: Uint8Array): MessageWriter => new MessageWriter().bytes(1, key);

const encodeGuardedWrites = ({ writes, beside }: GuardedWrites): MessageWriter => {
  const txn = new MessageWriter();
  for (const { key, modRevision } of writes) txn.message(1, encodeModRevisionIs(key, modRevision));
  for (const write of writes) txn.message(2, encodeWrite(write));
  if (beside) txn.message(2, new MessageWriter().message(2, encodePut(beside)));
  for (const { key } of writes) txn.message(3, new MessageWriter().message(1, encodeRange({ key, keysOnly: true })));
  return txn;
};

/** RequestOp: a put or a deletion. */
const encodeWrite = ({ key, value }: GuardedWrite): MessageWriter =>
  value === undefined
    ? new MessageWriter().message(3, encodeDelete(key))
    : new MessageWriter().message(2, encodePut({ key, value }));

/** Compare: result EQUAL (0) needs no bytes; target MOD is 2. */
const encodeModRevisionIs = (key: Uint8Array, revision: number): MessageWriter =>
  new MessageWriter().int64(2, 2).bytes(3, key).int64(6, revision);

/** Asks for previous values, periodic progress, and large revisions in fragments. */
export const encodeWatchRequest = (request: WatchRequest): Buffer => {
  switch (request.type) {
    case 'create': {
      const create = new MessageWriter()
        .bytes(1, request.key)
        .bytes(2, request.rangeEnd ?? noBytes)
        .int64(3, request.startRevision)
        .bool(4, true)
        .bool(6, true)
        .bool(8, true);
      return new MessageWriter().message(1, create).finish();
    }
    case 'progress':
      return new MessageWriter().message(3, new MessageWriter()).finish();
  }
};

const decodeHeader = (bytes: Uint8Array): ResponseHeader => {
  const reader = new MessageReader(bytes);
  let revision = 0;
  while (reader.next()) if (reader.field === 3) revision = reader.int64();
  return { revision };
};

export const decodeHeaderOnly = (bytes: Uint8Array): ResponseHeader => {
  const reader = new MessageReader(bytes);
  let header = noHeader;
  while (reader.next()) if (reader.field === 1) header = decodeHeader(reader.view());
  return header;
};

const decodeKeyValue = (bytes: Uint8Array): KeyValue => {
  const reader = new MessageReader(bytes);
  let key = noBytes;
  let value = noBytes;
  let createRevision = 0;
  let modRevision = 0;
  while (reader.next()) {
    if (reader.field === 1) key = reader.copy();
    else if (reader.field === 2) createRevision = reader.int64();
    else if (reader.field === 3) modRevision = reader.int64();
    // A copy, so that an object that is kept does not keep the page it came in.
    else if (reader.field === 5) value = reader.copy();
  }
  return { key, value, createRevision, modRevision };
};

const decodeRange = (bytes: Uint8Array): RangeResponse => {
  const reader = new MessageReader(bytes);
  const records: KeyValue[] = [];
  let header = noHeader;
  let count = 0;
  while (reader.next()) {
    if (reader.field === 1) header = decodeHeader(reader.view());
    else if (reader.field === 2) records.push(decodeKeyValue(reader.view()));
    else if (reader.field === 4) count = reader.int64();
  }
  return { header, records, count };
};

const decodeGuardedWrites = (bytes: Uint8Array): GuardedWritesResponse => {
  const reader = new MessageReader(bytes);
  let header = noHeader;
  let succeeded = false;
  const current: (KeyValue | undefined)[] = [];
  while (reader.next()) {
    if (reader.field === 1) header = decodeHeader(reader.view());
    else if (reader.field === 2) succeeded = reader.bool();
    else if (reader.field === 3) current.push(decodeReadOfResponseOp(reader.view()));
  }
  return { header, succeeded, current };
};

/** ResponseOp: the first record of a range response; undefined with the answer to a write. */
const decodeReadOfResponseOp = (bytes: Uint8Array): KeyValue | undefined => {
  const reader = new MessageReader(bytes);
  let record: KeyValue | undefined;
  while (reader.next()) if (reader.field === 1) record = decodeRange(reader.view()).records[0];
  return record;
};

const decodeStatus = (bytes: Uint8Array): StatusResponse => {
  const reader = new MessageReader(bytes);
  let version = '';
  let dbSize = 0;
  while (reader.next()) {
    if (reader.field === 2) version = decodeText(reader.view());
    else if (reader.field === 3) dbSize = reader.int64();
  }
  return { version, dbSize };
};

export const decodeWatchResponse = (bytes: Buffer): WatchResponse => {
  const reader = new MessageReader(bytes);
  const events: WatchEvent[] = [];
  let header = noHeader;
  let created = false;
  let canceled = false;
  let compactRevision = 0;
  let cancelReason = '';
  let fragment = false;
  while (reader.next()) {
    if (reader.field === 1) header = decodeHeader(reader.view());
    else if (reader.field === 3) created = reader.bool();
    else if (reader.field === 4) canceled = reader.bool();
    else if (reader.field === 5) compactRevision = reader.int64();
    else if (reader.field === 6) cancelReason = decodeText(reader.view());
    else if (reader.field === 7) fragment = reader.bool();
    else if (reader.field === 11) events.push(decodeEvent(reader.view()));
  }
  return { header, created, canceled, compactRevision, cancelReason, fragment, events };
};

const decodeEvent = (bytes: Uint8Array): WatchEvent => {
  const reader = new MessageReader(bytes);
  let type: WatchEvent['type'] = 'put';
  let record = noRecord;
  let previous: KeyValue | undefined;
  while (reader.next()) {
    if (reader.field === 1) type = reader.int64() === 1 ? 'delete' : 'put';
    else if (reader.field === 2) record = decodeKeyValue(reader.view());
    else if (reader.field === 3) previous = decodeKeyValue(reader.view());
  }
  return { type, record, previous };
};

const decodeText = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

const noBytes: Uint8Array = new Uint8Array(0);
const noHeader: ResponseHeader = { revision: 0 };
const noRecord: KeyValue = { key: noBytes, value: noBytes, createRevision: 0, modRevision: 0 };
