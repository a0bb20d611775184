import { duplicate, errorsOfEach, type FieldError, invalid } from '../../meta/field-error.ts';
import { compareQuantity, parseQuantity } from '../../meta/quantity.ts';
import { shownAsGo } from '../../schema/go-text.ts';
import type { Infer } from '../../schema/schema.ts';
import { validateConfigSource } from './node-config-source.ts';
import type { nodeSpec } from './node-spec.ts';
import { nodeAddress, type nodeStatus } from './node-status.ts';
import { validateTaints } from './taint.ts';

type Spec = Infer<typeof nodeSpec>;
type Status = Infer<typeof nodeStatus>;

/** Validates the spec of a node, on create and update. The schema checks each CIDR. */
export const validateSpec = (spec: Spec): FieldError[] => [
  // As published, not `spec.taints`.
  ...validateTaints(spec.taints ?? [], 'metadata.taints'),
  ...validatePodCidrs(spec.podCIDRs ?? []),
  ...(spec.configSource ? validateConfigSource(spec.configSource, 'spec', 'spec.configSource') : []),
];

function validatePodCidrs(cidrs: readonly string[]): FieldError[] {
  if (cidrs.length < 2) return [];
  const errors: FieldError[] = [];
  const families = new Set(cidrs.map((cidr) => cidr.includes(':')));
  if (families.size < 2 || cidrs.length > 2) {
    errors.push(invalid('spec.podCIDRs', cidrs, 'may specify no more than one CIDR for each IP family'));
  }
  const seen = new Set<string>();
  const repeated = errorsOfEach(cidrs, (cidr, index) => {
    const errors = seen.has(cidr) ? [duplicate(`spec.podCIDRs[${index}]`, cidr)] : [];
    seen.add(cidr);
    return errors;
  });
  return [...errors, ...repeated];
}

/** Validates the status of a node, on create and update. */
export const validateStatus = (status: Status): FieldError[] => [
  ...validateResources(status.capacity ?? {}, 'status.capacity'),
  ...validateResources(status.allocatable ?? {}, 'status.allocatable'),
];

/** Validates the status of a node on update. */
export const validateStatusUpdate = (status: Status): FieldError[] => [
  ...validateStatus(status),
  ...validateAddresses(status.addresses ?? []),
  ...(['assigned', 'active', 'lastKnownGood'] as const).flatMap((name) => {
    const source = status.config?.[name];
    return source ? validateConfigSource(source, 'status', `status.config.${name}`) : [];
  }),
];

function validateAddresses(addresses: NonNullable<Status['addresses']>): FieldError[] {
  const seen = new Set<string>();
  return errorsOfEach(addresses, (address, index) => {
    const identity = JSON.stringify([address.type, address.address]);
    const repeated = seen.has(identity);
    seen.add(identity);
    return repeated ? [shownAsGo(duplicate(`status.addresses[${index}]`, address), nodeAddress)] : [];
  });
}

const zero = { nanos: 0n, family: 'decimal' } as const;

function validateResources(resources: Readonly<Record<string, string>>, field: string): FieldError[] {
  return errorsOfEach(Object.entries(resources), ([name, text]) => {
    const quantity = parseQuantity(text);
    // Decoding has rejected invalid quantities.
    if (!quantity) return [];
    const errors: FieldError[] = [];
    const path = `${field}.${name}`;
    if (compareQuantity(quantity, zero) < 0) errors.push(invalid(path, text, 'must be greater than or equal to 0'));
    if (isCounted(name) && quantity.nanos % 10n ** 9n !== 0n) errors.push(invalid(path, text, 'must be an integer'));
    return errors;
  });
}

/** Resources that must be whole numbers: pods, and extended resources (with a domain). */
const isCounted = (name: string): boolean => name === 'pods' || name.includes('/');
