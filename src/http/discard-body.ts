import type { Readable } from 'node:stream';
import { limits } from '../base/limits.ts';

/**
 * Reads what is left of a request's body and drops it. A stream that is paused instead would hide from Node that its
 * client has gone. `tooMuch` is called, perhaps more than once, when more came than is worth reading.
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
