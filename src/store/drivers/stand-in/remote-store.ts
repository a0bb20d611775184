import type { Duplex } from 'node:stream';
import { standInLimits } from '../../../base/stand-in-limits.ts';
import { checkBatch } from '../../batch.ts';
import {
  type BatchWrite,
  type ChangeBatch,
  type Committed,
  type ListOptions,
  type Page,
  type Revision,
  type Store,
  StoreError,
  type StoreErrorCode,
  type StoreRecord,
} from '../../store.ts';
import { encodeFrame, FrameError, readFrames } from './frames.ts';
import { type Answer, type Call, errorOf } from './messages.ts';

/** Opens a connection to the store. Rejects if there is nobody. */
type Connect = () => Promise<Duplex>;

/** A store in another process, which others may use too. It ends with that process: then everything in it is lost. */
export const openRemoteStore = async (connect: Connect): Promise<Store> => new RemoteStore(await connect(), connect);

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Of the error if the connection breaks before the answer. */
  readonly onLoss: StoreErrorCode;
}

class RemoteStore implements Store {
  readonly #connect: Connect;
  readonly #connection: Duplex;
  readonly #waiting: Waiting[] = [];
  readonly #streams = new Set<Duplex>();
  readonly #ended: Promise<void>;
  #closed = false;

  constructor(connection: Duplex, connect: Connect) {
    this.#connection = connection;
    this.#connect = connect;
    this.#ended = this.#read();
  }

  head(): Promise<Revision> {
    return this.#call({ method: 'head' });
  }

  get(key: string, at?: Revision): Promise<StoreRecord | undefined> {
    return this.#call({ method: 'get', key, at });
  }

  list(prefix: string, { at, after, limit, remaining }: ListOptions = {}): Promise<Page> {
    const options = {
      ...(at !== undefined && { at }),
      ...(after !== undefined && { after }),
      ...(limit !== undefined && limit <= Number.MAX_SAFE_INTEGER && { limit }),
      ...(remaining && { remaining }),
    };
    return this.#call({ method: 'list', prefix, options });
  }

  create(key: string, value: Uint8Array): Promise<Committed> {
    return this.#write({ verb: 'create', key, value });
  }

  update(key: string, value: Uint8Array, expected: Revision): Promise<Committed> {
    return this.#write({ verb: 'update', key, value, expected });
  }

  delete(key: string, expected: Revision): Promise<Committed> {
    return this.#write({ verb: 'delete', key, expected });
  }

  async batch(writes: readonly BatchWrite[]): Promise<readonly Committed[]> {
    checkBatch(writes);
    return this.#call({ method: 'batch', writes }, 'unknownOutcome');
  }

  async *changes(from: Revision, signal: AbortSignal): AsyncGenerator<ChangeBatch, void> {
    if (signal.aborted) return;
    this.#assertOpen();
    const stream = await this.#connect().catch((error: unknown) => {
      throw new StoreError('unavailable', 'the store cannot be reached', { cause: error });
    });
    const abort = () => stream.destroy();
    signal.addEventListener('abort', abort, { once: true });
    this.#streams.add(stream);
    try {
      if (signal.aborted) return;
      if (this.#closed) throw closedError();
      stream.write(encodeFrame({ method: 'changes', from } satisfies Call));
      yield* batchesOf(stream);
      if (!signal.aborted) throw lostError('unavailable');
    } catch (error) {
      if (signal.aborted) return;
      throw error instanceof StoreError ? error : lostError('unavailable', error);
    } finally {
      signal.removeEventListener('abort', abort);
      this.#streams.delete(stream);
      stream.destroy();
    }
  }

  compact(upTo: Revision): Promise<void> {
    return this.#call({ method: 'compact', upTo });
  }

  size(): Promise<number> {
    return this.#call({ method: 'size' });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const stream of this.#streams) stream.destroy();
    // Its end is the last thing that is written: what was asked before is answered.
    this.#connection.end();
    await this.#ended;
  }

  #write(write: BatchWrite): Promise<Committed> {
    return this.#call({ method: 'write', write }, 'unknownOutcome');
  }

  async #call<T>(call: Call, onLoss: StoreErrorCode = 'unavailable'): Promise<T> {
    this.#assertOpen();
    const frame = encodeFrame(call);
    if (frame.length > standInLimits.frameBytesMax) {
      throw new StoreError('tooLarge', `a write has at most ${standInLimits.frameBytesMax} bytes`);
    }
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.push({ resolve, reject, onLoss });
    this.#connection.write(frame);
    return promise as Promise<T>;
  }

  async #read(): Promise<void> {
    let cause: unknown;
    try {
      for await (const message of readFrames(this.#connection, Number.POSITIVE_INFINITY)) this.#settle(message);
    } catch (error) {
      cause = error;
    }
    this.#connection.destroy();
    for (const { reject, onLoss } of this.#waiting.splice(0)) reject(lostError(onLoss, cause));
  }

  #settle(message: unknown): void {
    const waiting = this.#waiting.shift();
    if (!waiting) throw new FrameError('an answer that nobody asked for');
    const answer = message as Answer;
    if ('failure' in answer) waiting.reject(errorOf(answer.failure));
    else waiting.resolve(answer.result);
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError();
    if (this.#connection.destroyed || this.#connection.readableEnded) throw lostError('unavailable');
  }
}

async function* batchesOf(stream: Duplex): AsyncGenerator<ChangeBatch, void> {
  for await (const message of readFrames(stream, Number.POSITIVE_INFINITY)) {
    const answer = message as Answer;
    if ('failure' in answer) throw errorOf(answer.failure);
    yield answer.result as ChangeBatch;
  }
}

const closedError = (): StoreError => new StoreError('unavailable', 'the store is closed');
const lostError = (code: StoreErrorCode, cause?: unknown): StoreError =>
  new StoreError(code, 'the connection to the store is lost', { cause });
