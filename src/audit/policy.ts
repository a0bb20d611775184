import type { RequestInfo, ResourceRequest } from '../request/request-info.ts';
import type { UserInfo } from '../request/user-info.ts';

/** How much of a request is recorded, in ascending order. */
export const auditLevels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type AuditLevel = (typeof auditLevels)[number];

/** Points of a request at which an event is made. */
export const auditStages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;
export type AuditStage = (typeof auditStages)[number];

/** A rule of a policy as configured. Empty lists match everything. */
export interface PolicyRule {
  readonly level: AuditLevel;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly GroupResources[];
  /** '' matches resources outside namespaces. */
  readonly namespaces: readonly string[];
  /** Paths; a trailing `*` makes one a prefix. */
  readonly nonResourceURLs: readonly string[];
  readonly omitStages: readonly AuditStage[];
  readonly omitManagedFields: boolean | undefined;
}

/** Resources of one API group. */
interface GroupResources {
  /** Full name; '' for core. */
  readonly group: string;
  /** `pods`, `pods/log`, `pods/*`, `*\/scale` or `*`. Empty: all of the group, with their subresources. */
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

export interface Policy {
  readonly rules: readonly PolicyRule[];
  readonly omitStages: readonly AuditStage[];
  readonly omitManagedFields: boolean;
}

/** What a policy says about a request. */
export interface Verdict {
  readonly level: AuditLevel;
  readonly omitStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
}

/** Decides by the first rule that matches; without one, a request is not recorded. `user` is undefined if unknown. */
export type PolicyEvaluator = (info: RequestInfo, user: UserInfo | undefined) => Verdict;

/** A rule without its verbs, and with the resources of one group, which are all that it is asked about. */
interface CompiledRule {
  readonly verdict: Verdict;
  readonly users: ReadonlySet<string> | undefined;
  readonly userGroups: ReadonlySet<string> | undefined;
  readonly namespaces: ReadonlySet<string> | undefined;
  /** One of these must match. */
  readonly resources: readonly CompiledResources[] | undefined;
  readonly paths: readonly PathPattern[] | undefined;
}

interface PathPattern {
  readonly text: string;
  readonly isPrefix: boolean;
}

/** Resources as `GroupResources` has them. */
interface CompiledResources {
  readonly isAny: boolean;
  readonly exact: ReadonlySet<string>;
  /** Of patterns with an asterisk what is left without it, so that no text need be made to look for them. */
  readonly whole: ReadonlySet<string> | undefined;
  readonly ofAny: ReadonlySet<string> | undefined;
  readonly names: ReadonlySet<string> | undefined;
}

/** Rules that are about requests with a verb, by API group; `others` for groups that no rule names. */
interface RulesOfVerb {
  readonly byGroup: ReadonlyMap<string, readonly CompiledRule[]>;
  readonly others: readonly CompiledRule[];
  readonly ofPaths: readonly CompiledRule[];
}

/** Compiles a policy: it is evaluated for every request. Most rules are out of the question by verb and group. */
export function policyEvaluator({ rules, omitStages, omitManagedFields }: Policy): PolicyEvaluator {
  const compile = (rule: PolicyRule, group: string | undefined): CompiledRule => ({
    ...conditions(rule, group),
    verdict: {
      level: rule.level,
      omitStages: new Set([...omitStages, ...rule.omitStages]),
      omitManagedFields: rule.omitManagedFields ?? omitManagedFields,
    },
  });
  const groups = new Set(rules.flatMap(({ resources }) => resources.map(({ group }) => group)));
  const rulesFor = (verb: string | undefined): RulesOfVerb => {
    const ofVerb = rules.filter(({ verbs }) => verbs.length === 0 || (verb !== undefined && verbs.includes(verb)));
    const ofGroup = (group: string | undefined) =>
      ofVerb.filter((rule) => !isAboutPaths(rule) && mayNameGroup(rule, group)).map((rule) => compile(rule, group));
    return {
      byGroup: new Map([...groups].map((group) => [group, ofGroup(group)])),
      others: ofGroup(undefined),
      ofPaths: ofVerb.filter((rule) => !isAboutResources(rule)).map((rule) => compile(rule, undefined)),
    };
  };
  const named = new Map(rules.flatMap(({ verbs }) => verbs).map((verb) => [verb, rulesFor(verb)]));
  const unnamed = rulesFor(undefined);
  const otherwise: Verdict = { level: 'None', omitStages: new Set(omitStages), omitManagedFields };
  const decide: PolicyEvaluator = (info, user) => {
    const ofVerb = named.get(info.verb) ?? unnamed;
    const asked = info.type === 'resource' ? (ofVerb.byGroup.get(info.group) ?? ofVerb.others) : ofVerb.ofPaths;
    for (const rule of asked) if (matches(rule, info, user)) return rule.verdict;
    return otherwise;
  };
  const dependsOnName = rules.some(({ resources }) => resources.some((each) => each.resourceNames.length > 0));
  return dependsOnName ? decide : repeatedly(decide);
}

/** Remembers the last verdict, for policies that names do not matter to: requests of a kind come in bursts. */
function repeatedly(decide: PolicyEvaluator): PolicyEvaluator {
  let last:
    | { readonly info: ResourceRequest; readonly user: UserInfo | undefined; readonly verdict: Verdict }
    | undefined;
  return (info, user) => {
    if (info.type !== 'resource') return decide(info, user);
    if (last && last.user === user && isAlike(last.info, info)) return last.verdict;
    const verdict = decide(info, user);
    last = { info, user, verdict };
    return verdict;
  };
}

const isAlike = (one: ResourceRequest, other: ResourceRequest): boolean =>
  one.verb === other.verb &&
  one.resource === other.resource &&
  one.subresource === other.subresource &&
  one.namespace === other.namespace &&
  one.group === other.group;

/** A rule with namespaces or resources is about resources, one with paths about paths; validation excludes both. */
const isAboutResources = ({ namespaces, resources }: PolicyRule): boolean =>
  namespaces.length > 0 || resources.length > 0;
const isAboutPaths = ({ nonResourceURLs }: PolicyRule): boolean => nonResourceURLs.length > 0;
const mayNameGroup = ({ resources }: PolicyRule, group: string | undefined): boolean =>
  resources.length === 0 || resources.some((each) => each.group === group);

const setOf = (texts: readonly string[]): ReadonlySet<string> | undefined =>
  texts.length === 0 ? undefined : new Set(texts);

function conditions(rule: PolicyRule, group: string | undefined): Omit<CompiledRule, 'verdict'> {
  const { users, userGroups, namespaces, resources, nonResourceURLs } = rule;
  const ofGroup = resources.filter((each) => each.group === group);
  return {
    users: setOf(users),
    userGroups: setOf(userGroups),
    namespaces: setOf(namespaces),
    // Without resources, an entry is about all of its group.
    resources:
      ofGroup.every((each) => each.resources.length > 0) && ofGroup.length > 0
        ? ofGroup.map(compileResources)
        : undefined,
    paths: nonResourceURLs.length === 0 ? undefined : nonResourceURLs.map(pathPattern),
  };
}

const compileResources = ({ resources, resourceNames }: GroupResources): CompiledResources => ({
  isAny: resources.includes('*'),
  exact: new Set(resources),
  whole: setOf(resources.filter((each) => each.endsWith('/*')).map((each) => each.slice(0, -2))),
  ofAny: setOf(resources.filter((each) => each.startsWith('*/')).map((each) => each.slice(2))),
  names: setOf(resourceNames),
});

/** All conditions must hold; absent ones do. */
function matches(rule: CompiledRule, info: RequestInfo, user: UserInfo | undefined): boolean {
  const { users, userGroups, namespaces, resources, paths } = rule;
  if (users && !(user && users.has(user.username))) return false;
  if (userGroups && user?.groups.some((group) => userGroups.has(group)) !== true) return false;
  if (info.type === 'path') return paths === undefined || paths.some((pattern) => matchesPath(pattern, info.path));
  if (namespaces && !namespaces.has(info.namespace)) return false;
  if (!resources) return true;
  for (const each of resources) if (matchesResources(each, info)) return true;
  return false;
}

function matchesResources(asked: CompiledResources, { resource, subresource, name }: ResourceRequest): boolean {
  const { isAny, exact, whole, ofAny, names } = asked;
  if (names && !names.has(name)) return false;
  return (
    isAny ||
    exact.has(subresource === '' ? resource : `${resource}/${subresource}`) ||
    whole?.has(resource) === true ||
    (subresource !== '' && ofAny?.has(subresource) === true)
  );
}

const pathPattern = (pattern: string): PathPattern => ({
  text: pattern.replace(/\*+$/, ''),
  isPrefix: pattern.endsWith('*'),
});

const matchesPath = ({ text, isPrefix }: PathPattern, path: string): boolean =>
  isPrefix ? path.startsWith(text) : path === text;
