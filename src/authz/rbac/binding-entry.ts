import type { Subject } from '../../kinds/rbac/binding.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { Decision } from '../authorizer.ts';

/** A binding in the RBAC index. */
export interface BindingEntry {
  readonly kind: 'RoleBinding' | 'ClusterRoleBinding';
  /** Empty for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly name: string;
  /** As written: `Role`, `ClusterRole`, or an unsupported kind. */
  readonly roleKind: string;
  readonly roleName: string;
  /** First position of each user and group in the list of subjects. */
  readonly users: ReadonlyMap<string, number>;
  readonly groups: ReadonlyMap<string, number>;
  readonly subjects: readonly Subject[];
  /** By position of the subject; created on demand. */
  readonly decisions: (Decision | undefined)[];
}

/** User name of a service account (spec section 5.3). */
const accountUsername = (namespace: string, name: string): string => `system:serviceaccount:${namespace}:${name}`;

/** Builds the index of subjects. Subjects of unknown kinds match nobody. */
export function makeBindingEntry(binding: Omit<BindingEntry, 'users' | 'groups' | 'decisions'>): BindingEntry {
  const users = new Map<string, number>();
  const groups = new Map<string, number>();
  for (const [position, { kind, name = '', namespace = '' }] of binding.subjects.entries()) {
    if (kind === 'Group') setFirst(groups, name, position);
    else if (kind === 'User') setFirst(users, name, position);
    else if (kind === 'ServiceAccount') {
      // The namespace defaults to that of a RoleBinding.
      const accountNamespace = namespace || binding.namespace;
      if (accountNamespace !== '') setFirst(users, accountUsername(accountNamespace, name), position);
    }
  }
  return { ...binding, users, groups, decisions: [] };
}

function setFirst(map: Map<string, number>, key: string, position: number): void {
  if (!map.has(key)) map.set(key, position);
}

/** The decision for a request that the binding allows. Its reason names the first subject that matches the user. */
export function allowedBy(binding: BindingEntry, user: UserInfo): Decision {
  let first = binding.users.get(user.username) ?? Number.POSITIVE_INFINITY;
  for (const group of user.groups) first = Math.min(first, binding.groups.get(group) ?? first);
  let decision = binding.decisions[first];
  if (!decision) {
    decision = { verdict: 'allow', reason: `RBAC: allowed by ${describe(binding, binding.subjects[first])}` };
    binding.decisions[first] = decision;
  }
  return decision;
}

function describe(binding: BindingEntry, subject: Subject | undefined): string {
  const { kind, namespace, name, roleKind, roleName } = binding;
  const binds = `${kind} ${quote(namespace === '' ? name : `${name}/${namespace}`)} of ${roleKind} ${quote(roleName)}`;
  const { kind: subjectKind = '', name: subjectName = '' } = subject ?? {};
  const account = subjectKind === 'ServiceAccount' ? `/${subject?.namespace || namespace}` : '';
  return `${binds} to ${subjectKind} ${quote(subjectName + account)}`;
}

const quote = (text: string): string => JSON.stringify(text);
