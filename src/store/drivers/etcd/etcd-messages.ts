import { MalformedMessage, WireReader, WireWriter, wireType } from '../../../base/protobuf-wire.ts';

/**
 * The part of etcd's v3 API that the driver uses. Method names, message fields and their numbers are those of etcd's
 * published `rpc.proto` and `kv.proto`; fields that the driver does not use are omitted here and skipped on read.
 * Messages are written last field first, and fields with the default value of their type are omitted, as in proto3.
 */

/** A unary call. */
export interface UnaryMethod<Request, Response> {
  readonly path: string;
  readonly encode: (request: Request) => Buffer;
  readonly decode: (bytes: Buffer) => Response;
}

/** Every response of the KV service carries the revision of the whole etcd at that moment. */
export interface ResponseHeader {
  readonly revision: number;
}

export interface KeyValue {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  readonly createRevision: number;
  readonly modRevision: number;
  /** How many times the key was put since it was created. */
  readonly version: number;
}

export interface RangeRequest {
  readonly key: Uint8Array;
  /** Exclusive. Default: only `key`. */
  readonly rangeEnd?: Uint8Array;
  /** Default: no limit. */
  readonly limit?: number;
  /** Default: the latest. */
  readonly revision?: number;
  readonly keysOnly?: boolean;
  readonly countOnly?: boolean;
}

export interface RangeResponse {
  readonly header: ResponseHeader;
  readonly records: readonly KeyValue[];
  /** Number of keys in the whole range, regardless of `limit`. */
  readonly count: number;
}

interface PutRequest {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** A write conditional on the key's last modification having this revision (0: the key does not exist). */
interface GuardedWrite {
  readonly key: Uint8Array;
  readonly modRevision: number;
  /** Absent: delete the key. */
  readonly value?: Uint8Array | undefined;
}

/** Performs all writes if every guard holds, otherwise reads the keys. */
interface GuardedWrites {
  readonly writes: readonly GuardedWrite[];
  /** Put in the same transaction as the writes. */
  readonly beside?: PutRequest | undefined;
}

interface GuardedWritesResponse {
  readonly header: ResponseHeader;
  readonly succeeded: boolean;
  /**
   * The keys as they are, without values and in the order of the writes, if a guard failed; undefined for a key that
   * does not exist.
   */
  readonly current: readonly (KeyValue | undefined)[];
  /** A deletion found no key: of servers that stand in for etcd some do not count that as a failed guard. */
  readonly deletedNothing: boolean;
}

/** A put conditional on how many times the key was put since it was created (0: it does not exist). */
interface CountedWrite {
  readonly key: Uint8Array;
  readonly version: number;
  readonly value: Uint8Array;
}

interface CountedWriteResponse {
  readonly header: ResponseHeader;
  readonly succeeded: boolean;
  /** The version of the key, if that was another one. */
  readonly version: number;
}

interface CompactionRequest {
  readonly revision: number;
}

export interface StatusResponse {
  /** Identifies the cluster, the same for all of its members; 0 if the server has none. */
  readonly clusterId: number | bigint;
  /** Version of the member that answers, such as `3.5.17`. */
  readonly version: string;
  /** Bytes of the member's database file. */
  readonly dbSize: number;
  /** What is wrong in the cluster, such as `memberID:4 alarm:NOSPACE `, as far as this member has heard. */
  readonly errors: readonly string[];
}

export type WatchRequest =
  | {
      readonly type: 'create';
      readonly key: Uint8Array;
      /** Exclusive. Default: only `key`. */
      readonly rangeEnd?: Uint8Array;
      /** The first revision to deliver. */
      readonly startRevision: number;
    }
  | { readonly type: 'progress' };

export interface WatchEvent {
  readonly type: 'put' | 'delete';
  /** For a delete: the key, and the revision of the deletion in `modRevision`. */
  readonly record: KeyValue;
  /** Undefined for a key's first put, and if the previous value was compacted. */
  readonly previous: KeyValue | undefined;
}

export interface WatchResponse {
  readonly header: ResponseHeader;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly cancelReason: string;
  /** Not 0: the watch was canceled because history before this revision was compacted. */
  readonly compactRevision: number;
  /** More events of this response follow in the next message. */
  readonly fragment: boolean;
  readonly events: readonly WatchEvent[];
}

export const rangeMethod: UnaryMethod<RangeRequest, RangeResponse> = {
  path: '/etcdserverpb.KV/Range',
  encode: (request) => encode((writer) => writeRange(writer, request)),
  decode: (bytes) => readRange(new WireReader(bytes)),
};

export const putMethod: UnaryMethod<PutRequest, ResponseHeader> = {
  path: '/etcdserverpb.KV/Put',
  encode: (request) => encode((writer) => writePut(writer, request)),
  decode: (bytes) => decodeHeaderOnly(bytes),
};

export const guardedWritesMethod: UnaryMethod<GuardedWrites, GuardedWritesResponse> = {
  path: '/etcdserverpb.KV/Txn',
  encode: (request) => encode((writer) => writeGuardedWrites(writer, request)),
  decode: (bytes) => readGuardedWrites(new WireReader(bytes)),
};

export const countedWriteMethod: UnaryMethod<CountedWrite, CountedWriteResponse> = {
  path: '/etcdserverpb.KV/Txn',
  encode: (request) => encode((writer) => writeCountedWrite(writer, request)),
  decode: (bytes) => readCountedWrite(new WireReader(bytes)),
};

export const compactMethod: UnaryMethod<CompactionRequest, ResponseHeader> = {
  path: '/etcdserverpb.KV/Compact',
  encode: ({ revision }) => encode((writer) => writeInteger(writer, 1, revision)),
  decode: (bytes) => decodeHeaderOnly(bytes),
};

export const statusMethod: UnaryMethod<undefined, StatusResponse> = {
  path: '/etcdserverpb.Maintenance/Status',
  encode: () => Buffer.alloc(0),
  decode: (bytes) => readStatus(new WireReader(bytes)),
};

export const watchPath = '/etcdserverpb.Watch/Watch';

const encode = (write: (writer: WireWriter) => void): Buffer => {
  const writer = new WireWriter();
  write(writer);
  return writer.finish();
};

/** An int64 or enum. */
const writeInteger = (writer: WireWriter, field: number, value: number): void => {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`not an unsigned safe integer: ${value}`);
  if (value === 0) return;
  writer.uint(value);
  writer.tag(field, wireType.varint);
};

