import type { Dialect } from '../../../dialect/dialect.ts';
import type { FlowSchemaSpec, FlowSubject, PathRule, ResourceRule } from '../../../kinds/flowcontrol/flow-schemas.ts';
import type { RequestInfo } from '../../../request/request-info.ts';
import { groupAccounts, serviceAccountPrefix } from '../../../request/service-account-user.ts';
import { groupAuthenticated, groupUnauthenticated, type UserInfo } from '../../../request/user-info.ts';
import { exemptLevel, lastLevel } from './priority-levels.ts';

/** A class of requests and its priority level. */
export interface FlowSchema {
  readonly name: string;
  readonly level: string;
  /** Distinguishes the flows of one tenant: by user, by the namespace of the request, or not at all. */
  readonly distinguisher: 'user' | 'namespace' | 'none';
  /** UIDs of the objects of schema and level, which answers name. Absent where there is none. */
  readonly uid?: string | undefined;
  readonly levelUid?: string | undefined;
}

/** A FlowSchema that was read. */
export interface ReadFlowSchema extends FlowSchema {
  readonly precedence: number;
  readonly rules: readonly ReadRule[];
}

interface ReadRule {
  /** Whether a user is one of the subjects. */
  readonly isFor: (user: UserInfo) => 'no' | 'as everybody' | 'yes';
  readonly matches: (info: RequestInfo) => boolean;
}

/** The schema of in-process clients. */
export const exemptSchema: FlowSchema = { name: 'exempt', level: exemptLevel, distinguisher: 'user' };

/** The schema of what no other matches. */
const lastSchema: FlowSchema = { name: 'catch-all', level: lastLevel, distinguisher: 'user' };

const distinguishers: Readonly<Record<string, FlowSchema['distinguisher']>> = {
  ByUser: 'user',
  ByNamespace: 'namespace',
};

/** UIDs of objects by their names. */
export type Uids = ReadonlyMap<string, string>;

/** Compiles a FlowSchema. */
export const flowSchema = (
  name: string,
  spec: FlowSchemaSpec,
  { levels, schemas }: { readonly levels: Uids; readonly schemas: Uids },
): ReadFlowSchema => ({
  ...{ name, uid: schemas.get(name), levelUid: levels.get(levelOf(spec)) },
  level: levelOf(spec),
  distinguisher: distinguishers[spec.distinguisherMethod?.type ?? ''] ?? 'none',
  precedence: spec.matchingPrecedence ?? 1000,
  rules: (spec.rules ?? []).map(({ subjects = [], resourceRules = [], nonResourceRules = [] }) => {
    const [resources, paths] = [resourceRules.map(resourceMatcher), nonResourceRules.map(pathMatcher)];
    return {
      isFor: subjectMatcher(subjects),
      matches: (info) =>
        info.type === 'resource' ? resources.some((each) => each(info)) : paths.some((each) => each(info)),
    };
  }),
});

const levelOf = ({ priorityLevelConfiguration }: FlowSchemaSpec): string => priorityLevelConfiguration?.name ?? '';

const all = '*';

/** Groups that a user is in whoever it is. */
const groupsOfEverybody: readonly string[] = [all, groupAuthenticated, groupUnauthenticated, groupAccounts];

function subjectMatcher(subjects: readonly FlowSubject[]): ReadRule['isFor'] {
  const users = new Set<string>();
  const groups = new Set<string>();
  const ofEverybody = new Set<string>();
  const accountsOf = new Set<string>();
  for (const { kind, user, group, serviceAccount } of subjects) {
    if (kind === 'User' && user?.name === all) ofEverybody.add(all);
    else if (kind === 'User') users.add(user?.name ?? '');
    else if (kind === 'Group')
      (groupsOfEverybody.includes(group?.name ?? '') ? ofEverybody : groups).add(group?.name ?? '');
    else if (kind === 'ServiceAccount') {
      const { namespace = '', name = '' } = serviceAccount ?? {};
      const prefix = `${serviceAccountPrefix}${namespace}:`;
      if (name === all) accountsOf.add(prefix);
      else users.add(`${prefix}${name}`);
    }
  }
  return ({ username, groups: own }) => {
    if (users.has(username) || own.some((group) => groups.has(group)) || accountsOf.has(accountsPrefix(username)))
      return 'yes';
    return ofEverybody.has(all) || own.some((group) => ofEverybody.has(group)) ? 'as everybody' : 'no';
  };
}

