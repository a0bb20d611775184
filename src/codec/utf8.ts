import { isUtf8 } from 'node:buffer';
import { asBuffer } from '../base/collections/byte-span.ts';
import { badRequest } from '../meta/status-error.ts';
import { positionIn } from './text-position.ts';

/** Decodes UTF-8. Throws BadRequest with the position of the first invalid byte; `format` names the document: 'JSON'. */
export function decodeUtf8(bytes: Uint8Array, format: string): string {
  const buffer = asBuffer(bytes);
  if (isUtf8(buffer)) return buffer.toString();
  // Decoding replaces invalid bytes, so re-encoding differs at the first one.
  const again = Buffer.from(buffer.toString());
  let at = 0;
  while (bytes[at] === again[at]) at++;
  const before = buffer.toString('utf8', 0, at);
  throw badRequest(`error decoding ${format}: ${positionIn(before, before.length)}: expected valid UTF-8`);
}
