/**
 * An isolated control plane within the process: a scope above namespaces. It has its own resources, objects, service
 * accounts and roles. Scopes share the store, including its revision counter, and the machine. Store keys are always
 * built from a resource table, and each table belongs to one scope.
 */
export interface Scope {
  /** '' is the scope of external requests. */
  readonly name: string;
  /** Prefix of its keys in the store, without a trailing slash. */
  readonly keyPrefix: string;
}

/** The scope that always exists. It adds nothing to keys, tokens and names. */
export const defaultScope: Scope = { name: '', keyPrefix: '' };

/** Cannot collide with a resource's key prefix: API groups are domain names. */
const keyRoot = '/.scopes';

/** The scope of that name (a DNS label); '' is the default scope. Throws an Error if the name is invalid. */
export function scopeNamed(name: string): Scope {
  if (name === '') return defaultScope;
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)) {
    throw new Error(`${JSON.stringify(name)} is no name of a scope: expected a DNS label`);
  }
  return { name, keyPrefix: `${keyRoot}/${name}` };
}
