import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { errorsOfEach, type FieldError, invalid, invalidTexts, required } from '../../meta/field-error.ts';
import { always, documentedEnum, type Infer, list, map, opt, ptr, quantity, string, struct } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { clearStatus, statusView } from '../meta/status-view.ts';
import { typed } from '../typed.ts';
import { roundUpAmounts } from './resource-amounts.ts';
import { isQuotaResource, validateQuotaResourceName, validateResourceAmount } from './resource-names.ts';

const scopedResourceSelectorRequirement = struct('api.core.v1.ScopedResourceSelectorRequirement', 'A scope, and which of its values.', {
  scopeName: always(1, documentedEnum('BestEffort', 'CrossNamespacePodAffinity', 'NotBestEffort', 'NotTerminating', 'PriorityClass', 'Terminating'), 'Name of the scope.'),
  operator: always(2, documentedEnum('DoesNotExist', 'Exists', 'In', 'NotIn'), 'One of `In`, `NotIn`, `Exists`, `DoesNotExist`.'),
  values: opt(3, list(string()), 'Values for `In` and `NotIn`; empty for the other operators.'),
});

const scopeSelector = struct(
  'api.core.v1.ScopeSelector',
  'Selects scopes by their values; all conditions must hold.',
  {
    matchExpressions: opt(1, list(scopedResourceSelectorRequirement), 'Conditions that must all hold.'),
  },
  { structType: 'atomic' },
);

const resourceQuotaSpec = struct('api.core.v1.ResourceQuotaSpec', 'How much there may be in the namespace.', {
  hard: opt(1, map(quantity()), 'Most of each resource.'),
  scopes: opt(2, list(documentedEnum('BestEffort', 'CrossNamespacePodAffinity', 'NotBestEffort', 'NotTerminating', 'PriorityClass', 'Terminating')), 'What is counted; everything where it is empty.'),
  scopeSelector: ptr(3, scopeSelector, 'What is counted, by scopes and their values.'),
});

const resourceQuotaStatus = struct('api.core.v1.ResourceQuotaStatus', 'What the quota counts, and how much there is.', {
  hard: opt(1, map(quantity()), 'Most of each resource, as it is enforced.'),
  used: opt(2, map(quantity()), 'How much there is of each.'),
});

const schema = kindSchema('api.core.v1.ResourceQuota', 'How much of each resource all objects of a namespace may have together.', {
  spec: always(2, resourceQuotaSpec, 'What may be there.'),
  status: always(3, resourceQuotaStatus, 'What is there.'),
});

type Spec = Infer<typeof resourceQuotaSpec>;
type Status = Infer<typeof resourceQuotaStatus>;
type Requirement = Infer<typeof scopedResourceSelectorRequirement>;

const specOf = (object: ApiObject): Spec => typed(schema, object).spec ?? {};
const statusOf = (object: ApiObject): Status => typed(schema, object).status ?? {};

function setDefaults(object: ApiObject): void {
  for (const amounts of [specOf(object).hard, statusOf(object).hard, statusOf(object).used]) roundUpAmounts(amounts);
}

const podScopes: ReadonlySet<string> = new Set(['Terminating', 'NotTerminating', 'NotBestEffort', 'PriorityClass', 'CrossNamespacePodAffinity']);
const scopes: ReadonlySet<string> = new Set([...podScopes, 'BestEffort']);
/** Scopes that hold or do not, without a value. */
const plainScopes: ReadonlySet<string> = new Set([...scopes].filter((scope) => scope !== 'PriorityClass'));
const podResources: ReadonlySet<string> = new Set(['pods', 'cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory']);
const opposites = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const;

/** Whether a scope says something of a resource. */
function concerns(scope: string, resource: string): boolean {
  if (scope === 'BestEffort') return resource === 'pods';
  return !podScopes.has(scope) || podResources.has(resource);
}

/** The resources that a scope says nothing of. */
const unconcerned = ({ hard = {} }: Spec, scope: string): readonly string[] => Object.keys(hard).filter((name) => isQuotaResource(name) && !concerns(scope, name));

const invalidScopes = (field: string, named: readonly string[], detail: string): FieldError => invalidTexts(field, named, detail, 'core.ResourceQuotaScope');

const conflicts = (names: readonly (string | undefined)[], field: string, shown: readonly string[]): FieldError[] =>
  opposites.filter((pair) => pair.every((scope) => names.includes(scope))).map(() => invalidScopes(field, shown, 'conflicting scopes'));

