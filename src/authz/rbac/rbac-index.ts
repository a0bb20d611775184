import { limits } from '../../base/limits.ts';
import { asBinding } from '../../kinds/rbac/binding.ts';
import { asClusterRole } from '../../kinds/rbac/cluster-role.ts';
import type { PolicyRule } from '../../kinds/rbac/policy-rule.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { Attributes, Authorizer, Decision, PathAttributes, ResourceAttributes } from '../authorizer.ts';
import type { RuleResolver, UserRules } from '../rule-resolver.ts';
import { allowedBy, type BindingEntry, makeBindingEntry } from './binding-entry.ts';
import { type CompiledRole, compileRole } from './compiled-role.ts';
import { AnswerBudget, Grants } from './grants.ts';

/** The kinds in the index. */
export type RbacKind = 'Role' | 'ClusterRole' | 'RoleBinding' | 'ClusterRoleBinding';

/** Rules that a user holds, as written, and lookup errors. */
export interface HeldRules {
  readonly rules: readonly PolicyRule[];
  readonly errors: readonly string[];
}

/** Lists the rules that a user holds, for the escalation check. */
interface RuleHolder {
  heldRules(user: UserInfo, namespace: string): HeldRules;
}

/** The bindings of a namespace, or the cluster-wide ones, by subject. */
interface Scope {
  readonly users: Map<string, Grants>;
  readonly groups: Map<string, Grants>;
}

const cluster = '';

/**
 * Roles and bindings, indexed so that a decision only examines those that concern the user (spec section 5.8):
 *
 *     scopes:  '' -> users: jane -> Grants { binding, ... }      cluster-wide bindings
 *                    groups: dev -> Grants { ... }
 *              team -> ...                                       bindings in a namespace
 *     roles:   /view -> rules        a cluster role
 *              team/own -> rules     a role in a namespace
 *     boundTo: /view -> bindings that refer to it, whether it exists or not
 *
 * Updated from watch events in any order: a binding may precede its role. Updates are synchronous, so decisions never see a
 * partial change.
 */
export class RbacIndex implements Authorizer, RuleResolver, RuleHolder {
  readonly #group: string;
  readonly #roles = new Map<string, CompiledRole>();
  readonly #bindings = new Map<string, BindingEntry>();
  readonly #boundTo = new Map<string, Set<BindingEntry>>();
  readonly #scopes = new Map<string, Scope>();
  /** Number of bindings, in any scope, that name each user and group. */
  readonly #bound: BoundSubjects = { users: new Map(), groups: new Map() };
  readonly #budget = new AnswerBudget();

  /** `group`: full name of the RBAC API group, for messages. */
  constructor(group: string) {
    this.#group = group;
  }

  /**
   * Adds or replaces an object. `object` is decoded and must not be modified afterwards. An object of a namespaced kind without
   * a namespace is ignored: it must not be treated as cluster-wide.
   */
  put(kind: RbacKind, object: ApiObject): void {
    const { namespace = '', name = '' } = object.metadata;
    if (isNamespaced(kind) !== (namespace !== cluster)) return;
    const key = keyOf(namespace, name);
    if (kind === 'Role' || kind === 'ClusterRole') this.#putRole(key, object);
    else this.#putBinding(kind, key, object);
  }

