import type { RangeLimit } from '../../kinds/core/limit-range.ts';
import { persistentVolumeClaimSchema } from '../../kinds/core/persistent-volume-claim-schema.ts';
import { podResources } from '../../kinds/core/pod/pod-resources.ts';
import type { Pod } from '../../kinds/core/pod/pod-schema.ts';
import { type Amounts, amountsOf } from '../../kinds/quota/amounts.ts';
import { typed } from '../../kinds/typed.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { compareQuantity, formatQuantity, type Quantity } from '../../meta/quantity.ts';

/** What is asked for by something that is limited. */
interface Asked {
  readonly requests: Amounts;
  readonly limits: Amounts;
}

/** Where a pod is out of bounds, in the published words. */
export function podProblems({ spec }: Pod, limits: readonly RangeLimit[]): readonly string[] {
  if (!spec) return [];
  return limits.flatMap((limit) => {
    switch (limit.type) {
      case 'Container':
        return [...(spec.containers ?? []), ...(spec.initContainers ?? [])].flatMap(({ resources }) =>
          problemsOf({ requests: amountsOf(resources?.requests), limits: amountsOf(resources?.limits) }, limit),
        );
      case 'Pod':
        return problemsOf({ requests: podResources(spec, 'requests'), limits: podResources(spec, 'limits') }, limit);
      default:
        return [];
    }
  });
}

/** The same of a claim, for which only requests count. */
export function claimProblems(object: ApiObject, limits: readonly RangeLimit[]): readonly string[] {
  const requests = amountsOf(typed(persistentVolumeClaimSchema, object).spec?.resources?.requests);
  return limits
    .filter(({ type }) => type === 'PersistentVolumeClaim')
    .flatMap(({ type = '', min, max }) => [
      ...each(min, (name, bound) => belowMin({ requests, limits: new Map() }, { type, name, bound })),
      ...each(max, (name, bound) => requestAboveMax(requests, { type, name, bound })),
    ]);
}

const problemsOf = (asked: Asked, { type = '', min, max, maxLimitRequestRatio }: RangeLimit): readonly string[] => [
  ...each(min, (name, bound) => belowMin(asked, { type, name, bound })),
  ...each(max, (name, bound) => aboveMax(asked, { type, name, bound })),
  ...each(maxLimitRequestRatio, (name, bound) => aboveRatio(asked, { type, name, bound })),
];

/** In the order of names. */
const each = (
  bounds: Readonly<Record<string, string>> | undefined,
  problem: (name: string, bound: Quantity) => string | undefined,
): readonly string[] =>
  [...amountsOf(bounds)].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([name, bound]) => problem(name, bound) ?? []);

interface Bound {
  readonly type: string;
  readonly name: string;
  readonly bound: Quantity;
}

function belowMin({ requests, limits }: Asked, { type, name, bound }: Bound): string | undefined {
  const [request, limit] = [requests.get(name), limits.get(name)];
  const rule = `minimum ${name} usage per ${type} is ${formatQuantity(bound)}`;
  if (!request) return `${rule}.  No request is specified`;
  if (compareQuantity(request, bound) < 0) return `${rule}, but request is ${formatQuantity(request)}`;
  if (limit && compareQuantity(limit, bound) < 0) return `${rule}, but limit is ${formatQuantity(limit)}`;
  return undefined;
}

function aboveMax({ requests, limits }: Asked, { type, name, bound }: Bound): string | undefined {
  const [request, limit] = [requests.get(name), limits.get(name)];
  const rule = `maximum ${name} usage per ${type} is ${formatQuantity(bound)}`;
  if (!limit) return `${rule}.  No limit is specified`;
  if (compareQuantity(limit, bound) > 0) return `${rule}, but limit is ${formatQuantity(limit)}`;
  if (request && compareQuantity(request, bound) > 0) return `${rule}, but request is ${formatQuantity(request)}`;
  return undefined;
}

function requestAboveMax(requests: Amounts, { type, name, bound }: Bound): string | undefined {
  const request = requests.get(name);
  const rule = `maximum ${name} usage per ${type} is ${formatQuantity(bound)}`;
  if (!request) return `${rule}.  No request is specified`;
  return compareQuantity(request, bound) > 0 ? `${rule}, but request is ${formatQuantity(request)}` : undefined;
}

function aboveRatio({ requests, limits }: Asked, { type, name, bound }: Bound): string | undefined {
  const [request, limit] = [requests.get(name), limits.get(name)];
  const rule = `${name} max limit to request ratio per ${type} is ${formatQuantity(bound)}`;
  if (!request || request.nanos === 0n) return `${rule}, but no request is specified or request is 0`;
  if (!limit || limit.nanos === 0n) return `${rule}, but no limit is specified or limit is 0`;
  // Exact, as a float of the ratio is not.
  if (limit.nanos * nanosPerUnit <= bound.nanos * request.nanos) return undefined;
  return `${rule}, but provided ratio is ${(Number(limit.nanos) / Number(request.nanos)).toFixed(6)}`;
}

const nanosPerUnit = 10n ** 9n;
