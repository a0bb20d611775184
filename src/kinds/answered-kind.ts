import type { ApiObject } from '../meta/api-object.ts';
import { defineKind } from './define-kind.ts';
import type { Kind } from './kind.ts';

type Said = Pick<Kind, 'group' | 'kind' | 'scope' | 'schema'> & Required<Pick<Kind, 'answer'>>;

/**
 * A kind that is answered and never stored: what it does not say is that of kinds without objects. The status that a client
 * writes is dropped.
 */
export const answeredKind = (said: Said, strategy: Pick<Kind['strategy'], 'validateCreate'> = {}): Kind =>
  defineKind({
    ...said,
    nameFormat: 'pathSegment',
    strategy: { default: dropStatus, ...strategy },
    unconditionalUpdate: false,
  });

function dropStatus(object: ApiObject): void {
  delete object['status'];
}
