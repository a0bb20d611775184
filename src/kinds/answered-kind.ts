import type { ApiObject } from '../meta/api-object.ts';
import { defineKind } from './define-kind.ts';
import type { Kind } from './kind.ts';

type AnsweredKindDefinition = Pick<Kind, 'group' | 'kind' | 'scope' | 'schema'> &
  Required<Pick<Kind, 'answer'>> &
  Partial<Pick<Kind, 'version'>>;

/**
 * Defines a kind that is answered and never stored, such as TokenReview, with the defaults of such kinds. A status sent
 * by the client is dropped.
 */
export const answeredKind = (
  definition: AnsweredKindDefinition,
  strategy: Pick<Kind['strategy'], 'validateCreate'> = {},
): Kind =>
  defineKind({
    ...definition,
    nameFormat: 'pathSegment',
    strategy: { default: dropStatus, ...strategy },
    unconditionalUpdate: false,
  });

function dropStatus(object: ApiObject): void {
  delete object['status'];
}
