import type { BodyForm } from '../../content/body.ts';
import type { Presentation } from '../../content/representation.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { Exchange } from '../../http/exchange.ts';
import { parseWatchOptions } from '../../registry/read/list-options.ts';
import type { ResourceRequest } from '../../request/request-info.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { SeatKind } from './flow-control/shared-capacity.ts';

/** How a request is handled, as far as this is known without its body. */
export type Operation = PathOperation | ResourceOperation | ConnectOperation;

/** A path with its own handler; needs no seat and reads no body. */
export interface PathOperation {
  readonly type: 'path';
  readonly path: string;
  readonly handle: (exchange: Exchange, path: string) => void | Promise<void>;
}

/** A request that connects its client to another server; needs no seat, and its body is passed on. */
export interface ConnectOperation {
  readonly type: 'connect';
  readonly info: ResourceRequest;
  readonly served: ServedResource;
}

/** A verb of the registry. */
export interface ResourceOperation {
  readonly type: 'resource';
  readonly info: ResourceRequest;
  readonly served: ServedResource;
  readonly presentation: Presentation;
  /** Form of the body; undefined if there is none. */
  readonly form: BodyForm | undefined;
  /** The kind of seat; undefined if none is needed. */
  readonly seat: SeatKind | undefined;
}

/** Requests that may write use mutating seats. A watch needs a seat only for its initial list. */
export function seatOf(info: ResourceRequest, served: ServedResource, dialect: Dialect): SeatKind | undefined {
  switch (info.verb) {
    case 'watch':
      return beginsWithList(info, served, dialect) ? 'readOnly' : undefined;
    case 'get':
    case 'list':
      return 'readOnly';
    case 'create':
      return writesNothing(served, info.subresource) ? 'review' : 'mutating';
    default:
      return 'mutating';
  }
}

function beginsWithList({ query }: ResourceRequest, { kind }: ServedResource, dialect: Dialect): boolean {
  const { start } = parseWatchOptions(query, { kind, metaGroup: dialect.group('meta') });
  return start.type === 'state' && start.send;
}

function writesNothing({ kind }: ServedResource, subresource: string): boolean {
  if (subresource === '') return kind.answer !== undefined;
  const found = kind.subresources.find(({ name }) => name === subresource);
  return found?.type === 'action' && found.writesNothing === true;
}
