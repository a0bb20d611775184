import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { standInLimits } from '../../../base/stand-in-limits.ts';
import type { BatchWrite, Committed, Revision, Store } from '../../store.ts';
import { encodeFrame, readFrames } from './frames.ts';
import { type Call, failureOf, readCall } from './messages.ts';

/**
 * Answers the calls of one connection until it ends, each when the one before is done and its answer is on its way: a
 * client that does not read is not heard further. Whoever does not keep to the format is cut off. Never rejects.
 */
export async function serveStore(store: Store, connection: Duplex): Promise<void> {
  const gone = new AbortController();
  connection.once('close', () => gone.abort());
  const send: Send = async (message) => {
    if (!connection.write(encodeFrame(message))) await once(connection, 'drain', { signal: gone.signal });
  };
  let changes: Promise<void> | undefined;
  let orderly = false;
  try {
    for await (const message of readFrames(connection, standInLimits.frameBytesMax)) {
      const call = readCall(message);
      // A stream of changes ends with its connection, and takes no further calls.
      if (!call || changes) return;
      if (call.method === 'changes') changes = sendChanges(store, call.from, send, gone.signal);
      else await send(await answer(store, call));
    }
    orderly = true;
  } catch {
    // The connection broke, or what came was no frame: there is nobody to tell.
  } finally {
    gone.abort();
    // The last answers are still on their way.
    if (orderly) connection.end(() => connection.destroy());
    else connection.destroy();
    await changes;
  }
}

type Send = (message: unknown) => Promise<void>;

async function answer(store: Store, call: Exclude<Call, { readonly method: 'changes' }>): Promise<unknown> {
  try {
    return { result: await perform(store, call) };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

function perform(store: Store, call: Exclude<Call, { readonly method: 'changes' }>): Promise<unknown> {
  switch (call.method) {
    case 'head':
      return store.head();
    case 'size':
      return store.size();
    case 'get':
      return store.get(call.key, call.at);
    case 'list':
      return store.list(call.prefix, call.options);
    case 'write':
      return performWrite(store, call.write);
    case 'batch':
      return store.batch(call.writes.map(ownBytes));
    case 'compact':
      return store.compact(call.upTo);
  }
}

function performWrite(store: Store, given: BatchWrite): Promise<Committed> {
  const write = ownBytes(given);
  switch (write.verb) {
    case 'create':
      return store.create(write.key, write.value);
    case 'update':
      return store.update(write.key, write.value, write.expected);
    case 'delete':
      return store.delete(write.key, write.expected);
  }
}

/** What is kept must not hold on to all that was received with it. */
const ownBytes = (write: BatchWrite): BatchWrite =>
  write.verb === 'delete' ? write : { ...write, value: new Uint8Array(write.value) };

async function sendChanges(store: Store, from: Revision, send: Send, gone: AbortSignal): Promise<void> {
  try {
    for await (const result of store.changes(from, gone)) await send({ result });
  } catch (error) {
    // Without a connection there is nobody to tell.
    if (!gone.aborted) await send({ failure: failureOf(error) }).catch(() => {});
  }
}