  /** Removes an object, if present. `namespace` is empty for cluster-scoped kinds. */
  remove(kind: RbacKind, namespace: string, name: string): void {
    if (isNamespaced(kind) !== (namespace !== cluster)) return;
    const key = keyOf(namespace, name);
    if (kind === 'RoleBinding' || kind === 'ClusterRoleBinding') this.#removeBinding(key);
    else if (this.#roles.delete(key)) this.#roleChanged(key);
  }

  authorize(attributes: Attributes, user: UserInfo): Decision {
    const binding =
      attributes.type === 'path' ? this.#findForPath(attributes, user) : this.#findForResource(attributes, user);
    if (binding) return allowedBy(binding, user);
    const missing = this.#missingRoles(user, attributes.type === 'path' ? cluster : attributes.namespace);
    return missing.length === 0 ? noOpinion : { verdict: 'noOpinion', reason: `RBAC: ${joinErrors(missing)}` };
  }

  rulesFor(user: UserInfo, namespace: string): UserRules {
    const { rules, errors } = this.heldRules(user, namespace);
    return {
      resourceRules: rules
        .filter(({ resources = [] }) => resources.length > 0)
        .map(({ verbs, apiGroups = [], resources = [], resourceNames = [] }) => ({
          verbs,
          apiGroups,
          resources,
          resourceNames,
        })),
      pathRules: rules
        .filter(({ nonResourceURLs = [] }) => nonResourceURLs.length > 0)
        .map(({ verbs, nonResourceURLs = [] }) => ({ verbs, nonResourceURLs })),
      incomplete: false,
      errors,
    };
  }

  /** True if any binding, in any namespace, names the user. */
  isUserBound(username: string): boolean {
    return this.#bound.users.has(username);
  }

  /** True if any binding, in any namespace, names the group. */
  isGroupBound(group: string): boolean {
    return this.#bound.groups.has(group);
  }

  /** The rules of each role once, those bound cluster-wide first. */
  heldRules(user: UserInfo, namespace: string): HeldRules {
    const roles = new Set<CompiledRole>();
    for (const grants of this.#grantsOf(user, namespace)) {
      for (const binding of grants.bindings) {
        const role = this.#roleOf(binding);
        if (role) roles.add(role);
      }
    }
    return { rules: [...roles].flatMap(({ rules }) => rules), errors: this.#missingRoles(user, namespace) };
  }

  /** The rules of the role that a binding in `namespace` refers to; undefined if it does not exist. */
  roleRules(kind: string, name: string, namespace: string): readonly PolicyRule[] | undefined {
    const key = referredKey(kind, name, namespace);
    return key === undefined ? undefined : this.#roles.get(key)?.rules;
  }

  #putRole(key: string, object: ApiObject): void {
    this.#roles.set(key, compileRole(asClusterRole(object).rules ?? []));
    this.#roleChanged(key);
  }

  #roleChanged(key: string): void {
    for (const binding of this.#boundTo.get(key) ?? [])
      for (const grants of this.#grantsOfBinding(binding)) grants.forget();
  }

  #putBinding(kind: BindingEntry['kind'], key: string, object: ApiObject): void {
    const { namespace = '', name = '' } = object.metadata;
    const { roleRef, subjects = [] } = asBinding(object);
    this.#removeBinding(key);
    const { kind: roleKind = '', name: roleName = '' } = roleRef ?? {};
    const binding = makeBindingEntry({ kind, namespace, name, roleKind, roleName, subjects });
    this.#bindings.set(key, binding);
    const role = referredKey(roleKind, roleName, namespace);
    if (role !== undefined) addTo(this.#boundTo, role, binding);
    const scope = this.#makeScope(namespace);
    for (const user of binding.users.keys()) this.#makeGrants(scope.users, user).add(binding);
    for (const group of binding.groups.keys()) this.#makeGrants(scope.groups, group).add(binding);
    countSubjects(this.#bound, binding, 1);
  }

  #removeBinding(key: string): void {
    const binding = this.#bindings.get(key);
    if (!binding) return;
    this.#bindings.delete(key);
    const role = referredKey(binding.roleKind, binding.roleName, binding.namespace);
    if (role !== undefined) deleteFrom(this.#boundTo, role, binding);
    const scope = this.#makeScope(binding.namespace);
    for (const user of binding.users.keys()) removeGrant(scope.users, user, binding);
    for (const group of binding.groups.keys()) removeGrant(scope.groups, group, binding);
    if (scope.users.size + scope.groups.size === 0) this.#scopes.delete(binding.namespace);
    countSubjects(this.#bound, binding, -1);
  }

  #makeScope(namespace: string): Scope {
    let scope = this.#scopes.get(namespace);
    if (!scope) {
      scope = { users: new Map(), groups: new Map() };
      this.#scopes.set(namespace, scope);
    }
    return scope;
  }

  #makeGrants(of: Map<string, Grants>, subject: string): Grants {
    let grants = of.get(subject);
    if (!grants) {
      grants = new Grants(this.#roleOf, this.#budget);
      of.set(subject, grants);
    }
    return grants;
  }

  readonly #roleOf = ({ roleKind, roleName, namespace }: BindingEntry): CompiledRole | undefined => {
    const key = referredKey(roleKind, roleName, namespace);
    return key === undefined ? undefined : this.#roles.get(key);
  };

  *#grantsOfBinding({ namespace, users, groups }: BindingEntry): Generator<Grants> {
    const scope = this.#scopes.get(namespace);
    if (!scope) return;
    yield* present(scope.users, users.keys());
    yield* present(scope.groups, groups.keys());
  }

  /** The grants of a user and its groups, cluster-wide ones first. */
  *#grantsOf(user: UserInfo, namespace: string): Generator<Grants> {
    for (const name of namespace === cluster ? [cluster] : [cluster, namespace]) {
      const scope = this.#scopes.get(name);
      if (!scope) continue;
      yield* present(scope.users, [user.username]);
      yield* present(scope.groups, user.groups);
    }
  }

