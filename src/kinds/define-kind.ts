import { createdAtColumn, nameColumn } from './columns.ts';
import type { Kind } from './kind.ts';

/** The fields that a kind must define; all others have defaults. */
type KindDefinition = Pick<Kind, 'kind' | 'schema'> & Partial<Kind>;

type OptionalName = { [Name in keyof Kind]-?: object extends Pick<Kind, Name> ? Name : never }[keyof Kind];

/**
 * All fields that a kind may lack. It has them without a value, so that all kinds have the same fields in the same order, and
 * with that one hidden class: every request reads some.
 */
const absent: Readonly<Record<OptionalName, undefined>> = {
  gate: undefined,
  offByDefault: undefined,
  served: undefined,
  hashedVersion: undefined,
  deprecated: undefined,
  storedAs: undefined,
  nameIfNone: undefined,
  rowConditions: undefined,
  answer: undefined,
  observe: undefined,
  acts: undefined,
  claims: undefined,
  takesAlong: undefined,
  showsClaims: undefined,
  decidesNothing: undefined,
  initialObjects: undefined,
  keptObjects: undefined,
  undeletable: undefined,
  timeToLive: undefined,
  withoutVerbs: undefined,
  finalizersWithoutDomain: undefined,
  withoutPatches: undefined,
  terminating: undefined,
  generationCounts: undefined,
  orphansByDefault: undefined,
  ownsNothing: undefined,
};

/**
 * Defines a kind. Defaults: version `v1` of the core group; namespaced; names are DNS subdomains; columns for name and
 * creation time; all verbs; PUT overwrites without a resourceVersion and does not create.
 */
export function defineKind(definition: KindDefinition): Kind {
  const { kind, schema, ...others } = definition;
  const singular = kind.toLowerCase();
  return {
    group: '',
    version: 'v1',
    kind,
    listKind: `${kind}List`,
    resource: `${singular}s`,
    singular,
    shortNames: [],
    categories: [],
    scope: 'Namespaced',
    schema,
    nameFormat: 'dnsSubdomain',
    selectableFields: [],
    columns: [nameColumn, createdAtColumn],
    strategy: {},
    subresources: [],
    createOnUpdate: false,
    unconditionalUpdate: true,
    deleteReturnsObject: false,
    generation: false,
    ...absent,
    ...others,
  } as Kind;
}
