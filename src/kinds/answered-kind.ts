import type { ApiObject } from '../meta/api-object.ts';
import { createdAtColumn, nameColumn } from './columns.ts';
import type { Kind } from './kind.ts';

type Said = Pick<Kind, 'group' | 'kind' | 'scope' | 'schema'> & Required<Pick<Kind, 'answer'>>;

/**
 * A kind that is answered and never stored: what it does not say is that of kinds without objects. The status that a client
 * writes is dropped.
 */
export const answeredKind = (said: Said, strategy: Pick<Kind['strategy'], 'validateCreate'> = {}): Kind => ({
  ...said,
  version: 'v1',
  listKind: `${said.kind}List`,
  resource: `${said.kind.toLowerCase()}s`,
  singular: said.kind.toLowerCase(),
  shortNames: [],
  categories: [],
  nameFormat: 'pathSegment',
  selectableFields: [],
  columns: [nameColumn, createdAtColumn],
  strategy: { default: dropStatus, ...strategy },
  subresources: [],
  createOnUpdate: false,
  unconditionalUpdate: false,
  deleteReturnsObject: false,
  generation: false,
});

function dropStatus(object: ApiObject): void {
  delete object['status'];
}