const validateAmounts = (amounts: Readonly<Record<string, string>> = {}, path: string, domain: string): FieldError[] =>
  errorsOfEach(Object.entries(amounts), ([name, amount]) => [...validateQuotaResourceName(name, `${path}[${name}]`), ...validateResourceAmount(name, amount, `${path}[${name}]`, domain)]);

const validateSpec = (spec: Spec, domain: string): FieldError[] => [...validateAmounts(spec.hard, 'spec.hard', domain), ...validateScopes(spec), ...validateSelector(spec)];

function validateScopes(spec: Spec): FieldError[] {
  const { scopes: named = [] } = spec;
  const field = 'spec.scopes';
  return [
    ...errorsOfEach(named, (scope) => [
      ...(scopes.has(scope) ? [] : [invalidScopes(field, named, 'unsupported scope')]),
      ...unconcerned(spec, scope).map(() => invalidScopes(field, named, 'unsupported scope applied to resource')),
    ]),
    ...conflicts(named, field, named),
  ];
}

/** Errors name the list, not the requirement, as published. */
function validateSelector(spec: Spec): FieldError[] {
  const requirements = spec.scopeSelector?.matchExpressions ?? [];
  const field = 'spec.scopeSelector.matchExpressions';
  return [
    ...errorsOfEach(requirements, (requirement) => [
      ...(scopes.has(requirement.scopeName ?? '') ? [] : [invalid(`${field}.scopeName`, requirement.scopeName ?? '', 'unsupported scope')]),
      ...unconcerned(spec, requirement.scopeName ?? '').map(() => invalid(field, spec.scopeSelector, 'unsupported scope applied to resource')),
      ...validateOperator(requirement, field),
    ]),
    ...conflicts(
      requirements.map(({ scopeName }) => scopeName),
      field,
      spec.scopes ?? [],
    ),
  ];
}

function validateOperator({ scopeName = '', operator = '', values = [] }: Requirement, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (plainScopes.has(scopeName) && operator !== 'Exists') {
    const rule =
      "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
    errors.push(invalid(`${path}.operator`, operator, rule));
  }
  switch (operator) {
    case 'In':
    case 'NotIn':
      return values.length > 0 ? errors : [...errors, required(`${path}.values`, "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")];
    case 'Exists':
    case 'DoesNotExist':
      return values.length === 0 ? errors : [...errors, invalid(`${path}.values`, values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector")];
    default:
      return [...errors, invalid(`${path}.operator`, operator, 'not a valid selector operator')];
  }
}

function validateUpdate(object: ApiObject, old: ApiObject, domain: string): FieldError[] {
  const [now, before] = [specOf(object), specOf(old)];
  const [named, stored] = [new Set(now.scopes), new Set(before.scopes)];
  const isSame = named.size === stored.size && [...named].every((scope) => stored.has(scope));
  return [...validateSpec(now, domain), ...(isSame ? [] : [invalidScopes('spec.scopes', now.scopes ?? [], 'field is immutable')])];
}

const validateStatus = ({ hard, used }: Status, domain: string): FieldError[] => [...validateAmounts(hard, 'status.hard', domain), ...validateAmounts(used, 'status.used', domain)];

/** What is used, and may be: limits have a column of their own. */
function shown(object: ApiObject, which: 'requests' | 'limits'): string {
  const { hard = {}, used = {} } = statusOf(object);
  const names = Object.keys(hard).filter((name) => name.startsWith('limits.') === (which === 'limits'));
  return names
    .sort()
    .map((name) => `${name}: ${used[name] ?? '0'}/${hard[name]}`)
    .join(', ');
}

export const resourceQuota = ({ domain }: Dialect): Kind =>
  defineKind({
    kind: 'ResourceQuota',
    shortNames: ['quota'],
    schema,
    columns: [
      nameColumn,
      ageColumn,
      column('Request', 'What is used of requests and objects, and may be.', (object) => shown(object, 'requests')),
      column('Limit', 'What is used of limits, and may be.', (object) => shown(object, 'limits')),
    ],
    strategy: {
      default: setDefaults,
      prepareForCreate: clearStatus(schema),
      validateCreate: (object) => validateSpec(specOf(object), domain),
      validateUpdate: (object, old) => validateUpdate(object, old, domain),
    },
    deleteReturnsObject: true,
    subresources: [statusView((object) => validateStatus(statusOf(object), domain))],
  });
