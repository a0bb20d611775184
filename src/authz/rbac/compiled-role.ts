import { everything, type PolicyRule } from '../../kinds/rbac/policy-rule.ts';

/**
 * The rules of a role, made ready to be asked (spec section 5.8). Rules only add permissions, so the role allows what one
 * of its rules allows.
 */
export interface CompiledRole {
  /** As they were written. */
  readonly rules: readonly PolicyRule[];
  readonly compiled: readonly CompiledRule[];
}

interface CompiledRule {
  readonly verbs: Matcher;
  readonly groups: Matcher;
  readonly resources: Matcher;
  /** Undefined where the rule is for objects of any name. */
  readonly names: readonly string[] | undefined;
  readonly paths: readonly PathPattern[];
}

/** A path, or what one begins with. */
export interface PathPattern {
  readonly type: 'exact' | 'prefix';
  readonly text: string;
}

type Matcher = (value: string) => boolean;

/** What is asked about resources, without the name of an object. */
export interface ResourceQuestion {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  /** '' where none was named. */
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

/** `*` at the end stands for anything, more of them for no more. */
export function compilePath(text: string): PathPattern {
  let end = text.length;
  while (end > 0 && text[end - 1] === everything) end--;
  return end === text.length ? { type: 'exact', text } : { type: 'prefix', text: text.slice(0, end) };
}

/** Names of the objects that a role allows it for: `all`, some, or none. Names may stand more than once. */
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

/** `pods` is no `pods/log`, and `pods/*` means nothing; a star before the slash stands for every resource. */
function matchesResource({ resources }: CompiledRule, { resource, subresource }: ResourceQuestion): boolean {
  if (subresource === '') return resources(resource);
  return resources(`${resource}/${subresource}`) || resources(`${everything}/${subresource}`);
}

/** The paths that a role allows a method on. */
export const allowedPaths = (role: CompiledRole, verb: string): readonly PathPattern[] =>
  role.compiled.filter((rule) => rule.paths.length > 0 && rule.verbs(verb)).flatMap(({ paths }) => paths);