const writeBool = (writer: WireWriter, field: number, value: boolean): void =>
  writeInteger(writer, field, value ? 1 : 0);

const writeBytes = (writer: WireWriter, field: number, value: Uint8Array): void => {
  if (value.length === 0) return;
  const before = writer.length;
  writer.raw(value);
  writer.delimit(field, before);
};

/** Written even if empty: its presence selects the member of a oneof. */
const writeMessage = (writer: WireWriter, field: number, write: () => void): void => {
  const before = writer.length;
  write();
  writer.delimit(field, before);
};

const writeRange = (
  writer: WireWriter,
  { key, rangeEnd, limit, revision, keysOnly, countOnly }: RangeRequest,
): void => {
  writeBool(writer, 9, countOnly ?? false);
  writeBool(writer, 8, keysOnly ?? false);
  writeInteger(writer, 4, revision ?? 0);
  writeInteger(writer, 3, limit ?? 0);
  writeBytes(writer, 2, rangeEnd ?? noBytes);
  writeBytes(writer, 1, key);
};

const writePut = (writer: WireWriter, { key, value }: PutRequest): void => {
  writeBytes(writer, 2, value);
  writeBytes(writer, 1, key);
};

const writeGuardedWrites = (writer: WireWriter, { writes, beside }: GuardedWrites): void => {
  // A creation alone is sent as published, without a read: servers that stand in for etcd take it as nothing else.
  const [only] = writes;
  const isCreation = writes.length === 1 && only?.modRevision === 0 && only.value !== undefined;
  for (const { key } of isCreation ? [] : writes.toReversed()) {
    writeMessage(writer, 3, () => writeMessage(writer, 1, () => writeRange(writer, { key, keysOnly: true })));
  }
  if (beside) writeMessage(writer, 2, () => writeMessage(writer, 2, () => writePut(writer, beside)));
  for (const write of writes.toReversed()) writeMessage(writer, 2, () => writeRequest(writer, write));
  for (const write of writes.toReversed()) writeMessage(writer, 1, () => writeModRevisionIs(writer, write));
};

