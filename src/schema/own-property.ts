/**
 * Sets a property that the client named. A plain assignment to `__proto__` would change the prototype instead
 * of making a property.
 */
export function setOwn(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  } else object[key] = value;
}

/** Reads a property of its own; never one of a prototype, such as `constructor`. */
export const getOwn = (object: Readonly<Record<string, unknown>>, key: string): unknown =>
  Object.hasOwn(object, key) ? object[key] : undefined;

/** A JSON object: neither a list nor null. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