  #findForResource(attributes: ResourceAttributes, user: UserInfo): BindingEntry | undefined {
    const { verb, group, resource, subresource, namespace, name } = attributes;
    // The lengths make the key unambiguous for any characters in the parts.
    const key = `${verb.length} ${group.length} ${resource.length} ${verb}${group}${resource}${subresource}`;
    const ask = (grants: Grants): BindingEntry | undefined => grants.allowsResource(attributes, key, name);
    const found = firstIn(this.#scopes.get(cluster), user, ask);
    return found ?? (namespace === cluster ? undefined : firstIn(this.#scopes.get(namespace), user, ask));
  }

  /** Paths belong to no namespace, so only cluster-wide bindings apply. */
  #findForPath(attributes: PathAttributes, user: UserInfo): BindingEntry | undefined {
    return firstIn(this.#scopes.get(cluster), user, (grants) => grants.allowsPath(attributes));
  }

  /** One message for each missing role; limited to the first ones. */
  #missingRoles(user: UserInfo, namespace: string): readonly string[] {
    let texts: Set<string> | undefined;
    for (const { dangling } of this.#grantsOf(user, namespace)) {
      for (const binding of dangling) {
        texts ??= new Set();
        texts.add(this.#describeMissing(binding));
      }
    }
    return texts ? [...texts].slice(0, limits.rbacMissingRolesShown) : none;
  }

  #describeMissing({ roleKind, roleName }: BindingEntry): string {
    if (roleKind !== 'Role' && roleKind !== 'ClusterRole') {
      return `unsupported role reference kind: ${JSON.stringify(roleKind)}`;
    }
    return `${roleKind.toLowerCase()}.${this.#group} ${JSON.stringify(roleName)} not found`;
  }
}

const noOpinion: Decision = { verdict: 'noOpinion', reason: '' };
const none: readonly string[] = [];

interface BoundSubjects {
  readonly users: Map<string, number>;
  readonly groups: Map<string, number>;
}

function countSubjects(bound: BoundSubjects, { users, groups }: BindingEntry, by: 1 | -1): void {
  for (const user of users.keys()) count(bound.users, user, by);
  for (const group of groups.keys()) count(bound.groups, group, by);
}

function count(counts: Map<string, number>, subject: string, by: 1 | -1): void {
  const now = (counts.get(subject) ?? 0) + by;
  if (now > 0) counts.set(subject, now);
  else counts.delete(subject);
}

/** Several errors as one string, in kube-apiserver's format. */
const joinErrors = (errors: readonly string[]): string =>
  errors.length === 1 ? String(errors[0]) : `[${errors.join(', ')}]`;

const isNamespaced = (kind: RbacKind): boolean => kind === 'Role' || kind === 'RoleBinding';

/** Unambiguous, since namespaces contain no slash. */
const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;

/** The key of the role that a reference from a namespace refers to; undefined if the reference is invalid. */
function referredKey(kind: string, name: string, namespace: string): string | undefined {
  if (kind === 'ClusterRole') return keyOf(cluster, name);
  return kind === 'Role' && namespace !== cluster ? keyOf(namespace, name) : undefined;
}

function* present(of: ReadonlyMap<string, Grants>, subjects: Iterable<string>): Generator<Grants> {
  for (const subject of subjects) {
    const grants = of.get(subject);
    if (grants) yield grants;
  }
}

/** The first binding that allows the request: the user's before the groups'. */
function firstIn(
  scope: Scope | undefined,
  user: UserInfo,
  ask: (grants: Grants) => BindingEntry | undefined,
): BindingEntry | undefined {
  if (!scope) return undefined;
  const own = scope.users.get(user.username);
  const found = own && ask(own);
  if (found) return found;
  for (const group of user.groups) {
    const shared = scope.groups.get(group);
    const foundForGroup = shared && ask(shared);
    if (foundForGroup) return foundForGroup;
  }
  return undefined;
}

function removeGrant(of: Map<string, Grants>, subject: string, binding: BindingEntry): void {
  const grants = of.get(subject);
  if (!grants) return;
  grants.delete(binding);
  if (grants.bindings.size === 0) of.delete(subject);
}

function addTo<T>(sets: Map<string, Set<T>>, key: string, value: T): void {
  const set = sets.get(key);
  if (set) set.add(value);
  else sets.set(key, new Set([value]));
}

function deleteFrom<T>(sets: Map<string, Set<T>>, key: string, value: T): void {
  const set = sets.get(key);
  if (set?.delete(value) && set.size === 0) sets.delete(key);
}
