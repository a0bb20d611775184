import type { Dialect } from '../../dialect/dialect.ts';
import { approvalCondition } from '../../kinds/apiextensions/api-approval.ts';
import {
  type Definition,
  type DefinitionCondition,
  type DefinitionHead,
  type DefinitionNames,
  type DefinitionStatus,
  headOf,
} from '../../kinds/apiextensions/custom-resource-definition.ts';
import { isTrue } from '../../kinds/apiextensions/definition-conditions.ts';
import { caBundleProblem } from '../../kinds/webhook-client-errors.ts';
import type { ApiObject } from '../../meta/api-object.ts';

/** What is kept of a definition as it is stored; its schemas are read again when its kinds are made. */
export interface StoredDefinition extends DefinitionHead {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string | undefined;
  readonly generation: number | undefined;
  readonly creationTimestamp: string;
  /** Being deleted. */
  readonly isEnding: boolean;
  readonly finalizers: readonly string[];
  /** Whether its API is approved, for groups that need it. */
  readonly approval: DefinitionCondition | undefined;
  /** Nobody can verify the certificate of its webhook. */
  readonly hasInvalidCaBundle: boolean;
}

/** A definition, and the status that this server gives it: until that is written they may differ. */
interface FollowedDefinition {
  readonly stored: StoredDefinition;
  decided: DefinitionStatus | undefined;
  /** The kinds of `stored` are served as it says. */
  isServed: boolean;
}

/** The definitions of a scope, by group and in order of creation, which is the order in which they get names. */
export class FollowedDefinitions {
  readonly #dialect: Dialect;
  readonly #byName = new Map<string, FollowedDefinition>();
  readonly #groups = new Map<string, Map<string, FollowedDefinition>>();

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  get(name: string): FollowedDefinition | undefined {
    return this.#byName.get(name);
  }

  names(): readonly string[] {
    return [...this.#byName.values()].toSorted(byCreation).map(({ stored }) => stored.name);
  }

  /** Returns the former state, if it is the same definition and not another one of that name. */
  put(object: ApiObject): FollowedDefinition | undefined {
    const stored = readDefinition(object, this.#dialect);
    const { name, group, uid } = stored;
    const before = this.#byName.get(name);
    const same = before?.stored.uid === uid ? before : undefined;
    const followed = { stored, decided: same?.decided, isServed: false };
    this.#byName.set(name, followed);
    const inGroup = this.#groups.get(group) ?? new Map<string, FollowedDefinition>();
    this.#groups.set(group, inGroup.set(name, followed));
    return same;
  }

  delete(name: string): FollowedDefinition | undefined {
    const before = this.#byName.get(name);
    if (!before) return undefined;
    const { group } = before.stored;
    this.#byName.delete(name);
    const inGroup = this.#groups.get(group);
    inGroup?.delete(name);
    if (inGroup?.size === 0) this.#groups.delete(group);
    return before;
  }

  /** The names that other definitions of the group have: those stored, and those that are about to be. */
  *namesBeside({ group, name }: StoredDefinition): IterableIterator<DefinitionNames> {
    for (const { stored, decided } of this.#groups.get(group)?.values() ?? []) {
      if (stored.name === name) continue;
      yield stored.status.acceptedNames ?? {};
      if (decided?.acceptedNames) yield decided.acceptedNames;
    }
  }

  /** Definitions of a group that did not get all of their names. */
  waitingIn(group: string): readonly string[] {
    return [...(this.#groups.get(group)?.values() ?? [])]
      .filter(({ stored, decided = stored.status }) => !hasItsNames(decided))
      .toSorted(byCreation)
      .map(({ stored }) => stored.name);
  }
}

function readDefinition(object: ApiObject, dialect: Dialect): StoredDefinition {
  const { name = '', uid = '', resourceVersion, generation, creationTimestamp = '' } = object.metadata;
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  const isEnding = deletionTimestamp !== undefined;
  const definition = object as Definition & ApiObject;
  const head = headOf(definition);
  const { caBundle } = definition.spec?.conversion?.webhook?.clientConfig ?? {};
  return {
    ...head,
    ...{ name, uid, resourceVersion, generation, creationTimestamp, isEnding, finalizers },
    approval: approvalCondition(definition, dialect),
    hasInvalidCaBundle: !isTrue(head, 'Established') && caBundleProblem(caBundle) !== undefined,
  };
}

/** Of the same second, the one that was seen first: the sort is stable. */
const byCreation = (a: FollowedDefinition, b: FollowedDefinition): number =>
  a.stored.creationTimestamp < b.stored.creationTimestamp
    ? -1
    : Number(a.stored.creationTimestamp > b.stored.creationTimestamp);

const hasItsNames = ({ conditions }: DefinitionStatus): boolean =>
  conditions?.some(({ type, status }) => type === 'NamesAccepted' && status === 'True') === true;
