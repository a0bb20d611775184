import { createdAtColumn, nameColumn } from './columns.ts';
import type { Kind } from './kind.ts';

/** The fields that a kind must define; all others have defaults. */
type KindDefinition = Pick<Kind, 'kind' | 'schema'> & Partial<Kind>;

/**
 * Defines a kind. Defaults: version `v1` of the core group; namespaced; names are DNS subdomains; columns for name and
 * creation time; all verbs; PUT overwrites without a resourceVersion and does not create.
 */
export function defineKind(definition: KindDefinition): Kind {
  const singular = definition.kind.toLowerCase();
  return {
    group: '',
    version: 'v1',
    listKind: `${definition.kind}List`,
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
    ...definition,
  };
}
