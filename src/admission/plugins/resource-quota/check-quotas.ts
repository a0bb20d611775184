import { type Amounts, among, describeAmounts, excess, isNegative, sumOf } from '../../../kinds/quota/amounts.ts';
import type { Evaluator, Measured, Unspecified } from '../../../kinds/quota/evaluator.ts';
import { isInScopes, isSelected, type Quota, type ScopeSelector } from '../../../kinds/quota/quota.ts';
import type { ResourceName } from '../../../meta/status-error.ts';

/** What may only be used where a quota covers it, as operators configure. Plain data. */
export interface LimitedResource extends ResourceName {
  /** Parts of the names of amounts. */
  readonly matchContains: readonly string[];
  readonly matchScopes: readonly ScopeSelector[];
}

/** A write that quotas may count. Plain data: it may come from another thread. */
export interface QuotaRequest {
  readonly namespace: string;
  readonly resource: ResourceName;
  readonly measured: Measured;
  readonly unspecified: Unspecified | undefined;
  /** What it uses now, and what it used before an update. */
  readonly usage: Amounts;
  readonly before: Amounts | undefined;
  readonly dryRun: boolean;
}

/** Why a write is refused. */
export interface QuotaRefusal {
  /** `uncovered`: an error without a reason, as published. */
  readonly type: 'forbidden' | 'uncovered';
  readonly why: string;
}

/** What a write adds to each quota that counts it; empty if it adds nothing. */
type QuotaCharges = ReadonlyMap<Quota, Amounts>;

interface Check {
  readonly evaluator: Evaluator;
  readonly limited: readonly LimitedResource[];
  /** How much of each quota was charged for the write in an earlier attempt. */
  readonly charged: (quota: Quota) => Amounts;
}

/** What a write would be charged, or why it is refused. As published, the first quota that refuses is named. */
export function checkQuotas(
  quotas: readonly Quota[],
  request: QuotaRequest,
  { evaluator, limited, charged }: Check,
): QuotaCharges | QuotaRefusal {
  const { measured, usage, before } = request;
  const counting: Quota[] = [];
  for (const quota of quotas) {
    const names = [...quota.hard.keys()].filter(evaluator.counts);
    if (names.length === 0 || !isInScopes(quota, measured)) continue;
    const problem = unspecifiedProblem(quota, names, request.unspecified) ?? unknownProblem(quota, names);
    if (problem !== undefined) return forbidden(problem);
    counting.push(quota);
  }
  const negative = [...usage].filter(([, quantity]) => isNegative(quantity)).map(([name]) => name);
  if (negative.length > 0) return forbidden(`quota usage is negative for resource(s): ${listed(negative)}`);
  const added = excess(usage, before ?? new Map());
  if (added.size === 0) return new Map();
  const uncovered = uncoveredBy(quotas, counting, { request, evaluator, limited });
  return uncovered ?? chargesOf(counting, added, charged);
}

/** Containers must say what they use of what is counted. */
function unspecifiedProblem({ name }: Quota, names: readonly string[], unspecified?: Unspecified): string | undefined {
  const missing = names.filter((each) => unspecified?.has(each)).sort();
  if (missing.length === 0) return undefined;
  const texts = missing.map((each) => `${each} for: ${[...new Set(unspecified?.get(each))].sort().join(',')}`);
  return `failed quota: ${name}: must specify ${texts.join('; ')}`;
}

const unknownProblem = ({ name, used }: Quota, names: readonly string[]): string | undefined =>
  names.every((each) => used.has(each)) ? undefined : `status unknown for quota: ${name}, resources: ${listed(names)}`;

interface Covering {
  readonly request: QuotaRequest;
  readonly evaluator: Evaluator;
  readonly limited: readonly LimitedResource[];
}

/** What is limited by the configuration must be counted by a quota. */
function uncoveredBy(
  quotas: readonly Quota[],
  counting: readonly Quota[],
  { request: { resource, measured, usage }, evaluator, limited }: Covering,
): QuotaRefusal | undefined {
  if (limited.length === 0) return undefined;
  const own = limited.filter((each) => each.group === resource.group && each.resource === resource.resource);
  const limitedNames = [...usage.keys()].filter(
    (name) =>
      (usage.get(name)?.nanos ?? 0n) > 0n &&
      own.some(({ matchContains }) => matchContains.some((part) => name.includes(part))),
  );
  const counted = new Set(counting.flatMap(({ hard }) => [...hard.keys()].filter(evaluator.counts)));
  const names = limitedNames.filter((name) => !counted.has(name));
  if (names.length > 0) return forbidden(`insufficient quota to consume: ${listed(names)}`);
  // Scopes count whatever the resource that they are limited for, as published.
  const covered = new Set(
    quotas
      .flatMap(({ scopes }) => scopes.filter((scope) => isSelected(measured, scope)))
      .map(({ scopeName }) => scopeName),
  );
  const scopes = limited
    .flatMap(({ matchScopes }) => matchScopes)
    .filter((scope) => isSelected(measured, scope) && !covered.has(scope.scopeName));
  if (scopes.length === 0) return undefined;
  const shown = scopes.map(({ scopeName, operator, values }) => `{${scopeName} ${operator} [${values.join(' ')}]}`);
  return { type: 'uncovered', why: `insufficient quota to match these scopes: [${shown.join(' ')}]` };
}

function chargesOf(
  counting: readonly Quota[],
  added: Amounts,
  charged: (quota: Quota) => Amounts,
): QuotaCharges | QuotaRefusal {
  const charges = new Map<Quota, Amounts>();
  for (const quota of counting) {
    const requested = excess(among(added, quota.hard), charged(quota));
    const now = sumOf(quota.used, requested);
    const exceeded = new Set(
      [...requested.keys()].filter((name) => (now.get(name)?.nanos ?? 0n) > (quota.hard.get(name)?.nanos ?? 0n)),
    );
    if (exceeded.size > 0) {
      const of = (amounts: Amounts): string => describeAmounts(among(amounts, exceeded));
      return forbidden(
        `exceeded quota: ${quota.name}, requested: ${of(requested)}, used: ${of(quota.used)}, limited: ${of(quota.hard)}`,
      );
    }
    if (requested.size > 0) charges.set(quota, requested);
  }
  return charges;
}

const forbidden = (why: string): QuotaRefusal => ({ type: 'forbidden', why });

const listed = (names: readonly string[]): string => [...names].sort().join(',');
