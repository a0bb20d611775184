import { hash } from 'node:crypto';
import { WeakValues } from './weak-values.ts';

const identities = new WeakMap<object, number>();
let identitiesGiven = 0;

/** A number unique to the object within the process. */
export function identityOf(object: object): number {
  let identity = identities.get(object);
  if (identity === undefined) {
    identity = ++identitiesGiven;
    identities.set(object, identity);
  }
  return identity;
}

/**
 * Interns data by content: equal data becomes one object, so that what is derived from it is built once and cached by
 * identity. Functions, and objects that are not plain data, are compared by identity.
 */
export class SharedContent<Value extends object> {
  readonly #known = new WeakValues<Value>();

  /**
   * The first object with this content that is still in use; it may be `value` itself. Neither may be modified from
   * then on.
   */
  share(value: Value): Value {
    const key = hash('sha256', JSON.stringify(value, distinct), 'base64');
    const known = this.#known.get(key);
    if (known) return known;
    this.#known.set(key, value);
    return value;
  }
}

/** Values that JSON cannot represent are encoded as texts that no other content is encoded as. */
function distinct(this: Readonly<Record<string, unknown>>, name: string): unknown {
  // The value itself, not the result of its toJSON.
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
