import type { MatchConditions } from '../webhook/match-conditions.ts';
import type { ReviewVersion } from '../webhook/review.ts';
import type { FailurePolicy } from '../webhook/webhook-authorizer.ts';

/** All types of authorizers (spec section 5.7, "Modes"), in the order of help. */
export const authorizerTypes = ['AlwaysAllow', 'AlwaysDeny', 'ABAC', 'Webhook', 'RBAC', 'Node'] as const;
export type AuthorizerType = (typeof authorizerTypes)[number];

/** One authorizer of the chain, checked and with its defaults, wherever it was configured. */
export type AuthorizerSpec = BuiltInSpec | WebhookSpec;

/** An authorizer that has nothing to be configured here. Each type stands once in a chain. */
export interface BuiltInSpec {
  readonly type: Exclude<AuthorizerType, 'Webhook'>;
  /** For metrics and the log; unique in the chain. */
  readonly name: string;
}

export interface WebhookSpec {
  readonly type: 'Webhook';
  /** For metrics, the log, and what reviews show; unique in the chain. */
  readonly name: string;
  readonly connection: WebhookConnection;
  /** The version of SubjectAccessReview that is sent and expected. */
  readonly version: ReviewVersion;
  /** What one round trip may take. Milliseconds. */
  readonly timeoutMs: number;
  /** How long answers are remembered; 0: not at all. Milliseconds. */
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
  readonly failurePolicy: FailurePolicy;
  /** Absent where every question is to be asked. */
  readonly conditions?: MatchConditions;
}

/** Where a webhook is, and as whom it is asked. */
export type WebhookConnection =
  /** Path of a connection file, in the form of client configuration. */
  | { readonly type: 'file'; readonly file: string }
  /** The access reviews (`reviewPath`) of the API server of the cluster that this program runs in, as the account of its pod. */
  | { readonly type: 'inCluster' };

/** True where both describe the same chain; connection files are compared by their paths, not by what they hold. */
export const sameSpecs = (a: readonly AuthorizerSpec[], b: readonly AuthorizerSpec[]): boolean =>
  describe(a) === describe(b);

const describe = (specs: readonly AuthorizerSpec[]): string =>
  JSON.stringify(
    specs.map((spec) => (spec.type === 'Webhook' ? { ...spec, conditions: spec.conditions?.sources } : spec)),
  );
