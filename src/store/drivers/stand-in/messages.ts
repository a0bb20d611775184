import { type BatchWrite, type ListOptions, type Revision, StoreError, type StoreErrorCode } from '../../store.ts';

/** What a client asks. A connection that asks for `changes` is for them alone: all further frames are batches of changes. */
export type Call =
  | { readonly method: 'head' | 'size' }
  | { readonly method: 'get'; readonly key: string; readonly at?: Revision | undefined }
  | { readonly method: 'list'; readonly prefix: string; readonly options: ListOptions }
  | { readonly method: 'write'; readonly write: BatchWrite }
  | { readonly method: 'batch'; readonly writes: readonly BatchWrite[] }
  | { readonly method: 'compact'; readonly upTo: Revision }
  | { readonly method: 'changes'; readonly from: Revision };

/** The answer to a call; answers come in the order of the calls. */
export type Answer = { readonly result: unknown } | { readonly failure: Failure };

/** A StoreError as data. */
interface Failure {
  readonly code: StoreErrorCode;
  readonly message: string;
  readonly key?: string | undefined;
  readonly revision?: Revision | undefined;
}

export const failureOf = (error: unknown): Failure =>
  error instanceof StoreError
    ? { code: error.code, message: error.message, key: error.key, revision: error.revision }
    : { code: 'unavailable', message: error instanceof Error ? error.message : String(error) };

export const errorOf = ({ code, message, key, revision }: Failure): StoreError =>
  new StoreError(code, message, { ...(key !== undefined && { key }), ...(revision !== undefined && { revision }) });

/** Checks what came over the connection; undefined if it is no call. */
export function readCall(message: unknown): Call | undefined {
  const call = fields(message);
  switch (call['method']) {
    case 'head':
    case 'size':
      return { method: call['method'] };
    case 'get':
      return isText(call['key']) && isAbsentOr(isCount, call['at'])
        ? { method: 'get', key: call['key'], at: call['at'] }
        : undefined;
    case 'list':
      return isText(call['prefix']) && isListOptions(call['options'])
        ? { method: 'list', prefix: call['prefix'], options: call['options'] }
        : undefined;
    case 'write':
      return isWrite(call['write']) ? { method: 'write', write: call['write'] } : undefined;
    case 'batch':
      return Array.isArray(call['writes']) && call['writes'].every(isWrite)
        ? { method: 'batch', writes: call['writes'] }
        : undefined;
    case 'compact':
      return isCount(call['upTo']) ? { method: 'compact', upTo: call['upTo'] } : undefined;
    case 'changes':
      return isCount(call['from']) ? { method: 'changes', from: call['from'] } : undefined;
    default:
      return undefined;
  }
}

const fields = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

const isText = (value: unknown): value is string => typeof value === 'string';
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isAbsentOr = <T>(is: (value: unknown) => value is T, value: unknown): value is T | undefined =>
  value === undefined || is(value);

function isListOptions(value: unknown): value is ListOptions {
  const { at, after, limit, remaining } = fields(value);
  return (
    isAbsentOr(isCount, at) &&
    isAbsentOr(isText, after) &&
    isAbsentOr(isCount, limit) &&
    [undefined, 'exact', 'whether'].includes(remaining as string | undefined)
  );
}

function isWrite(value: unknown): value is BatchWrite {
  const { verb, key, value: bytes, expected } = fields(value);
  if (!isText(key) || key === '') return false;
  switch (verb) {
    case 'create':
      return bytes instanceof Uint8Array;
    case 'update':
      return bytes instanceof Uint8Array && isCount(expected);
    case 'delete':
      return isCount(expected);
    default:
      return false;
  }
}
