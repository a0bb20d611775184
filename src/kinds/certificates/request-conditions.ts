import { limits } from '../../base/limits.ts';
import {
  boundedCount,
  duplicate,
  errorsOfEach,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../meta/field-error.ts';
import { formatTime } from '../../meta/time.ts';
import type { Infer } from '../../schema/schema.ts';
import type { schema } from './certificate-signing-request-schema.ts';

type Request = Infer<typeof schema>;
export type Conditions = NonNullable<NonNullable<Request['status']>['conditions']>;
type Condition = Conditions[number];

/** Conditions that are never removed and always `True` (spec section 3.1). */
const permanent = ['Approved', 'Denied', 'Failed'];
/** Conditions that only the `approval` subresource sets. */
const decisions = ['Approved', 'Denied'];

const field = 'status.conditions';
const statuses = ['True', 'False', 'Unknown'];
const exclusive = 'Approved and Denied conditions are mutually exclusive';

const ofType = (conditions: Conditions, type: string): Condition[] => conditions.filter((each) => each.type === type);
export const hasCondition = (conditions: Conditions, ...types: readonly string[]): boolean =>
  conditions.some(({ type = '' }) => types.includes(type));

/** Sets missing times: the last transition is that of the stored condition with this type and status, if there is one. */
export function setConditionTimes(conditions: Conditions, old: Conditions, nowMs: number): void {
  const now = formatTime(nowMs);
  const keyOf = ({ type, status }: Condition): string => `${status} ${type}`;
  // The first of equal ones counts.
  const transitions = new Map(
    old
      .filter((each) => each.lastTransitionTime)
      .map((each) => [keyOf(each), each.lastTransitionTime] as const)
      .reverse(),
  );
  for (const each of conditions) {
    each.lastUpdateTime ||= now;
    each.lastTransitionTime ||= transitions.get(keyOf(each)) ?? now;
  }
}

/**
 * Conditions sent to the `status` subresource, with the stored decisions in the place of those sent. Where their number
 * differs they stay as sent, and validation refuses them.
 */
export function keepDecisions(conditions: Conditions, old: Conditions): Conditions {
  let kept = conditions;
  for (const type of decisions) {
    const stored = ofType(old, type);
    if (stored.length === 0 || stored.length !== ofType(kept, type).length) continue;
    const rest = stored.values();
    kept = kept.map((each) => (each.type === type ? { ...rest.next().value } : each));
  }
  return kept;
}

/** What a list of conditions may be. What was wrong before may stay, as objects of former servers hold it. */
export function validateConditions(conditions: Conditions, old: Conditions): FieldError[] {
  const known = new Set<string>();
  const tolerated = {
    both: hasCondition(old, 'Approved') && hasCondition(old, 'Denied'),
    duplicates: new Set(old.map(({ type }) => type)).size < old.length,
    emptyType: hasCondition(old, ''),
  };
  const errors = errorsOfEach(conditions, ({ type = '', status = '' }, index) => {
    const found: FieldError[] = [];
    const at = `${field}[${index}]`;
    if (type === '' && !tolerated.emptyType) found.push(required(`${at}.type`));
    const allowed = permanent.includes(type) ? ['True'] : statuses;
    if (status === '') found.push(required(`${at}.status`));
    else if (!allowed.includes(status)) found.push(notSupported(`${at}.status`, status, allowed));
    const other = decisions.includes(type) ? decisions.find((each) => each !== type) : undefined;
    if (other !== undefined && known.has(other) && !tolerated.both) found.push(invalid(`${at}.type`, type, exclusive));
    if (known.has(type) && !tolerated.duplicates) found.push(duplicate(`${at}.type`, type));
    known.add(type);
    return found;
  });
  return [...boundedCount(field, conditions.length, limits.requestConditionsMax, old.length), ...errors];
}

/** What an update may do to stored conditions (spec section 3.1). `decides`: through the `approval` subresource. */
export function validateTransition(
  conditions: Conditions,
  old: Conditions,
  { decides }: { readonly decides: boolean },
): FieldError[] {
  const change = (type: string): number => ofType(conditions, type).length - ofType(old, type).length;
  const removed = permanent
    .filter((type) => change(type) < 0)
    .map((type) => forbidden(field, `updates may not remove a condition of type "${type}"`));
  const added = decides
    ? []
    : decisions
        .filter((type) => change(type) > 0)
        .map((type) => forbidden(field, `updates may not add a condition of type "${type}"`));
  return [...removed, ...added];
}
