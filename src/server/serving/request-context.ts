import type { Exchange } from '../../http/exchange.ts';
import { StatusError } from '../../meta/status-error.ts';
import { AuditAnnotations } from '../../request/audit-annotations.ts';
import type { RequestInfo } from '../../request/request-info.ts';
import { anonymousUser, type UserInfo } from '../../request/user-info.ts';
import type { Ticket } from './flow-control/ticket.ts';
import type { Operation } from './operation.ts';

/** One request on its way through the stages. Each stage adds what those after it need. */
export interface RequestContext {
  readonly exchange: Exchange;
  /** Set by the first stage. */
  info: RequestInfo;
  /** Why the request cannot be read, where it can't. */
  malformed?: unknown;
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
  /** See `assignAuditId`. Set by the stage `observe`. */
  auditId: string;
  /** When it came, on the monotonic clock. Set by the stage `observe`. */
  receivedMs: number;
  /** The server ended it to protect itself: it found no place, or took too long. */
  terminated?: true;
  /** How long it waited for a place. */
  waitedMs: number;
  /** What the audit is to be told beside the request itself, by published keys; see `annotate`. */
  annotations: AuditAnnotations | undefined;
}

/** Until the first stage has read the request. */
const unread = { type: 'path', path: '', query: new URLSearchParams(), verb: '' } as const;

/** The context of a request of which nothing is known yet. */
export const newContext = <E extends Exchange>(exchange: E): RequestContext & { readonly exchange: E } => ({
  exchange,
  info: unread,
  user: anonymousUser,
  ticket: undefined,
  operation: undefined,
  auditId: '',
  receivedMs: 0,
  waitedMs: 0,
  annotations: undefined,
});

/** See `VerbRequest.beforeWrite`. */
export function noteWrite(context: RequestContext): void {
  if (context.exchange.responded)
    throw new StatusError('Timeout', 'the request was answered before its write was sent');
  context.writeSent = true;
}

/** Adds an audit annotation; see Annotator. */
export function annotate(context: RequestContext, key: string, value: string): string | undefined {
  context.annotations ??= new AuditAnnotations();
  return context.annotations.annotate(key, value);
}

/**
 * One step that every request takes. Throws to refuse the request; returns a promise only where it must wait, so that a
 * request that waits for nothing runs through in one go.
 */
export interface Stage {
  readonly name: string;
  readonly run: (context: RequestContext) => void | Promise<void>;
}
