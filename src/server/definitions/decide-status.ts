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
import type { StoredDefinition } from './followed-definition.ts';

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

function hasBegunToEnd(stored: StoredDefinition): boolean {
  const reason = findCondition(stored, 'Terminating')?.reason;
  return reason !== undefined && reason !== terminating.pending.reason;
}

const establishment = ({ hasInvalidCaBundle }: StoredDefinition, names: DefinitionCondition): DefinitionCondition =>
  establishedConditions[names.status !== 'True' ? 'notAccepted' : hasInvalidCaBundle ? 'invalidCaBundle' : 'accepted'];
