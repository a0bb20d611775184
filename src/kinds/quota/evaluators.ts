import type { Dialect } from '../../dialect/dialect.ts';
import { qualifiedResource, type ResourceName } from '../../meta/status-error.ts';
import { persistentVolumeClaims, resourceClaims } from './claims.ts';
import { type Evaluator, objectCounter } from './evaluator.ts';
import { pods } from './pods.ts';
import { services } from './services.ts';

/** Resources whose objects quotas count under their bare names too. */
const aliased = ['configmaps', 'replicationcontrollers', 'resourcequotas', 'secrets'];

/** Finds the evaluator of each resource, custom ones included. */
export class Evaluators {
  readonly #known: ReadonlyMap<string, Evaluator>;
  readonly #ignored: ReadonlySet<string>;

  constructor(dialect: Dialect) {
    const special = [pods(dialect), services, persistentVolumeClaims(dialect), resourceClaims(dialect)];
    const counters = aliased.map((resource) => objectCounter({ group: '', resource }, resource));
    this.#known = new Map([...special, ...counters].map((each) => [qualifiedResource(each.resource), each]));
    this.#ignored = new Set(ignored(dialect).map(qualifiedResource));
  }

  /** Undefined for what no quota counts. */
  of(resource: ResourceName): Evaluator | undefined {
    const name = qualifiedResource(resource);
    return this.#ignored.has(name) ? undefined : (this.#known.get(name) ?? objectCounter(resource));
  }
}

/** What is answered and not stored, and events, which are short-lived. */
const ignored = ({ group }: Dialect): readonly ResourceName[] => [
  ...['bindings', 'componentstatuses', 'events'].map((resource) => ({ group: '', resource })),
  { group: group('events'), resource: 'events' },
  ...['tokenreviews', 'selfsubjectreviews'].map((resource) => ({ group: group('authentication'), resource })),
  ...['subjectaccessreviews', 'selfsubjectaccessreviews', 'localsubjectaccessreviews', 'selfsubjectrulesreviews'].map((resource) => ({ group: group('authorization'), resource })),
];