/** Compare: result EQUAL (0) and target VERSION (0) need no bytes; the version is written even if 0, as it is a oneof. */
const writeCountedWrite = (writer: WireWriter, { key, version, value }: CountedWrite): void => {
  writeMessage(writer, 3, () => writeMessage(writer, 1, () => writeRange(writer, { key })));
  writeMessage(writer, 2, () => writeMessage(writer, 2, () => writePut(writer, { key, value })));
  writeMessage(writer, 1, () => {
    writer.uint(version);
    writer.tag(4, wireType.varint);
    writeBytes(writer, 3, key);
  });
};

/** RequestOp: a put or a deletion. */
const writeRequest = (writer: WireWriter, { key, value }: GuardedWrite): void => {
  if (value === undefined) writeMessage(writer, 3, () => writeBytes(writer, 1, key));
  else writeMessage(writer, 2, () => writePut(writer, { key, value }));
};

/** Compare: result EQUAL (0) needs no bytes; target MOD is 2. */
const writeModRevisionIs = (writer: WireWriter, { key, modRevision }: GuardedWrite): void => {
  writeInteger(writer, 6, modRevision);
  writeBytes(writer, 3, key);
  writeInteger(writer, 2, 2);
};

/** Requests previous values, periodic progress, and large revisions in fragments. */
export const encodeWatchRequest = (request: WatchRequest): Buffer =>
  encode((writer) => {
    switch (request.type) {
      case 'create':
        writeMessage(writer, 1, () => {
          writeBool(writer, 8, true);
          writeBool(writer, 6, true);
          writeBool(writer, 4, true);
          writeInteger(writer, 3, request.startRevision);
          writeBytes(writer, 2, request.rangeEnd ?? noBytes);
          writeBytes(writer, 1, request.key);
        });
        break;
      case 'progress':
        writeMessage(writer, 3, () => {});
        break;
    }
  });

/** The value of an int64 or enum field. */
const readInteger = (reader: WireReader): number => {
  reader.expect(wireType.varint);
  const value = reader.int64();
  if (typeof value === 'bigint') throw new MalformedMessage(`field ${reader.field} is beyond 2^53`);
  return value;
};

const readBool = (reader: WireReader): boolean => readInteger(reader) !== 0;

const readBytes = (reader: WireReader): Uint8Array => {
  reader.expect(wireType.delimited);
  return reader.copy();
};

const readText = (reader: WireReader): string => {
  reader.expect(wireType.delimited);
  return reader.bytes().toString();
};

const readMessage = <T>(reader: WireReader, read: (reader: WireReader) => T): T => {
  reader.expect(wireType.delimited);
  const outer = reader.enter();
  const value = read(reader);
  reader.leave(outer);
  return value;
};

const readHeader = (reader: WireReader): ResponseHeader => {
  let revision = 0;
  while (reader.next()) {
    if (reader.field === 3) revision = readInteger(reader);
    else reader.skip();
  }
  return { revision };
};

export const decodeHeaderOnly = (bytes: Uint8Array): ResponseHeader => {
  const reader = new WireReader(bytes);
  let header = noHeader;
  while (reader.next()) {
    if (reader.field === 1) header = readMessage(reader, readHeader);
    else reader.skip();
  }
  return header;
};

const readKeyValue = (reader: WireReader): KeyValue => {
  let key = noBytes;
  let value = noBytes;
  let createRevision = 0;
  let modRevision = 0;
  let version = 0;
  while (reader.next()) {
    if (reader.field === 1) key = readBytes(reader);
    else if (reader.field === 2) createRevision = readInteger(reader);
    else if (reader.field === 3) modRevision = readInteger(reader);
    else if (reader.field === 4) version = readInteger(reader);
    else if (reader.field === 5) value = readBytes(reader);
    else reader.skip();
  }
  return { key, value, createRevision, modRevision, version };
};

const readRange = (reader: WireReader): RangeResponse => {
  const records: KeyValue[] = [];
  let header = noHeader;
  let count = 0;
  while (reader.next()) {
    if (reader.field === 1) header = readMessage(reader, readHeader);
    else if (reader.field === 2) records.push(readMessage(reader, readKeyValue));
    else if (reader.field === 4) count = readInteger(reader);
    else reader.skip();
  }
  return { header, records, count };
};

