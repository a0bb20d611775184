import type { Readable } from 'node:stream';
import { limits } from '../base/limits.ts';

/**
 * Reads and drops the rest of a request body. Pausing the stream instead would keep Node from noticing that the
 * client disconnected. `tooMuch` is called, possibly more than once, when the rest exceeds a limit.
 */
export function discardBody(body: Readable, tooMuch: () => void): void {
  let dropped = 0;
  body.removeAllListeners('data');
  body.on('data', (chunk: Buffer) => {
    dropped += chunk.length;
    if (dropped > limits.lingerBytesMax) tooMuch();
  });
  body.resume();
}
