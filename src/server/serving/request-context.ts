import type { Exchange } from '../../http/exchange.ts';
import { StatusError } from '../../meta/status-error.ts';
import type { RequestInfo } from '../../request/request-info.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { Ticket } from './flow-control/ticket.ts';
import type { Operation } from './operation.ts';

/** One request on its way through the stages. Each stage adds what those after it need. */
export interface RequestContext {
  readonly exchange: Exchange;
  /** Set by the first stage. */
  info: RequestInfo;
  /** Why the request cannot be read, where it can't. */
  unreadable?: unknown;
  /** Set by the stage `authenticate`. */
  user: UserInfo;
  /** Who really sent the request, where `user` is impersonated. Set by the stage `impersonate`. */
  impersonatedBy?: UserInfo;
  /** Something was sent to the store: until the request is answered its outcome is unknown. */
  writeSent?: boolean;
  /** What the request holds of what is short. Set by the stage `flow`. */
  ticket: Ticket | undefined;
  /** The sub-protocol of a WebSocket that the request may become. Set by the stage `authenticate`. */
  webSocketProtocol?: string;
  /** How it is answered. Set by the stage `prepare`. */
  operation: Operation | undefined;
}

/** See `VerbRequest.beforeWrite`. */
export function noteWrite(context: RequestContext): void {
  if (context.exchange.responded)
    throw new StatusError('Timeout', 'the request was answered before its write was sent');
  context.writeSent = true;
}

/**
 * One step that every request takes. Throws to refuse the request; returns a promise only where it must wait, so that a
 * request that waits for nothing runs through in one go.
 */
export interface Stage {
  readonly name: string;
  readonly run: (context: RequestContext) => void | Promise<void>;
}
