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

/** Compiles a policy: it is evaluated for every request. */
export function policyEvaluator({ rules, omitStages, omitManagedFields }: Policy): PolicyEvaluator {
  const compiled = rules.map((rule) => ({
    rule,
    matches: ruleMatcher(rule),
    verdict: {
      level: rule.level,
      omitStages: new Set([...omitStages, ...rule.omitStages]),
      omitManagedFields: rule.omitManagedFields ?? omitManagedFields,
    },
  }));
  const verbs = new Set(rules.flatMap((rule) => rule.verbs));
  /** The rules for requests of a type: by verb where a rule names it, and for all other verbs. */
  const rulesFor = (type: RequestInfo['type']) => {
    const ofType = compiled.filter(({ rule }) => (type === 'path' ? !isAboutResources(rule) : !isAboutPaths(rule)));
    const ofVerb = (verb: string) => ofType.filter(({ rule }) => rule.verbs.length === 0 || rule.verbs.includes(verb));
    return {
      named: new Map([...verbs].map((verb) => [verb, ofVerb(verb)])),
      others: ofType.filter(({ rule }) => rule.verbs.length === 0),
    };
  };
  const ofResources = rulesFor('resource');
  const ofPaths = rulesFor('path');
  const otherwise: Verdict = { level: 'None', omitStages: new Set(omitStages), omitManagedFields };
  return (info, user) => {
    const { named, others } = info.type === 'resource' ? ofResources : ofPaths;
    for (const { matches, verdict } of named.get(info.verb) ?? others) if (matches(info, user)) return verdict;
    return otherwise;
  };
}

type Matcher = (info: RequestInfo, user: UserInfo | undefined) => boolean;

/** A rule with namespaces or resources is about resources, one with paths about paths; validation excludes both. */
const isAboutResources = ({ namespaces, resources }: PolicyRule): boolean =>
  namespaces.length > 0 || resources.length > 0;
const isAboutPaths = ({ nonResourceURLs }: PolicyRule): boolean => nonResourceURLs.length > 0;

/** All conditions but the verb must hold; absent ones are left out. */
function ruleMatcher(rule: PolicyRule): Matcher {
  const conditions = [...userConditions(rule), ...targetConditions(rule)];
  return (info, user) => {
    for (const holds of conditions) if (!holds(info, user)) return false;
    return true;
  };
}

function userConditions({ users, userGroups }: PolicyRule): readonly Matcher[] {
  const [names, groups] = [new Set(users), new Set(userGroups)];
  return [
    ...(names.size > 0
      ? [(_: RequestInfo, user: UserInfo | undefined) => user !== undefined && names.has(user.username)]
      : []),
    ...(groups.size > 0
      ? [(_: RequestInfo, user: UserInfo | undefined) => user?.groups.some((group) => groups.has(group)) === true]
      : []),
  ];
}

function targetConditions(rule: PolicyRule): readonly Matcher[] {
  if (isAboutResources(rule)) return [resourceMatcher(rule.namespaces, rule.resources)];
  if (!isAboutPaths(rule)) return [];
  const patterns = rule.nonResourceURLs.map(pathPattern);
  return [(info) => info.type === 'path' && patterns.some((matches) => matches(info.path))];
}

function resourceMatcher(namespaces: readonly string[], resources: readonly GroupResources[]): Matcher {
  const within = new Set(namespaces);
  const groups = resources.map(groupMatcher);
  return (info) =>
    info.type === 'resource' &&
    (within.size === 0 || within.has(info.namespace)) &&
    (groups.length === 0 || groups.some((matches) => matches(info)));
}

function groupMatcher({ group, resources, resourceNames }: GroupResources): (info: ResourceRequest) => boolean {
  if (resources.length === 0) return (info) => info.group === group;
  const [exact, names] = [new Set(resources), new Set(resourceNames)];
  return ({ group: asked, resource, subresource, name }) =>
    asked === group &&
    (names.size === 0 || names.has(name)) &&
    (exact.has('*') ||
      exact.has(subresource === '' ? resource : `${resource}/${subresource}`) ||
      exact.has(`${resource}/*`) ||
      (subresource !== '' && exact.has(`*/${subresource}`)));
}

function pathPattern(pattern: string): (path: string) => boolean {
  if (!pattern.endsWith('*')) return (path) => path === pattern;
  const prefix = pattern.replace(/\*+$/, '');
  return (path) => path.startsWith(prefix);
}
