import type { Span } from '../../base/span.ts';
import type { Exchange } from '../../http/exchange.ts';
import { StatusError } from '../../meta/status-error.ts';
import { type AnnotationLevel, AuditAnnotations } from '../../request/audit-annotations.ts';
import type { RequestInfo } from '../../request/request-info.ts';
import { anonymousUser, type UserInfo } from '../../request/user-info.ts';
import type { RequestAudit } from './audit/request-audit.ts';
import type { Ticket } from './flow-control/ticket.ts';
import type { Operation } from './operation.ts';

/** The state of one request in the pipeline. Each stage adds what later stages need. */
export interface RequestContext {
  readonly exchange: Exchange;
  /** Set by the stage `requestInfo`. */
  info: RequestInfo;
  /** The parse error of a malformed request. */
  malformed?: unknown;
  /** Set by the stage `authenticate`. */
  user: UserInfo;
  /** The authenticated user if `user` is impersonated. Set by the stage `impersonate`. */
  impersonatedBy?: UserInfo;
  /** A write was sent to the store: until the request is answered, its outcome is unknown. */
  writeSent?: boolean;
  /** The request's share of the capacity. Set by the stage `flow`. */
  ticket: Ticket | undefined;
  /** The WebSocket sub-protocol, if the request is upgraded. Set by the stage `authenticate`. */
  webSocketProtocol?: string;
  /** All sub-protocols that are offered, without the one that is a token. Set by the stage `authenticate`. */
  webSocketProtocols?: readonly string[];
  /** The handler of the request. Set by the stage `prepare`. */
  operation: Operation | undefined;
  /** See `assignAuditId`. Set by the stage `observe`. */
  auditId: string;
  /** Time of arrival on the monotonic clock. Set by the stage `observe`. */
  receivedMs: number;
  /** When the request is ended if it has no answer, on the monotonic clock; undefined: never. Set by the stage `deadline`. */
  deadlineMs: number | undefined;
  /** The server ended the request to protect itself: no seat, or too slow. */
  terminated?: true;
  /** The request was answered because its time was over, whatever its work does. */
  timedOut?: true;
  /** Time spent waiting for a seat. Milliseconds. */
  waitedMs: number;
  /** The audit record; undefined if the request is not recorded. Set by the stage `audit`. */
  audit: RequestAudit | undefined;
  /** The `traceparent` of a request that names a trace. Set by the stage `trace`. */
  traceParent: string | undefined;
  /** The span of the request, if it is traced. Set by the stages `trace` and `traceIdentified`. */
  rootSpan: Span | undefined;
  /** The span of the verb, if the request is traced. */
  verbSpan: Span | undefined;
  /** Audit annotations, keyed as in kube-apiserver; see `annotate`. */
  annotations: AuditAnnotations | undefined;
}

/** Placeholder until the stage `requestInfo` has run. */
const unread = { type: 'path', path: '', query: new URLSearchParams(), verb: '' } as const;

/** The initial context of a request. */
export const newContext = <E extends Exchange>(exchange: E): RequestContext & { readonly exchange: E } => ({
  exchange,
  info: unread,
  user: anonymousUser,
  ticket: undefined,
  operation: undefined,
  auditId: '',
  receivedMs: 0,
  deadlineMs: undefined,
  waitedMs: 0,
  audit: undefined,
  traceParent: undefined,
  rootSpan: undefined,
  verbSpan: undefined,
  annotations: undefined,
});

/** See `VerbRequest.beforeWrite`. */
export function noteWrite(context: RequestContext): void {
  if (context.exchange.responded)
    throw new StatusError('Timeout', 'the request was answered before its write was sent');
  context.writeSent = true;
  context.audit?.storeAsked();
}

/** Adds an audit annotation; see Annotator. */
export function annotate(
  context: RequestContext,
  key: string,
  value: string,
  from?: AnnotationLevel,
): string | undefined {
  if (from === 'Request' && !context.audit?.wantsRequestObject) return undefined;
  context.annotations ??= new AuditAnnotations();
  return context.annotations.annotate(key, value);
}

/**
 * One step of the pipeline. Throws to refuse the request; returns a promise only if it must wait, so that a request
 * that never waits runs synchronously.
 */
export interface Stage {
  readonly name: string;
  readonly run: (context: RequestContext) => void | Promise<void>;
}
