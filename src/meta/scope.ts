/**
 * One of the isolated control planes of a process: a scope above namespaces. It has its own resources, objects, accounts
 * and roles; what it shares with others are the store, whose revisions count for all, and the machine. Whatever names an
 * object of the store takes its key from a table of resources, and a table is of one scope.
 */
export interface Scope {
  /** '' is the scope that requests from outside are in. */
  readonly name: string;
  /** What its keys in the store start with, without a slash at the end. */
  readonly keyPrefix: string;
}

/** The one that there always is: it adds nothing to keys, tokens and names. */
export const defaultScope: Scope = { name: '', keyPrefix: '' };

/** No resource's key begins so: groups are domain names. */
const keyRoot = '/.scopes';

/** The scope of that name, a DNS label; '' is the default one. */
export function scopeNamed(name: string): Scope {
  if (name === '') return defaultScope;
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)) {
    throw new Error(`${JSON.stringify(name)} is no name of a scope: expected a DNS label`);
  }
  return { name, keyPrefix: `${keyRoot}/${name}` };
}
