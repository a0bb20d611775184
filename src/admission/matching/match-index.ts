import { limits } from '../../base/limits.ts';
import type { AdmissionAttributes, ServedKind } from '../../request/admission.ts';
import { type MatchRule, matchesRule, operationName, type RuledRequest, ruledRequest } from './match-rules.ts';

/** A webhook or policy, which its rules make for some requests. */
export interface Ruled {
  readonly rules: readonly MatchRule[];
  /** `Equivalent`: also for requests of other versions of the resource that a rule names. */
  readonly matchPolicy: 'Exact' | 'Equivalent';
}

/** What is for a request, and the version in which it wants the objects. */
export interface Matched<T> {
  readonly item: T;
  readonly as: ServedKind;
}

/**
 * Finds webhooks or policies by the rules of the request. The same kind of request is looked up again by one key, so that
 * the number of those that do not match costs nothing. Immutable: replaced when they change, or what is served does.
 */
export class MatchIndex<T extends Ruled> {
  readonly #items: readonly T[];
  readonly #found = new Map<string, readonly Matched<T>[]>();

  /** `items` in the order in which they are to be found. */
  constructor(items: readonly T[]) {
    this.#items = items;
  }

  find(attributes: AdmissionAttributes): readonly Matched<T>[] {
    if (this.#items.length === 0) return none;
    const { group, version, resource, subresource, namespace } = attributes.info;
    const key = `${operationName(attributes)} ${namespace === ''} ${group}/${version}/${resource}/${subresource}`;
    const known = this.#found.get(key);
    if (known) return known;
    const found = this.#search(attributes);
    if (this.#found.size >= limits.matchedRequestsKept) this.#found.clear();
    this.#found.set(key, found);
    return found;
  }

  #search(attributes: AdmissionAttributes): readonly Matched<T>[] {
    const request = ruledRequest(attributes);
    const found: Matched<T>[] = [];
    for (const item of this.#items) {
      const as = versionFor(item, request, attributes);
      if (as) found.push({ item, as });
    }
    return found;
  }
}

const none: readonly never[] = [];

/** The version that the first matching rule names; of rules that name the request's own version, that one. */
function versionFor(
  { rules, matchPolicy }: Ruled,
  request: RuledRequest,
  { requested, equivalents }: AdmissionAttributes,
): ServedKind | undefined {
  if (rules.some((rule) => matchesRule(rule, request))) return requested;
  if (matchPolicy === 'Exact') return undefined;
  for (const rule of rules) {
    for (const other of equivalents) {
      const { group, version, resource } = other;
      if (matchesRule(rule, { ...request, group, version, resource })) return other;
    }
  }
  return undefined;
}
