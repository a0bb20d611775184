import type { Clock } from '../../../base/time/clock.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import { usageAt } from '../../../kinds/quota/evaluator.ts';
import { Evaluators } from '../../../kinds/quota/evaluators.ts';
import { StatusError } from '../../../meta/status-error.ts';
import type { AdmissionAttributes } from '../../../request/admission.ts';
import type { AdmissionPlugin } from '../../chain.ts';
import { admissionForbidden } from '../../forbidden.ts';
import type { QuotaRefusal, QuotaRequest } from './check-quotas.ts';

interface ResourceQuotaOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** Whether writes in the namespace may be counted. Includes all quotas whose creation was acknowledged before the request. */
  readonly countsIn: (namespace: string, signal: AbortSignal) => boolean | Promise<boolean>;
  /** Charges a write, once in all of its attempts, or says why it is refused. */
  readonly charge: (
    request: QuotaRequest,
    attributes: Pick<AdmissionAttributes, 'write' | 'signal'>,
  ) => Promise<QuotaRefusal | undefined>;
}

/**
 * Keeps what a namespace uses within its quotas. Runs behind all others: what it charges is charged though the write
 * fails afterwards, until the quota's controller counts anew.
 */
export function resourceQuota({ dialect, clock, countsIn, charge }: ResourceQuotaOptions): AdmissionPlugin {
  const evaluators = new Evaluators(dialect);
  const chargeWrite = async (attributes: AdmissionAttributes): Promise<void> => {
    const request = requestOf(attributes, evaluators, clock.now());
    const refusal = request && (await charge(request, attributes));
    if (refusal) refuse(attributes, refusal);
  };
  return {
    name: 'ResourceQuota',
    sideEffects: 'noneOnDryRun',
    concerns: ({ operation, info }) =>
      (operation === 'create' || operation === 'update') &&
      info.namespace !== '' &&
      !(info.resource === 'namespaces' && info.group === '') &&
      (evaluators.of(info)?.handles(operation, info.subresource) ?? false),
    validate(attributes) {
      const counts = countsIn(attributes.info.namespace, attributes.signal);
      if (counts instanceof Promise) return counts.then((late) => (late ? chargeWrite(attributes) : undefined));
      return counts ? chargeWrite(attributes) : undefined;
    },
  };
}

function requestOf(
  { info, object, old, dryRun }: AdmissionAttributes,
  evaluators: Evaluators,
  nowMs: number,
): QuotaRequest | undefined {
  const evaluator = evaluators.of(info);
  if (!evaluator || !object) return undefined;
  const measured = evaluator.measure(object);
  return {
    namespace: info.namespace,
    resource: { group: info.group, resource: info.resource },
    measured,
    unspecified: evaluator.unspecified?.(object),
    usage: usageAt(measured, nowMs),
    before: old && usageAt(evaluator.measure(old), nowMs),
    dryRun,
  };
}

function refuse(attributes: AdmissionAttributes, { type, why }: QuotaRefusal): never {
  if (type === 'forbidden') throw admissionForbidden(attributes, why);
  throw new StatusError('', why);
}
