import type { FinalAuthenticator } from '../../../authn/anonymous.ts';
import type { RequestHeaderNames } from '../../../authn/identity-headers.ts';
import type { Authorizer } from '../../../authz/authorizer.ts';
import type { ClosableStack } from '../../../base/disposable.ts';
import type { Random } from '../../../base/random.ts';
import type { Clock } from '../../../base/time/clock.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import type { AccessMetrics } from '../access-metrics.ts';
import type { Auditor } from '../audit/auditor.ts';
import type { FlowControl } from '../flow-control/flow-control.ts';
import type { RequestObserver } from '../observe/request-observer.ts';
import type { Operation } from '../operation.ts';
import type { RequestContext } from '../request-context.ts';
import type { RequestTracer } from '../tracing/request-tracer.ts';

/** Dependencies of the stages. Each stage takes only what it needs. */
export interface PipelineParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Observers that are notified of requests. */
  readonly observers: readonly RequestObserver[];
  /** Records requests; undefined if none are. */
  readonly auditor?: Auditor | undefined;
  /** Traces requests; undefined if none are. */
  readonly tracer?: RequestTracer | undefined;
  /** Closed with the server; stages register what they hold open. */
  readonly resources: ClosableStack;
  readonly dialect: Dialect;
  readonly authenticator: FinalAuthenticator;
  /** The headers of a trusted authenticating proxy, if any. They are hidden in addition to the default ones. */
  readonly requestHeaders?: RequestHeaderNames | undefined;
  readonly authorizer: Authorizer;
  readonly access: AccessMetrics;
  readonly flowControl: FlowControl;
  /**
   * Waits until what decides about the request is as new as a read of the newest state that begins now; undefined if it is.
   * Once for each request.
   */
  readonly upToDate: (context: RequestContext) => Promise<void> | undefined;
  /** Maximum duration of a request, except watches. Milliseconds. */
  readonly requestMsMax: number;
  /** Answers with an error. */
  readonly refuse: (context: RequestContext, error: unknown) => void;
  /** Finds the handler of an authorized request. Throws if there is none. */
  readonly prepare: (context: RequestContext) => Operation;
  /** Resolves once the answer, or its first part, has been handed over. */
  readonly answer: (context: RequestContext, operation: Operation) => void | Promise<void>;
}
