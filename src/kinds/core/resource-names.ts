import { type FieldError, invalid } from '../../meta/field-error.ts';
import { isQualifiedName } from '../../meta/formats.ts';
import { parseQuantity } from '../../meta/quantity.ts';
import { failing } from './pod/validation/field-checks.ts';
import { isNative } from './pod/validation/resources-validation.ts';

/** Names of resources that are counted in whole objects. */
const counted = ['pods', 'resourcequotas', 'services', 'replicationcontrollers', 'secrets', 'configmaps', 'persistentvolumeclaims', 'services.nodeports', 'services.loadbalancers'] as const;
const computed = ['cpu', 'memory', 'ephemeral-storage', 'requests.cpu', 'requests.memory', 'requests.ephemeral-storage', 'limits.cpu', 'limits.memory', 'limits.ephemeral-storage'] as const;

const integers: ReadonlySet<string> = new Set(counted);
const quotas: ReadonlySet<string> = new Set([...counted, ...computed, 'requests.storage']);

const isHugePages = (name: string): boolean => /^(?:requests\.)?hugepages-/.test(name);

/** Whether a name without a domain is one that a quota can have. */
export const isQuotaResource = (name: string): boolean => quotas.has(name) || isHugePages(name);

/** A standard name, or one with a domain. */
export function validateResourceName(name: string, field: string): FieldError[] {
  const problems = failing(isQualifiedName, field, name);
  if (problems.length > 0 || name.includes('/') || isQuotaResource(name) || name === 'storage') return problems;
  return [invalid(field, name, 'must be a standard resource type or fully qualified')];
}

/** A resource that quotas count. */
export const validateQuotaResourceName = (name: string, field: string): FieldError[] => [
  ...validateResourceName(name, field),
  ...(name.includes('/') || isQuotaResource(name) ? [] : [invalid(field, name, 'must be a standard resource for quota')]),
];

const nanosPerUnit = 10n ** 9n;

/** An amount is not negative; of what is counted in objects, and of resources of other domains, it is whole. */
export function validateResourceAmount(name: string, amount: string, field: string, domain: string): FieldError[] {
  const { nanos } = parseQuantity(amount) ?? { nanos: 0n };
  const isWhole = nanos % nanosPerUnit === 0n;
  return [
    ...(nanos < 0n ? [invalid(field, amount, 'must be greater than or equal to 0')] : []),
    ...(isWhole || !(integers.has(name) || isExtended(name, domain)) ? [] : [invalid(field, amount, 'must be an integer')]),
  ];
}

/** Resources of others: nodes report them, and they are requested in whole units. */
export const isExtended = (name: string, domain: string): boolean => !isNative(name, domain) && !name.startsWith('requests.') && isQualifiedName(`requests.${name}`).length === 0;
