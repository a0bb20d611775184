import { limits } from '../../base/limits.ts';
import type { AdmissionAttributes, ServedKind } from '../../request/admission.ts';
import {
  type MatchRule,
  matchesName,
  matchesRule,
  operationName,
  type RuledRequest,
  ruledRequest,
} from './match-rules.ts';

/** A webhook or policy, which its rules make for some requests. */
export interface Ruled {
  readonly rules: readonly MatchRule[];
  /** What these match is not for it, whatever `rules` say. */
  readonly exceptions?: readonly MatchRule[];
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
  readonly #found = new Map<string, Found<T>>();

  /** `items` in the order in which they are to be found. */
  constructor(items: readonly T[]) {
    this.#items = items;
  }

  find(attributes: AdmissionAttributes): readonly Matched<T>[] {
    if (this.#items.length === 0) return none;
    const { group, version, resource, subresource, namespace } = attributes.info;
    const key = `${operationName(attributes)} ${namespace === ''} ${group}/${version}/${resource}/${subresource}`;
    const known = this.#found.get(key) ?? this.#search(key, attributes);
    if (!known.dependsOnName) return known.matched;
    return known.matched.flatMap(({ item }) => {
      const as = matchedVersion(item, attributes);
      return as ? [{ item, as }] : [];
    });
  }

  #search(key: string, attributes: AdmissionAttributes): Found<T> {
    const matched: Matched<T>[] = [];
    let dependsOnName = false;
    for (const item of this.#items) {
      const as = matchedVersion(item, attributes, 'anyName');
      if (!as) continue;
      matched.push({ item, as });
      dependsOnName ||= [...item.rules, ...(item.exceptions ?? [])].some(
        ({ resourceNames = [] }) => resourceNames.length > 0,
      );
    }
    const found = { matched, dependsOnName };
    if (this.#found.size >= limits.matchedRequestsKept) this.#found.clear();
    this.#found.set(key, found);
    return found;
  }
}

/** What may be for a kind of request. */
interface Found<T> {
  readonly matched: readonly Matched<T>[];
  /** Some of it is for objects of some names only. */
  readonly dependsOnName: boolean;
}

const none: readonly never[] = [];

/**
 * The version in which something wants the objects of a request that it is for: that of the first matching rule, and the
 * request's own if a rule names it. Undefined if it is not for the request. `anyName`: for no object that could have been
 * requested.
 */
export function matchedVersion(
  ruled: Ruled,
  attributes: AdmissionAttributes,
  names?: 'anyName',
): ServedKind | undefined {
  const { rules, exceptions = [], matchPolicy } = ruled;
  const request = ruledRequest(attributes);
  const certain =
    names === undefined ? exceptions : exceptions.filter(({ resourceNames = [] }) => resourceNames.length === 0);
  const named = (rule: MatchRule): boolean => names === 'anyName' || matchesName(rule, attributes.name);
  const versionFor = (listed: readonly MatchRule[]): ServedKind | undefined =>
    versionNamed(listed.filter(named), { matchPolicy, request, attributes });
  if (certain.length > 0 && versionFor(certain)) return undefined;
  return versionFor(rules);
}

interface Naming extends Pick<Ruled, 'matchPolicy'> {
  readonly request: RuledRequest;
  readonly attributes: AdmissionAttributes;
}

function versionNamed(
  rules: readonly MatchRule[],
  { matchPolicy, request, attributes: { requested, equivalents } }: Naming,
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