/** What the names of all service accounts of this one's namespace begin with; '' for other users. */
const accountsPrefix = (username: string): string =>
  username.startsWith(serviceAccountPrefix)
    ? username.slice(0, username.indexOf(':', serviceAccountPrefix.length) + 1)
    : '';

/** A list of names with `*` for all of them. */
function nameMatcher(names: readonly string[] = []): (name: string) => boolean {
  if (names.includes(all)) return () => true;
  const [only] = names;
  if (names.length === 1) return (name) => name === only;
  const known = new Set(names);
  return (name) => known.has(name);
}

function resourceMatcher(rule: ResourceRule): (info: RequestInfo & { readonly type: 'resource' }) => boolean {
  const [verb, group] = [nameMatcher(rule.verbs), nameMatcher(rule.apiGroups)];
  const [resource, namespace] = [nameMatcher(rule.resources), nameMatcher(rule.namespaces)];
  const { clusterScope = false } = rule;
  return (info) =>
    verb(info.verb) &&
    group(info.group) &&
    resource(info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`) &&
    (info.namespace === '' ? clusterScope : namespace(info.namespace));
}

function pathMatcher(rule: PathRule): (info: RequestInfo & { readonly type: 'path' }) => boolean {
  const verb = nameMatcher(rule.verbs);
  const isAt = (rule.nonResourceURLs ?? []).map((url) => {
    const below = url.replace(/\*$/, '').replace(/([^/])$/, '$1/');
    return (path: string): boolean => url === all || path === url || path.startsWith(below);
  });
  return ({ path, verb: asked }) => verb(asked) && isAt.some((each) => each(path));
}

/**
 * Finds the schema of a request: of those that match the one with the lowest precedence, then name. Subjects are looked at
 * once for each user that authenticators know.
 *
 * Unlike in kube-apiserver, a schema counts for someone without any role of their own only if it names them more closely
 * than by a group that everybody is in: who may do nothing of their own shares the last level with all others like that.
 */
export class FlowClassifier {
  readonly #schemas: readonly ReadFlowSchema[];
  readonly #hasRole: (user: UserInfo) => boolean;
  readonly #last: FlowSchema;
  readonly #byUser = new WeakMap<UserInfo, readonly Candidate[]>();

  constructor(schemas: readonly ReadFlowSchema[], hasRole: (user: UserInfo) => boolean) {
    this.#schemas = schemas.toSorted((a, b) => a.precedence - b.precedence || (a.name < b.name ? -1 : 1));
    this.#hasRole = hasRole;
    this.#last = schemas.find(({ name }) => name === lastSchema.name) ?? lastSchema;
  }

  /** Schemas of levels that are not there do not count. */
  schemaOf(user: UserInfo, info: RequestInfo, hasLevel: (name: string) => boolean): FlowSchema {
    let isStranger: boolean | undefined;
    for (const { schema, rule, asEverybody } of this.#candidates(user)) {
      if (!rule.matches(info) || !hasLevel(schema.level)) continue;
      if (!asEverybody) return schema;
      isStranger ??= !this.#hasRole(user);
      if (!isStranger) return schema;
    }
    return this.#last;
  }

  #candidates(user: UserInfo): readonly Candidate[] {
    const known = this.#byUser.get(user);
    if (known) return known;
    const candidates = this.#schemas.flatMap((schema) =>
      schema.rules.flatMap((rule) => {
        const isFor = rule.isFor(user);
        return isFor === 'no' ? [] : [{ schema, rule, asEverybody: isFor === 'as everybody' }];
      }),
    );
    this.#byUser.set(user, candidates);
    return candidates;
  }
}

/** A rule whose subjects a user is among. */
interface Candidate {
  readonly schema: FlowSchema;
  readonly rule: ReadRule;
  readonly asEverybody: boolean;
}

/**
 * The name of the tenant that a user's requests count against. All service accounts of a namespace are one tenant,
 * except those of the system namespace, which only administrators create.
 */
export function tenantName({ username }: UserInfo, { namespaces }: Dialect): string {
  const prefix = accountsPrefix(username);
  if (prefix === '') return username;
  const namespace = prefix.slice(serviceAccountPrefix.length, -1);
  return namespace === namespaces.system ? username : `system:serviceaccounts:${namespace}`;
}
