import { hash } from 'node:crypto';
import { WeakValues } from './weak-values.ts';

const identities = new WeakMap<object, number>();
let identitiesGiven = 0;

/** A number that no other object of the process has. */
export function identityOf(object: object): number {
  let identity = identities.get(object);
  if (identity === undefined) {
    identity = ++identitiesGiven;
    identities.set(object, identity);
  }
  return identity;
}

/**
 * Gives data of the same content as one object, so that what is made of it is made once, and kept by identity. Functions,
 * and objects that are no plain data, have the same content when they are the same.
 */
export class SharedContent<Value extends object> {
  readonly #known = new WeakValues<Value>();

  /** The first with this content that is still in use; it may be `value` itself. Neither may be changed from then on. */
  share(value: Value): Value {
    const key = hash('sha256', JSON.stringify(value, distinct), 'base64');
    const known = this.#known.get(key);
    if (known) return known;
    this.#known.set(key, value);
    return value;
  }
}

/** What JSON cannot say is written as texts that no text of the content is written as. */
function distinct(this: Readonly<Record<string, unknown>>, name: string): unknown {
  // As it is, not as its toJSON says.
  const value = this[name];
  switch (typeof value) {
    case 'string':
      return `"${value}`;
    case 'bigint':
      return `n${value}`;
    case 'number':
      return Number.isFinite(value) ? value : `n${value}`;
    case 'function':
      return `o${identityOf(value)}`;
    case 'object':
      return value === null || isPlain(value) ? value : `o${identityOf(value)}`;
    default:
      return value;
  }
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null;
}
