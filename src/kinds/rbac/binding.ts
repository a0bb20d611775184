import { limits } from '../../base/limits.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { boundedCount, errorsOfEach, type FieldError, invalid, notSupportedOf, required as requiredError } from '../../meta/field-error.ts';
import { isDnsSubdomain, isPathSegment } from '../../meta/formats.ts';
import { always, type Infer, list, opt, req, string, struct } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn, wide } from '../columns.ts';
import type { Column, Strategy } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';

const subject = struct(
  'api.rbac.v1.Subject',
  'Who gets the permissions of a role.',
  {
    kind: always(1, string(), '`User`, `Group` or `ServiceAccount`.'),
    apiGroup: opt(2, string(), 'Group of the kind: that of roles for users and groups, the core group otherwise.'),
    name: always(3, string(), 'Name of the subject.'),
    namespace: opt(4, string(), 'Namespace of a service account; within a namespace it may be left out, and is that of the binding.'),
  },
  { structType: 'atomic' },
);

const roleRef = struct(
  'api.rbac.v1.RoleRef',
  'Points at a role.',
  {
    apiGroup: always(1, string(), 'Group of the role.'),
    kind: always(2, string(), '`Role` or `ClusterRole`.'),
    name: always(3, string(), 'Name of the role.'),
  },
  { structType: 'atomic' },
);

export type Subject = Infer<typeof subject>;
export type RoleRef = Infer<typeof roleRef>;

/** Fields of RoleBinding and ClusterRoleBinding. */
interface BindingFields {
  subjects?: Subject[];
  roleRef: RoleRef;
}

/** roleRef is immutable. Otherwise a user who may only change the subjects could bind them to any role. */
const sameRole = {
  when: 'always',
  problem: { type: 'invalid', detail: 'cannot change roleRef', shows: 'value' },
} as const;

export const bindingSchema = (kind: string, description: string) =>
  kindSchema(`api.rbac.v1.${kind}`, description, {
    subjects: opt(2, list(subject), 'Who gets the permissions; may be nobody.'),
    roleRef: req(3, roleRef, 'The role that is bound. It can not be changed.', { presence: 'always', immutable: sameRole }),
  });

/** Casts a decoded RoleBinding or ClusterRoleBinding to its static type. */
export const asBinding = (object: ApiObject): ApiObject & BindingFields => object as ApiObject & BindingFields;

interface BindingRules {
  /** Full name of the RBAC API group. */
  readonly group: string;
  /** Kinds allowed in roleRef. */
  readonly roleKinds: readonly string[];
  readonly scope: 'Namespaced' | 'Cluster';
}

export function bindingStrategy(rules: BindingRules): Strategy {
  const validate = (object: ApiObject, old?: ApiObject): FieldError[] => {
    const { subjects = [] } = asBinding(object);
    const before = old && asBinding(old).subjects?.length;
    const counts = boundedCount('subjects', subjects.length, limits.bindingSubjectsMax, before);
    return counts.length > 0 ? counts : validateBinding(asBinding(object), rules);
  };
  return {
    default: (object) => addGroups(asBinding(object), rules.group),
    validateCreate: (object) => validate(object),
    validateUpdate: validate,
  };
}

/** Defaults the apiGroup of roleRef and of User and Group subjects to the RBAC group. */
function addGroups({ subjects = [], roleRef }: BindingFields, group: string): void {
  if (!roleRef.apiGroup) roleRef.apiGroup = group;
  for (const each of subjects) if (each.kind === 'User' || each.kind === 'Group') each.apiGroup ??= group;
}

const validateBinding = ({ subjects = [], roleRef }: BindingFields, rules: BindingRules): FieldError[] => [
  ...validateRoleRef(roleRef, rules),
  ...errorsOfEach(subjects, (each, index) => validateSubject(each, rules, `subjects[${index}]`)),
];

function validateRoleRef({ apiGroup, kind, name }: RoleRef, { group, roleKinds }: BindingRules): FieldError[] {
  const errors: FieldError[] = [];
  if (apiGroup !== group) errors.push(notSupportedOf('roleRef.apiGroup', apiGroup, [group]));
  if (!kind || !roleKinds.includes(kind)) errors.push(notSupportedOf('roleRef.kind', kind, roleKinds));
  if (!name) return [...errors, requiredError('roleRef.name')];
  return [...errors, ...isPathSegment(name).map((problem) => invalid('roleRef.name', name, problem))];
}

function validateSubject(each: Subject, rules: BindingRules, path: string): FieldError[] {
  const noName = each.name ? [] : [requiredError(`${path}.name`)];
  switch (each.kind) {
    case 'ServiceAccount':
      return [...noName, ...validateAccount(each, rules, path)];
    case 'User':
    case 'Group':
      return [...noName, ...validateGroup(each.apiGroup ?? '', [rules.group], path)];
    default:
      return [...noName, notSupportedOf(`${path}.kind`, each.kind, ['ServiceAccount', 'User', 'Group'])];
  }
}

function validateAccount({ name, apiGroup, namespace }: Subject, { scope }: BindingRules, path: string): FieldError[] {
  return [
    ...(name ? isDnsSubdomain(name).map((problem) => invalid(`${path}.name`, name, problem)) : []),
    ...validateGroup(apiGroup ?? '', [''], path),
    ...(scope === 'Cluster' && !namespace ? [requiredError(`${path}.namespace`)] : []),
  ];
}

const validateGroup = (group: string, supported: readonly string[], path: string): FieldError[] => (supported.includes(group) ? [] : [notSupportedOf(`${path}.apiGroup`, group, supported)]);

const subjectsOf = (kind: string, text: (each: Subject) => string) => (object: ApiObject) =>
  (asBinding(object).subjects ?? [])
    .filter((each) => each.kind === kind)
    .map(text)
    .join(', ');

const nameOf = ({ name = '' }: Subject): string => name;

export const bindingColumns: readonly Column[] = [
  nameColumn,
  column('Role', 'The role that is bound.', (object) => {
    const { kind = '', name = '' } = asBinding(object).roleRef;
    return `${kind}/${name}`;
  }),
  ageColumn,
  column('Users', 'Users that the role is bound to.', subjectsOf('User', nameOf), wide),
  column('Groups', 'Groups that the role is bound to.', subjectsOf('Group', nameOf), wide),
  column(
    'ServiceAccounts',
    'Service accounts that the role is bound to.',
    subjectsOf('ServiceAccount', ({ namespace = '', name = '' }) => `${namespace}/${name}`),
    wide,
  ),
];
