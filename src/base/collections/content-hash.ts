import { createHash } from 'node:crypto';
import type { Steps } from '../time/in-slices.ts';

/** Characters that are hashed together. */
const chunkLength = 16 * 1024;

/** SHA-256 of JSON values, with a pause now and then for whoever iterates. Values with fields in another order differ. */
export function* contentHash(...values: readonly unknown[]): Steps<string> {
  const hash = createHash('sha256');
  let text = '';
  const add = function* (value: unknown): Steps<void> {
    if (text.length >= chunkLength) {
      hash.update(text);
      text = '';
      yield;
    }
    if (Array.isArray(value)) {
      text += '[';
      for (const element of value) yield* add(element);
      text += ']';
    } else if (typeof value === 'object' && value !== null) {
      text += '{';
      for (const name of Object.keys(value)) {
        text += JSON.stringify(name);
        yield* add((value as Readonly<Record<string, unknown>>)[name]);
      }
      text += '}';
    } else text += typeof value === 'bigint' ? `n${value},` : `${JSON.stringify(value)},`;
  };
  for (const value of values) yield* add(value);
  return hash.update(text).digest('base64');
}
