import type { FinalAuthenticator } from '../../../authn/anonymous.ts';
import type { RequestHeaderNames } from '../../../authn/identity-headers.ts';
import type { Authorizer } from '../../../authz/authorizer.ts';
import type { Clock } from '../../../base/clock.ts';
import type { ClosableStack } from '../../../base/disposable.ts';
import type { Random } from '../../../base/random.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import type { AccessCounts } from '../access-counts.ts';
import type { FlowControl } from '../flow-control/flow-control.ts';
import type { RequestObserver } from '../observe/request-observer.ts';
import type { Operation } from '../operation.ts';
import type { RequestContext } from '../request-context.ts';

/** What the stages work with. Each takes only what it needs. */
export interface PipelineParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Who is told of requests. */
  readonly observers: readonly RequestObserver[];
  /** What stages hold open is closed with the server. */
  readonly resources: ClosableStack;
  readonly dialect: Dialect;
  readonly authenticator: FinalAuthenticator;
  /** The headers of an authenticating proxy, where one is trusted; they are hidden beside the usual ones. */
  readonly requestHeaders?: RequestHeaderNames | undefined;
  readonly authorizer: Authorizer;
  readonly counts: AccessCounts;
  readonly flowControl: FlowControl;
  /** What a request may take, watches excepted. Milliseconds. */
  readonly requestMsMax: number;
  /** Answers with an error. */
  readonly refuse: (context: RequestContext, error: unknown) => void;
  /** Finds out how a request that is allowed is answered. Throws where it cannot be. */
  readonly prepare: (context: RequestContext) => Operation;
  /** Resolves when the answer, or its first part, has been handed over. */
  readonly answer: (context: RequestContext, operation: Operation) => void | Promise<void>;
}
