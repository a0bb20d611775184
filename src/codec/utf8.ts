import { isUtf8 } from 'node:buffer';
import { badRequest } from '../meta/status-error.ts';
import { positionIn } from './text-position.ts';

/** A view of the same bytes; a buffer itself. */
export const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** The text of a document. Throws BadRequest that says where it is not UTF-8; `format` names the document: 'JSON'. */
export function decodeUtf8(bytes: Uint8Array, format: string): string {
  const buffer = asBuffer(bytes);
  if (isUtf8(buffer)) return buffer.toString();
  // What is not UTF-8 is replaced, and so differs when it is made bytes again.
  const again = Buffer.from(buffer.toString());
  let at = 0;
  while (bytes[at] === again[at]) at++;
  const before = buffer.toString('utf8', 0, at);
  throw badRequest(`error decoding ${format}: ${positionIn(before, before.length)}: expected valid UTF-8`);
}