const readGuardedWrites = (reader: WireReader): GuardedWritesResponse => {
  let header = noHeader;
  let succeeded = false;
  let deletedNothing = false;
  const current: (KeyValue | undefined)[] = [];
  while (reader.next()) {
    if (reader.field === 1) header = readMessage(reader, readHeader);
    else if (reader.field === 2) succeeded = readBool(reader);
    else if (reader.field === 3) {
      const { record, deleted } = readMessage(reader, readResponseOp);
      current.push(record);
      deletedNothing ||= deleted === 0;
    } else reader.skip();
  }
  return { header, succeeded, current, deletedNothing };
};

const readCountedWrite = (reader: WireReader): CountedWriteResponse => {
  const { header, succeeded, current } = readGuardedWrites(reader);
  return { header, succeeded, version: current[0]?.version ?? 0 };
};

interface ResponseOp {
  /** The first record of a range response. */
  readonly record: KeyValue | undefined;
  /** Number of keys that a deletion found. */
  readonly deleted: number | undefined;
}

const readResponseOp = (reader: WireReader): ResponseOp => {
  let record: KeyValue | undefined;
  let deleted: number | undefined;
  while (reader.next()) {
    if (reader.field === 1) record = readMessage(reader, readRange).records[0];
    else if (reader.field === 3) deleted = readMessage(reader, readDeleted);
    else reader.skip();
  }
  return { record, deleted };
};

/** DeleteRangeResponse. */
const readDeleted = (reader: WireReader): number => {
  let deleted = 0;
  while (reader.next()) {
    if (reader.field === 2) deleted = readInteger(reader);
    else reader.skip();
  }
  return deleted;
};

const readStatus = (reader: WireReader): StatusResponse => {
  let clusterId: number | bigint = 0;
  let version = '';
  let dbSize = 0;
  const errors: string[] = [];
  while (reader.next()) {
    if (reader.field === 1) clusterId = readMessage(reader, readClusterId);
    else if (reader.field === 2) version = readText(reader);
    else if (reader.field === 3) dbSize = readInteger(reader);
    else if (reader.field === 8) errors.push(readText(reader));
    else reader.skip();
  }
  return { clusterId, version, dbSize, errors };
};

/** A uint64 of the response header. */
const readClusterId = (reader: WireReader): number | bigint => {
  let clusterId: number | bigint = 0;
  while (reader.next()) {
    if (reader.field === 1) clusterId = reader.int64();
    else reader.skip();
  }
  return clusterId;
};

export const decodeWatchResponse = (bytes: Buffer): WatchResponse => {
  const reader = new WireReader(bytes);
  const events: WatchEvent[] = [];
  let header = noHeader;
  let created = false;
  let canceled = false;
  let compactRevision = 0;
  let cancelReason = '';
  let fragment = false;
  while (reader.next()) {
    if (reader.field === 1) header = readMessage(reader, readHeader);
    else if (reader.field === 3) created = readBool(reader);
    else if (reader.field === 4) canceled = readBool(reader);
    else if (reader.field === 5) compactRevision = readInteger(reader);
    else if (reader.field === 6) cancelReason = readText(reader);
    else if (reader.field === 7) fragment = readBool(reader);
    else if (reader.field === 11) events.push(readMessage(reader, readEvent));
    else reader.skip();
  }
  return { header, created, canceled, compactRevision, cancelReason, fragment, events };
};

const readEvent = (reader: WireReader): WatchEvent => {
  let type: WatchEvent['type'] = 'put';
  let record = noRecord;
  let previous: KeyValue | undefined;
  while (reader.next()) {
    if (reader.field === 1) type = readInteger(reader) === 1 ? 'delete' : 'put';
    else if (reader.field === 2) record = readMessage(reader, readKeyValue);
    else if (reader.field === 3) previous = readMessage(reader, readKeyValue);
    else reader.skip();
  }
  return { type, record, previous };
};

const noBytes: Uint8Array = new Uint8Array(0);
const noHeader: ResponseHeader = { revision: 0 };
const noRecord: KeyValue = { key: noBytes, value: noBytes, createRevision: 0, modRevision: 0, version: 0 };
