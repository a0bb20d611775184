import { limits } from '../../base/limits.ts';
import { everything, type PolicyRule } from '../../kinds/rbac/policy-rule.ts';
import { compilePath, type PathPattern } from './compiled-role.ts';

interface Coverage {
  /** Permissions not held, broken down: one verb, group, resource and at most one name each, or one verb and path. */
  readonly missing: readonly PolicyRule[];
  /** False if there were too many permissions to check. Unchecked ones count as not held. */
  readonly complete: boolean;
}

/**
 * The permissions of `wanted` that the rules `held` do not grant (spec section 5.8). Gives the same result as kube-apiserver,
 * which breaks the wanted rules down into single permissions, each covered by one held rule or not. Here a rule covered as a
 * whole is not broken down, and the effort is bounded, because rules of a few kilobytes can stand for billions of permissions.
 *
 * Rules do not add up to a wildcard: holding every verb is not holding `*`, which includes future verbs.
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

/** Comparisons left. At zero every further check answers that the permission is not held. */
interface Effort {
  left: number;
}

interface HeldRule {
  readonly verbs: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  readonly resources: ReadonlySet<string>;
  /** Undefined if the rule applies to objects of any name. */
  readonly names: ReadonlySet<string> | undefined;
  readonly paths: ReadonlySet<string>;
  readonly prefixes: readonly PathPattern[];
  /** Number of wildcards. The broadest rules are checked first. */
  readonly breadth: number;
}

/** Held rules indexed by resource, so that a holder of thousands of rules is not checked against each of them. */
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

  /** A superset of the rules that can cover `rule`: those that cover its first resource. */
  thatMayCover({ resources = [], nonResourceURLs = [] }: PolicyRule): readonly HeldRule[] {
    const [first] = resources;
    if (first === undefined) return nonResourceURLs.length > 0 ? this.#withPaths : this.#all;
    const own = this.#byResource.get(first);
    const wider = widerThan(first).flatMap((resource) => this.#byResource.get(resource) ?? []);
    return wider.length === 0 ? (own ?? []) : [...wider, ...(own ?? [])];
  }
}

/** The wildcards that include a resource. */
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

/** True if the held rule alone covers the other. */
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

/** A rule for objects of any name is not covered by any list of names. */
const holdsNames = (held: ReadonlySet<string> | undefined, wanted: readonly string[], effort: Effort): boolean =>
  held === undefined || (wanted.length > 0 && all(wanted, (name) => held.has(name), effort));

const holdsResource = (held: ReadonlySet<string>, resource: string): boolean =>
  held.has(resource) || widerThan(resource).some((wildcard) => held.has(wildcard));

/** `/a/*` covers `/a/b` and `/a/b/*`; so does `/a*`. */
function holdsPath({ paths, prefixes }: HeldRule, path: string, effort: Effort): boolean {
  if (paths.has(path)) return true;
  effort.left -= prefixes.length;
  return prefixes.some(({ text }) => path.startsWith(text));
}
