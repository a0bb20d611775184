import { limits } from '../../base/limits.ts';
import { everything, type PolicyRule } from '../../kinds/rbac/policy-rule.ts';
import { compilePath, type PathPattern } from './compiled-role.ts';

interface Coverage {
  /** What is not held, broken down: one verb, one group, one resource and at most one name each, or one verb and one path. */
  readonly missing: readonly PolicyRule[];
  /** False where the check was given up, since there were too many permissions: what was not looked at is not held. */
  readonly complete: boolean;
}

/**
 * Which permissions of `wanted` are not held by who has the rules `held` (spec section 5.8). Published servers break the
 * wanted rules down into single permissions, each of which one rule covers or none; so do we, and give the same answer,
 * except that a rule that is covered whole is not broken down, and that the effort is bounded: rules of a few kilobytes
 * can stand for billions of permissions.
 *
 * Several rules do not add up to a wildcard: who holds each verb does not hold `*`, which is also of verbs to come.
 */
export function covers(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): Coverage {
  const owned = new OwnedRules(held);
  const missing: PolicyRule[] = [];
  const effort: Effort = { left: limits.rbacCoverStepsMax };
  const covered = (rule: PolicyRule): boolean =>
    owned.thatMayCover(rule).some((owner) => ruleCovers(owner, rule, effort));
  for (const rule of wanted) {
    if (covered(rule)) continue;
    for (const single of breakDown(rule)) {
      if (!covered(single)) missing.push(single);
      if (effort.left < 0 || missing.length > limits.rbacMissingRulesShown) {
        return { missing: missing.slice(0, limits.rbacMissingRulesShown), complete: false };
      }
    }
  }
  return { missing, complete: true };
}

/** What may still be compared. Once nothing is left, nothing more is found to be held. */
interface Effort {
  left: number;
}

interface HeldRule {
  readonly verbs: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  readonly resources: ReadonlySet<string>;
  /** Undefined where the rule is for objects of any name. */
  readonly names: ReadonlySet<string> | undefined;
  readonly paths: ReadonlySet<string>;
  readonly prefixes: readonly PathPattern[];
  /** How many wildcards there are: what holds most is asked first. */
  readonly breadth: number;
}

/** Held rules by what they are about, so that who holds thousands is not asked for each of them in turn. */
class OwnedRules {
  readonly #all: readonly HeldRule[];
  readonly #byResource = new Map<string, HeldRule[]>();
  readonly #withPaths: readonly HeldRule[];

  constructor(held: readonly PolicyRule[]) {
    this.#all = held.map(compileHeld).sort((a, b) => b.breadth - a.breadth);
    for (const rule of this.#all) {
      for (const resource of rule.resources) {
        const others = this.#byResource.get(resource);
        if (others) others.push(rule);
        else this.#byResource.set(resource, [rule]);
      }
    }
    this.#withPaths = this.#all.filter(({ paths }) => paths.size > 0);
  }

  /** All that can cover a rule, and some that can not: those that cover its first resource. */
  thatMayCover({ resources = [], nonResourceURLs = [] }: PolicyRule): readonly HeldRule[] {
    const [first] = resources;
    if (first === undefined) return nonResourceURLs.length > 0 ? this.#withPaths : this.#all;
    const own = this.#byResource.get(first);
    const wider = widerThan(first).flatMap((resource) => this.#byResource.get(resource) ?? []);
    return wider.length === 0 ? (own ?? []) : [...wider, ...(own ?? [])];
  }
}

/** The wildcards that stand for a resource too. */
function widerThan(resource: string): readonly string[] {
  const slash = resource.indexOf('/');
  const wildcards = slash < 0 ? [everything] : [everything, `${everything}${resource.slice(slash)}`];
  return wildcards.filter((wildcard) => wildcard !== resource);
}

function compileHeld({
  verbs,
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
}: PolicyRule): HeldRule {
  return {
    verbs: new Set(verbs),
    groups: new Set(apiGroups),
    resources: new Set(resources),
    names: resourceNames.length === 0 ? undefined : new Set(resourceNames),
    paths: new Set(nonResourceURLs),
    prefixes: nonResourceURLs.map(compilePath).filter(({ type }) => type === 'prefix'),
    breadth: [verbs, apiGroups, resources, nonResourceURLs].filter((values) => values.includes(everything)).length,
  };
}

function* breakDown(rule: PolicyRule): Generator<PolicyRule> {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  for (const group of apiGroups) {
    for (const resource of resources) {
      for (const verb of verbs) {
        const single = { verbs: [verb], apiGroups: [group], resources: [resource] };
        if (resourceNames.length === 0) yield single;
        for (const name of resourceNames) yield { ...single, resourceNames: [name] };
      }
    }
  }
  for (const path of nonResourceURLs) for (const verb of verbs) yield { verbs: [verb], nonResourceURLs: [path] };
}

/** True where one held rule covers all of another. */
function ruleCovers(held: HeldRule, rule: PolicyRule, effort: Effort): boolean {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  effort.left--;
  if (effort.left < 0) return false;
  return (
    all(verbs, (verb) => holds(held.verbs, verb), effort) &&
    all(apiGroups, (group) => holds(held.groups, group), effort) &&
    all(resources, (resource) => holdsResource(held.resources, resource), effort) &&
    holdsNames(held.names, resourceNames, effort) &&
    all(nonResourceURLs, (path) => holdsPath(held, path, effort), effort)
  );
}

function all(values: readonly string[], isHeld: (value: string) => boolean, effort: Effort): boolean {
  for (const value of values) {
    effort.left--;
    if (effort.left < 0 || !isHeld(value)) return false;
  }
  return true;
}

const holds = (held: ReadonlySet<string>, value: string): boolean => held.has(everything) || held.has(value);

/** All objects are more than any number of them. */
const holdsNames = (held: ReadonlySet<string> | undefined, wanted: readonly string[], effort: Effort): boolean =>
  held === undefined || (wanted.length > 0 && all(wanted, (name) => held.has(name), effort));

const holdsResource = (held: ReadonlySet<string>, resource: string): boolean =>
  held.has(resource) || widerThan(resource).some((wildcard) => held.has(wildcard));

/** `/a/*` covers `/a/b` and `/a/b/*`, and so does `/a*`. */
function holdsPath({ paths, prefixes }: HeldRule, path: string, effort: Effort): boolean {
  if (paths.has(path)) return true;
  effort.left -= prefixes.length;
  return prefixes.some(({ text }) => path.startsWith(text));
}
