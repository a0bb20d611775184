import { ObjectScanner } from '../../cache/entries/object-scanner.ts';
import { parseStored } from '../../codec/json.ts';
import type { ApiObject } from '../../meta/api-object.ts';

/** In the order in which they are stored. */
const left = [
  ['metadata', 'managedFields'],
  ['spec', 'versions'],
];
const scanner = new ObjectScanner(left);
const emptyList = Buffer.from('[]');

/**
 * Parses a stored definition without its versions and managedFields, which are nearly all of it: a large one takes more than
 * a turn of the event loop may. What is left out is only scanned.
 */
export function readHead(bytes: Buffer): ApiObject {
  if (!scanner.scan(bytes)) throw new TypeError('the value is not a stored object');
  const parts: Buffer[] = [];
  let from = 0;
  for (const path of left.keys()) {
    const start = scanner.start(path);
    if (start < from) continue;
    parts.push(bytes.subarray(from, start), emptyList);
    from = scanner.end(path);
  }
  return parseStored(Buffer.concat([...parts, bytes.subarray(from)])) as ApiObject;
}
