import { type FieldError, invalid, invalidName } from '../../meta/field-error.ts';
import { isQualifiedName } from '../../meta/formats.ts';
import { goQuantity } from '../../meta/go-values.ts';
import { nanosPerUnit, parseQuantity } from '../../meta/quantity.ts';

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
  const problems = isQualifiedName(name).map((problem) => invalidName(field, name, problem));
  if (problems.length > 0 || name.includes('/') || isQuotaResource(name) || name === 'storage') return problems;
  return [invalidName(field, name, 'must be a standard resource type or fully qualified')];
}

/** A resource that quotas count. */
export const validateQuotaResourceName = (name: string, field: string): FieldError[] => [
  ...validateResourceName(name, field),
  ...(name.includes('/') || isQuotaResource(name) ? [] : [invalidName(field, name, 'must be a standard resource for quota')]),
];

/** A resource that containers ask for. */
export function validateContainerResourceName(name: string, field: string, domain: string): FieldError[] {
  const problems = validateResourceName(name, field);
  if (!name.includes('/')) return isContainerResource(name) ? problems : [...problems, invalidName(field, name, 'must be a standard resource for containers')];
  const reserved = !isNative(name, domain) && !isExtended(name, domain);
  return reserved ? [...problems, invalidName(field, name, "doesn't follow extended resource name standard")] : problems;
}

const containerResources: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage']);
const isContainerResource = (name: string): boolean => containerResources.has(name) || name.startsWith('hugepages-');

/** Native resources have no domain or the product's own. All others are extended resources and must be whole numbers. */
export const isNative = (name: string, domain: string): boolean => !name.includes('/') || name.includes(`${domain}/`);

/** An amount is not negative; of what is counted in objects, and of resources of other domains, it is whole. */
export function validateResourceAmount(name: string, amount: string, field: string, domain: string): FieldError[] {
  const { nanos } = parseQuantity(amount) ?? { nanos: 0n };
  const isWhole = nanos % nanosPerUnit === 0n;
  return [
    ...(nanos < 0n ? [invalid(field, amount, 'must be greater than or equal to 0')] : []),
    ...(isWhole || !(integers.has(name) || isExtended(name, domain)) ? [] : [{ ...invalid(field, amount, 'must be an integer'), shown: goQuantity(amount) }]),
  ];
}

/** Resources of others: nodes report them, and they are requested in whole units. */
export const isExtended = (name: string, domain: string): boolean => !isNative(name, domain) && !name.startsWith('requests.') && isQualifiedName(`requests.${name}`).length === 0;
