import type { BodyForm } from '../../content/body.ts';
import type { Presentation } from '../../content/representation.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { ResourceRequest } from '../../request/request-info.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { PlaceKind } from './flow-control/flow-control.ts';

/** How a request is answered: all that can be found out without its body. */
export type Operation = PathOperation | ResourceOperation;

/** A path that has a handler of its own; needs no place and reads no body. */
export interface PathOperation {
  readonly type: 'path';
  readonly path: string;
  readonly handle: (exchange: Exchange, path: string) => void | Promise<void>;
}

/** A verb of the registry. */
export interface ResourceOperation {
  readonly type: 'resource';
  readonly info: ResourceRequest;
  readonly served: ServedResource;
  readonly presentation: Presentation;
  /** What its body is; undefined where it has none. */
  readonly form: BodyForm | undefined;
  /** Undefined where it needs no place. */
  readonly place: PlaceKind | undefined;
}
