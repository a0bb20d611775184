import { createdAtColumn, nameColumn } from './columns.ts';
import type { Kind } from './kind.ts';

/** What every kind says of itself. */
type Said = Pick<Kind, 'kind' | 'schema'> & Partial<Kind>;

/**
 * A kind of which only what sets it apart is said. The rest is that of most kinds: version `v1` of the core group, objects
 * in namespaces, names as subdomains, columns of the name and the time of creation, every verb, and a PUT that
 * overwrites without a resourceVersion and creates nothing.
 */
export function defineKind(said: Said): Kind {
  const singular = said.kind.toLowerCase();
  return {
    group: '',
    version: 'v1',
    listKind: `${said.kind}List`,
    resource: `${singular}s`,
    singular,
    shortNames: [],
    categories: [],
    scope: 'Namespaced',
    nameFormat: 'dnsSubdomain',
    selectableFields: [],
    columns: [nameColumn, createdAtColumn],
    strategy: {},
    subresources: [],
    createOnUpdate: false,
    unconditionalUpdate: true,
    deleteReturnsObject: false,
    generation: false,
    ...said,
  };
}
