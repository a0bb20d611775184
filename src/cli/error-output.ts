import { constants, fstatSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { limits } from '../base/limits.ts';
import { pauseAlive, systemClock } from '../base/time/clock.ts';

/** Text on standard error, of which a bounded amount waits for a slow reader. */
interface ErrorOutput {
  /** Returns false if the text was not taken, because too much waits. */
  readonly write: (text: string) => boolean;
  /** Resolves when the reader has everything, or has taken too long. */
  readonly flush: () => Promise<void>;
}

const standardError = 2;

/**
 * The runtime writes to pipes and sockets synchronously: a reader that stops would stop the server. A pipe is opened
 * anew, because not to block is a property that all processes with the same open file share.
 */
export function errorOutput(): ErrorOutput {
  const socket = openSocket();
  if (!socket) return { write: (text) => process.stderr.write(text) || true, flush: async () => {} };
  // A reader such as `head` may close our output early: that is no error.
  socket.on('error', () => {});
  socket.unref();
  let full = false;
  return {
    write(text) {
      // What cannot be written any more does not wait either.
      if (socket.destroyed) return true;
      // Once full, it takes nothing until half of it is read: gaps are few and long.
      full = socket.writableLength + text.length > (full ? limits.logWaitingMax / 2 : limits.logWaitingMax);
      if (full) return false;
      socket.write(text);
      return true;
    },
    flush: () => flushed(socket),
  };
}

/** Undefined for a terminal or a file, which have no reader to wait for. */
function openSocket(): Socket | undefined {
  try {
    const kind = fstatSync(standardError);
    if (kind.isSocket()) return new Socket({ fd: standardError, readable: false, writable: true });
    if (!kind.isFIFO()) return undefined;
    const fd = openSync('/proc/self/fd/2', constants.O_WRONLY | constants.O_NONBLOCK);
    return new Socket({ fd, readable: false, writable: true });
  } catch {
    // Closed, or a system without /proc.
    return undefined;
  }
}

async function flushed(socket: Socket): Promise<void> {
  if (socket.destroyed || socket.writableLength === 0) return;
  const read = new AbortController();
  socket.once('close', () => read.abort());
  socket.write('', () => read.abort());
  await pauseAlive(systemClock, limits.logFlushMsMax, read.signal);
}
