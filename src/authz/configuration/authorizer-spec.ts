import type { MatchConditions } from '../webhook/match-conditions.ts';
import type { ReviewVersion } from '../webhook/review.ts';
import type { FailurePolicy } from '../webhook/webhook-authorizer.ts';

/** All authorization modes (spec section 5.7, "Modes"), in the order of the help text. */
export const authorizerTypes = ['AlwaysAllow', 'AlwaysDeny', 'ABAC', 'Webhook', 'RBAC', 'Node'] as const;
export type AuthorizerType = (typeof authorizerTypes)[number];

/** One authorizer of the chain, validated and with defaults, from either source. */
export type AuthorizerSpec = BuiltInSpec | WebhookSpec;

/** An authorizer without configuration of its own. Each type occurs at most once in a chain. */
export interface BuiltInSpec {
  readonly type: Exclude<AuthorizerType, 'Webhook'>;
  /** Used in metrics and logs; unique in the chain. */
  readonly name: string;
}

export interface WebhookSpec {
  readonly type: 'Webhook';
  /** Used in metrics, logs and reviews; unique in the chain. */
  readonly name: string;
  readonly connection: WebhookConnection;
  /** Version of SubjectAccessReview in requests and responses. */
  readonly version: ReviewVersion;
  /** Timeout of one round trip, in milliseconds. */
  readonly timeoutMs: number;
  /** How long decisions are cached, in milliseconds; 0 disables the cache. */
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
  readonly failurePolicy: FailurePolicy;
  /** Default: every request is sent to the webhook. */
  readonly conditions?: MatchConditions;
}

/** Address of a webhook and the credentials for it. */
export type WebhookConnection =
  /** Path of a kubeconfig file. */
  | { readonly type: 'file'; readonly file: string }
  /**
   * The review endpoint (`reviewPath`) of the API server of the cluster in which this process runs, as its pod's service
   * account.
   */
  | { readonly type: 'inCluster' };

/** True if both describe the same chain. Connection files are compared by path, not by content. */
export const sameSpecs = (a: readonly AuthorizerSpec[], b: readonly AuthorizerSpec[]): boolean =>
  describe(a) === describe(b);

const describe = (specs: readonly AuthorizerSpec[]): string =>
  JSON.stringify(
    specs.map((spec) => (spec.type === 'Webhook' ? { ...spec, conditions: spec.conditions?.sources } : spec)),
  );
