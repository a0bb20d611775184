import { everything, type PolicyRule } from '../../kinds/rbac/policy-rule.ts';

/**
 * The rules of a role in a form that is fast to evaluate (spec section 5.8). Rules are additive: the role allows what any of
 * them allows.
 */
export interface CompiledRole {
  /** As written. */
  readonly rules: readonly PolicyRule[];
  readonly compiled: readonly CompiledRule[];
}

interface CompiledRule {
  readonly verbs: Matcher;
  readonly groups: Matcher;
  readonly resources: Matcher;
  /** Undefined if the rule applies to objects of any name. */
  readonly names: readonly string[] | undefined;
  readonly paths: readonly PathPattern[];
}

/** A path or a path prefix. */
export interface PathPattern {
  readonly type: 'exact' | 'prefix';
  readonly text: string;
}

type Matcher = (value: string) => boolean;

/** A resource request without the object's name. */
export interface ResourceQuestion {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  /** Empty: none. */
  readonly subresource: string;
}

export function compileRole(rules: readonly PolicyRule[]): CompiledRole {
  return { rules, compiled: rules.map(compileRule) };
}

const compileRule = (rule: PolicyRule): CompiledRule => ({
  verbs: matcherOf(rule.verbs),
  groups: matcherOf(rule.apiGroups ?? []),
  resources: matcherOf(rule.resources ?? []),
  names: rule.resourceNames && rule.resourceNames.length > 0 ? rule.resourceNames : undefined,
  paths: (rule.nonResourceURLs ?? []).map(compilePath),
});

function matcherOf(values: readonly string[]): Matcher {
  if (values.includes(everything)) return () => true;
  const [only] = values;
  if (values.length === 1) return (value) => value === only;
  const set = new Set(values);
  return (value) => set.has(value);
}

/** A trailing `*` matches any suffix; several in a row count as one. */
export function compilePath(text: string): PathPattern {
  let end = text.length;
  while (end > 0 && text[end - 1] === everything) end--;
  return end === text.length ? { type: 'exact', text } : { type: 'prefix', text: text.slice(0, end) };
}

/** Names of the objects for which the role allows the request: `all`, some, or none. May contain duplicates. */
export function allowedNames(role: CompiledRole, question: ResourceQuestion): 'all' | readonly string[] {
  const found: (readonly string[])[] = [];
  for (const rule of role.compiled) {
    if (!rule.verbs(question.verb) || !rule.groups(question.group) || !matchesResource(rule, question)) continue;
    if (!rule.names) return 'all';
    found.push(rule.names);
  }
  return found.length > 1 ? found.flat() : (found[0] ?? none);
}

const none: readonly string[] = [];

/** `pods` does not include `pods/log`, and `pods/*` matches nothing; a star before the slash matches every resource. */
function matchesResource({ resources }: CompiledRule, { resource, subresource }: ResourceQuestion): boolean {
  if (subresource === '') return resources(resource);
  return resources(`${resource}/${subresource}`) || resources(`${everything}/${subresource}`);
}

/** The paths on which a role allows a verb. */
export const allowedPaths = (role: CompiledRole, verb: string): readonly PathPattern[] =>
  role.compiled.filter((rule) => rule.paths.length > 0 && rule.verbs(verb)).flatMap(({ paths }) => paths);
