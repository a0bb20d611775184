import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, invalid, notSupported } from '../../meta/field-error.ts';
import { isQualifiedName } from '../../meta/formats.ts';
import { always, int32, microTime, ptr, string, struct } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';

const gate = 'CoordinatedLeaderElection';

const leaseSpec = struct('api.coordination.v1.LeaseSpec', 'Who holds the lease, and until when.', {
  holderIdentity: ptr(1, string(), 'Identity of the holder; empty when nobody holds the lease.'),
  leaseDurationSeconds: ptr(2, int32(), 'Seconds after the last renewal that others wait before they take the lease.'),
  acquireTime: ptr(3, microTime(), 'When the holder took the lease.'),
  renewTime: ptr(4, microTime(), 'When the holder last renewed the lease.'),
  leaseTransitions: ptr(5, int32(), 'How often the lease went from one holder to another.'),
  strategy: ptr(6, string(), 'How a coordinated election picks the holder.', { gate }),
  preferredHolder: ptr(7, string(), 'Asks the holder to give way to this one; needs a strategy.', {
    gate,
    onlyWith: { fields: ['strategy'], detail: 'may only be specified if `strategy` is defined' },
  }),
});

const schema = kindSchema('api.coordination.v1.Lease', 'A lock that runs out unless its holder renews it.', {
  spec: always(2, leaseSpec, 'The terms of the lease.'),
});

/** Strategy names that need no domain prefix. */
export const oldestEmulationVersion = 'OldestEmulationVersion';
const knownStrategies = [oldestEmulationVersion];

function validate(object: ApiObject): FieldError[] {
  const { leaseDurationSeconds, leaseTransitions, strategy } = typed(schema, object).spec ?? {};
  const errors: FieldError[] = [];
  if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0) {
    errors.push(invalid('spec.leaseDurationSeconds', leaseDurationSeconds, 'must be greater than 0'));
  }
  if (leaseTransitions !== undefined && leaseTransitions < 0) {
    errors.push(invalid('spec.leaseTransitions', leaseTransitions, 'must be greater than or equal to 0'));
  }
  if (strategy !== undefined) errors.push(...validateStrategy(strategy, 'spec.strategy'));
  return errors;
}

/** The published paths name the field twice. */
export function validateStrategy(strategy: string, of: string): FieldError[] {
  const path = `${of}.strategy`;
  if (strategy.includes('/')) return isQualifiedName(strategy).map((problem) => invalid(path, strategy, problem));
  return knownStrategies.includes(strategy) ? [] : [notSupported(path, strategy, knownStrategies)];
}

export const lease = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('coordination'),
    kind: 'Lease',
    decidesNothing: true,
    schema,
    columns: [nameColumn, column('Holder', 'Identity of the holder.', '.spec.holderIdentity'), ageColumn],
    strategy: { validateCreate: validate, validateUpdate: validate },
    createOnUpdate: true,
    unconditionalUpdate: false,
  });
