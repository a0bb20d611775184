import { type FieldError, forbidden, invalid, notSupported, required } from '../../meta/field-error.ts';
import type { LevelSpec, LimitedLevel, Queuing } from './flow-schemas.ts';

/** The level without limits: there is one. */
const exemptLevel = 'exempt';
const queuesMax = 10_000_000;
/** Bits of the hash by which a flow gets its queues. */
const hashBitsMax = 60;

/** Errors of the spec of a PriorityLevelConfiguration, in the words of kube-apiserver 1.32. */
export function levelErrors(name: string, spec: LevelSpec): FieldError[] {
  const { type = '' } = spec;
  const isOther = (name === exemptLevel) !== (type === 'Exempt');
  return [...(isOther ? [invalid('spec.type', type, "type must be 'Exempt' if and only if name is 'exempt'")] : []), ...typedErrors(type, spec)];
}

function typedErrors(type: string, { limited, exempt }: LevelSpec): FieldError[] {
  switch (type) {
    case 'Exempt':
      return [
        ...(limited ? [forbidden('spec.limited', 'must be nil if the type is not Limited')] : []),
        ...(exempt ? [...sharesErrors(exempt.nominalConcurrencyShares, 'spec.exempt'), ...lendableErrors(exempt.lendablePercent, 'spec.exempt')] : []),
      ];
    case 'Limited':
      return [
        ...(exempt ? [forbidden('spec.exempt', 'must be nil if the type is Limited')] : []),
        ...(limited ? limitedErrors(limited, 'spec.limited') : [required('spec.limited', 'must not be empty when type is Limited')]),
      ];
    default:
      return [notSupported('spec.type', type, ['Exempt', 'Limited'])];
  }
}

function limitedErrors({ nominalConcurrencyShares, limitResponse, lendablePercent, borrowingLimitPercent = 0 }: LimitedLevel, path: string): FieldError[] {
  return [
    ...sharesErrors(nominalConcurrencyShares, path),
    ...responseErrors(limitResponse ?? {}, `${path}.limitResponse`),
    ...lendableErrors(lendablePercent, path),
    ...(borrowingLimitPercent < 0 ? [invalid(`${path}.borrowingLimitPercent`, borrowingLimitPercent, 'if specified, must be a non-negative integer')] : []),
  ];
}

const sharesErrors = (shares = 0, path: string): FieldError[] => (shares < 0 ? [invalid(`${path}.nominalConcurrencyShares`, shares, 'must be a non-negative integer')] : []);

const lendableErrors = (percent = 0, path: string): FieldError[] => (percent < 0 || percent > 100 ? [invalid(`${path}.lendablePercent`, percent, 'must be between 0 and 100, inclusive')] : []);

function responseErrors({ type = '', queuing }: NonNullable<LimitedLevel['limitResponse']>, path: string): FieldError[] {
  switch (type) {
    case 'Reject':
      return queuing ? [forbidden(`${path}.queuing`, 'must be nil if limited.limitResponse.type is not Limited')] : [];
    case 'Queue':
      return queuing ? queuingErrors(queuing, `${path}.queuing`) : [required(`${path}.queuing`, 'must not be empty if limited.limitResponse.type is Limited')];
    default:
      return [notSupported(`${path}.type`, type, ['Queue', 'Reject'])];
  }
}

function queuingErrors({ queues = 0, handSize = 0, queueLengthLimit = 0 }: Queuing, path: string): FieldError[] {
  const positive = (field: string, value: number): FieldError[] => (value <= 0 ? [invalid(`${path}.${field}`, value, 'must be positive')] : []);
  const tooMany = queues > queuesMax ? [invalid(`${path}.queues`, queues, `must not be greater than ${queuesMax}`)] : [];
  return [...positive('queueLengthLimit', queueLengthLimit), ...positive('queues', queues), ...tooMany, ...handErrors(handSize, queues, `${path}.handSize`)];
}

/** A flow's queues are dealt to it by one hash. */
function handErrors(handSize: number, queues: number, path: string): FieldError[] {
  if (handSize <= 0) return [invalid(path, handSize, 'must be positive')];
  if (handSize > queues) return [invalid(path, handSize, `should not be greater than queues (${queues})`)];
  if (Math.ceil(Math.log2(queues) * handSize) <= hashBitsMax) return [];
  return [invalid(path, handSize, `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${hashBitsMax}`)];
}
