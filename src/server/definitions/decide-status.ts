import { isDeepStrictEqual } from 'node:util';
import { acceptNames } from '../../kinds/apiextensions/accepted-names.ts';
import type {
  DefinitionCondition,
  DefinitionNames,
  DefinitionStatus,
} from '../../kinds/apiextensions/custom-resource-definition.ts';
import {
  establishedConditions,
  findCondition,
  isTrue,
  terminating,
  withConditions,
} from '../../kinds/apiextensions/definition-conditions.ts';
import { nonStructuralSchema } from '../../kinds/apiextensions/non-structural.ts';
import type { StoredDefinition } from './followed-definition.ts';
import type { Structure } from './served-kinds.ts';

/**
 * The status that a definition should have: the names that it gets beside `others`, and its conditions. The stored status
 * itself if nothing changes. `now` is in milliseconds.
 */
export function decideStatus(
  stored: StoredDefinition,
  others: Iterable<DefinitionNames>,
  now: number,
): DefinitionStatus {
  const { acceptedNames, condition } = acceptNames(stored, others);
  const approval = stored.approval ? [stored.approval] : [];
  const established = isTrue(stored, 'Established') ? [] : [establishment(stored, condition)];
  const ending = stored.isEnding && !hasBegunToEnd(stored) ? [terminating.inProgress] : [];
  const conditions = withConditions(stored, [...approval, condition, ...established, ...ending], now);
  const status = { ...stored.status, acceptedNames, conditions };
  return isDeepStrictEqual(status, stored.status) ? stored.status : status;
}

/** The status with what is known of the schemas; the same one if nothing changes. `now` is in milliseconds. */
export function withStructure(status: DefinitionStatus, { nonStructural }: Structure, now: number): DefinitionStatus {
  const before = findCondition({ status }, nonStructuralSchema);
  if (!nonStructural && !before) return status;
  const conditions = nonStructural
    ? withConditions({ status }, [nonStructural], now)
    : status.conditions?.filter(({ type }) => type !== nonStructuralSchema);
  const changed = { ...status, ...(conditions && { conditions }) };
  return isDeepStrictEqual(changed, status) ? status : changed;
}

function hasBegunToEnd(stored: StoredDefinition): boolean {
  const reason = findCondition(stored, 'Terminating')?.reason;
  return reason !== undefined && reason !== terminating.pending.reason;
}

const establishment = ({ hasInvalidCaBundle }: StoredDefinition, names: DefinitionCondition): DefinitionCondition =>
  establishedConditions[names.status !== 'True' ? 'notAccepted' : hasInvalidCaBundle ? 'invalidCaBundle' : 'accepted'];
