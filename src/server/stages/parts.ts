import type { FinalAuthenticator } from '../../authn/anonymous.ts';
import type { RequestHeaderNames } from '../../authn/identity-headers.ts';
import type { Authorizer } from '../../authz/authorizer.ts';
import type { Clock } from '../../base/clock.ts';
import type { ClosableStack } from '../../base/disposable.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { AccessCounts } from '../access-counts.ts';
import type { RequestContext } from '../request-context.ts';

/** What the stages work with. Each takes only what it needs. */
export interface PipelineParts {
  readonly clock: Clock;
  /** What stages hold open is closed with the server. */
  readonly resources: ClosableStack;
  readonly dialect: Dialect;
  readonly authenticator: FinalAuthenticator;
  /** The headers of an authenticating proxy, where one is trusted; they are hidden beside the usual ones. */
  readonly requestHeaders?: RequestHeaderNames | undefined;
  readonly authorizer: Authorizer;
  readonly counts: AccessCounts;
  readonly inFlightMax: { readonly reads: number; readonly writes: number };
  /** Answers with an error. */
  readonly refuse: (context: RequestContext, error: unknown) => void;
  /** Answers a request that may be answered. */
  readonly answer: (context: RequestContext) => void | Promise<void>;
}
