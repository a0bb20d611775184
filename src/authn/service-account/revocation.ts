import { timingSafeEqual } from 'node:crypto';
import type { Caller } from '../../base/caller.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { clockLeewaySeconds } from '../jwt-times.ts';
import type { AccountReference } from './account-user.ts';
import type { BoundClaims, LegacyClaims, TokenClaims } from './token-claims.ts';

/** `cache`: what this server knows, immediately. `store`: the latest state, which may take a round trip. */
export type Freshness = 'cache' | 'store';

type Found = ApiObject | undefined | Promise<ApiObject | undefined>;

/**
 * Looks up the objects to which tokens are bound. Answers synchronously from the cache if possible, as it runs for
 * every request. If it rejects, the state is unknown and the token is not accepted.
 */
export interface TokenObjects {
  /**
   * Waits until the cache has what was acknowledged before the caller came; undefined if it has, or if the caller must not wait.
   * Rejects with a StatusError that is no verdict on the token.
   */
  upToDate(caller: Caller): Promise<void> | undefined;
  account(namespace: string, name: string, freshness: Freshness): Found;
  pod(namespace: string, name: string, freshness: Freshness): Found;
  secret(namespace: string, name: string, freshness: Freshness): Found;
  node(name: string, freshness: Freshness): Found;
}

/** Look-up results for the objects to which a token is bound. */
export interface BoundObjects {
  readonly account: ApiObject | undefined;
  readonly pod: ApiObject | undefined;
  readonly secret: ApiObject | undefined;
  readonly node: ApiObject | undefined;
}

/** Looks up the objects on which a token's validity depends; for a token bound to a pod, not the node. */
export function findBound(
  claims: TokenClaims,
  objects: TokenObjects,
  freshness: Freshness,
): BoundObjects | Promise<BoundObjects> {
  const { namespace, name } = claims.account;
  const secretName = claims.kind === 'legacy' ? claims.secretName : claims.secret?.name;
  const podName = claims.kind === 'bound' ? claims.pod?.name : undefined;
  const nodeName = claims.kind === 'bound' && !claims.pod ? claims.node?.name : undefined;
  const found = [
    attempt(() => objects.account(namespace, name, freshness)),
    podName === undefined ? undefined : attempt(() => objects.pod(namespace, podName, freshness)),
    secretName === undefined ? undefined : attempt(() => objects.secret(namespace, secretName, freshness)),
    nodeName === undefined ? undefined : attempt(() => objects.node(nodeName, freshness)),
  ] as const;
  const together = ([account, pod, secret, node]: readonly (ApiObject | undefined)[]): BoundObjects => ({
    account,
    pod,
    secret,
    node,
  });
  return found.some((each) => each instanceof Promise)
    ? Promise.all(found).then(together)
    : together(found as readonly (ApiObject | undefined)[]);
}

/** Turns a throw into a rejection: throwing would leave the promises of the other look-ups unhandled. */
function attempt(find: () => Found): Found {
  try {
    return find();
  } catch (error) {
    return Promise.reject(error);
  }
}

/**
 * Why a bound token is no longer valid, or undefined. A terminating object keeps the token valid until the leeway after
 * its deletion timestamp has passed, since its pod may still be shutting down.
 */
export function boundTokenProblem(claims: BoundClaims, found: BoundObjects, nowMs: number): string | undefined {
  const deletedBefore = nowMs - clockLeewaySeconds * 1000;
  const node = claims.pod ? undefined : claims.node;
  return (
    accountProblem(claims.account, found.account, deletedBefore) ??
    (claims.secret && goneProblem('secret', claims.secret, found.secret, deletedBefore)) ??
    (claims.pod && goneProblem('pod', claims.pod, found.pod, deletedBefore)) ??
    (node && goneProblem('node', node, found.node, deletedBefore))
  );
}

/** What kube-apiserver says of a token whose object is gone. */
const invalidated = 'service account token has been invalidated';

function accountProblem(
  claimed: AccountReference,
  found: ApiObject | undefined,
  deletedBefore: number,
): string | undefined {
  if (!found) return `serviceaccounts ${JSON.stringify(claimed.name)} not found`;
  const { uid = '', deletionTimestamp } = found.metadata;
  if (deletionTimestamp !== undefined && Date.parse(deletionTimestamp) < deletedBefore) {
    return `service account ${claimed.namespace}/${claimed.name} has been deleted`;
  }
  return uid === '' || uid !== claimed.uid
    ? `service account UID (${uid}) does not match claim (${claimed.uid})`
    : undefined;
}

function goneProblem(
  what: string,
  claimed: { readonly name: string; readonly uid?: string },
  found: ApiObject | undefined,
  deletedBefore: number,
): string | undefined {
  if (!found) return invalidated;
  const { uid = '', deletionTimestamp } = found.metadata;
  if (uid === '' || uid !== claimed.uid) {
    return `${what} UID (${uid}) does not match service account ${what} ref claim (${claimed.uid ?? ''})`;
  }
  if (deletionTimestamp === undefined || Date.parse(deletionTimestamp) >= deletedBefore) return undefined;
  return invalidated;
}

/** The label that invalidates the token of an existing Secret. */
export const invalidSinceLabel = ({ domain }: Dialect): string => `${domain}/legacy-token-invalid-since`;

/** Why a token stored in a Secret is no longer valid, or undefined. A terminating object invalidates it immediately. */
export function legacyTokenProblem(claims: LegacyClaims, found: BoundObjects, token: string): string | undefined {
  const { secret, account } = found;
  if (!secret || secret.metadata.deletionTimestamp !== undefined) return 'Token has been invalidated';
  if (!isTokenOf(secret, token)) return "Token does not match server's copy";
  // Every deletion is before this moment.
  return accountProblem(claims.account, account, Number.POSITIVE_INFINITY);
}

/** Constant-time comparison. */
function isTokenOf(secret: ApiObject, token: string): boolean {
  const data = secret['data'] as Readonly<Record<string, unknown>> | undefined;
  const encoded = data && Object.hasOwn(data, 'token') ? data['token'] : undefined;
  if (typeof encoded !== 'string') return false;
  const [kept, shown] = [Buffer.from(encoded, 'base64'), Buffer.from(token)];
  return kept.length === shown.length && timingSafeEqual(kept, shown);
}
