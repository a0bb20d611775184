import { timingSafeEqual } from 'node:crypto';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { clockLeewaySeconds } from '../jwt-times.ts';
import type { BoundClaims, LegacyClaims, TokenClaims } from './claims.ts';

/** How recent an answer must be: what this server knows at once, or the latest, which may take a round trip. */
export type Freshness = 'cache' | 'store';

type Found = ApiObject | undefined | Promise<ApiObject | undefined>;

/**
 * Looks up what tokens are bound to. Answers at once from the cache where it can: that is done for every request.
 * A rejection means that nobody knows; the token then does not hold.
 */
export interface TokenObjects {
  account(namespace: string, name: string, freshness: Freshness): Found;
  pod(namespace: string, name: string, freshness: Freshness): Found;
  secret(namespace: string, name: string, freshness: Freshness): Found;
  node(name: string, freshness: Freshness): Found;
}

/** What was found of what a token is bound to. */
export interface BoundObjects {
  readonly account: ApiObject | undefined;
  readonly pod: ApiObject | undefined;
  readonly secret: ApiObject | undefined;
  readonly node: ApiObject | undefined;
}

/** Looks up what a token stands or falls with: nothing else, and of a pod's node nothing. */
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

/** One that throws must not leave the promises of the others to nobody: they may reject. */
function attempt(find: () => Found): Found {
  try {
    return find();
  } catch (error) {
    return Promise.reject(error);
  }
}

/**
 * Why a bound token does not hold any more, or undefined. An object that is being deleted counts until the leeway has
 * passed after the time at which it was to be gone: its pod may still be finishing its work.
 */
export function boundTokenProblem(claims: BoundClaims, found: BoundObjects, nowMs: number): string | undefined {
  const deletedBefore = nowMs - clockLeewaySeconds * 1000;
  const node = claims.pod ? undefined : claims.node;
  return (
    goneProblem('service account', claims.account, found.account, deletedBefore) ??
    (claims.secret && goneProblem('secret', claims.secret, found.secret, deletedBefore)) ??
    (claims.pod && goneProblem('pod', claims.pod, found.pod, deletedBefore)) ??
    (node && goneProblem('node', node, found.node, deletedBefore))
  );
}

function goneProblem(
  what: string,
  claimed: { readonly name: string; readonly uid?: string },
  found: ApiObject | undefined,
  deletedBefore: number,
): string | undefined {
  if (!found) return `the ${what} ${claimed.name} is not there`;
  const { uid, deletionTimestamp } = found.metadata;
  if (uid === undefined || uid !== claimed.uid)
    return `the ${what} ${claimed.name} is not the one that the token names`;
  if (deletionTimestamp === undefined || Date.parse(deletionTimestamp) >= deletedBefore) return undefined;
  return `the ${what} ${claimed.name} has been deleted`;
}

/** The label that keeps a token from being used although its Secret is still there. */
export const invalidSinceLabel = ({ domain }: Dialect): string => `${domain}/legacy-token-invalid-since`;

/** Why a token that is kept in a Secret does not hold any more, or undefined. Deletion counts as soon as it begins. */
export function legacyTokenProblem(claims: LegacyClaims, found: BoundObjects, token: string): string | undefined {
  const { secret, account } = found;
  if (!secret || secret.metadata.deletionTimestamp !== undefined) return `the secret ${claims.secretName} is not there`;
  if (!isTokenOf(secret, token)) return `the secret ${claims.secretName} holds another token`;
  if (!account || account.metadata.deletionTimestamp !== undefined) {
    return `the service account ${claims.account.name} is not there`;
  }
  if (account.metadata.uid !== claims.account.uid) {
    return `the service account ${claims.account.name} is not the one that the token names`;
  }
  return undefined;
}

/** Compares in a time that does not tell how much of the token is right. */
function isTokenOf(secret: ApiObject, token: string): boolean {
  const data = secret['data'] as Readonly<Record<string, unknown>> | undefined;
  const encoded = data && Object.hasOwn(data, 'token') ? data['token'] : undefined;
  if (typeof encoded !== 'string') return false;
  const [kept, shown] = [Buffer.from(encoded, 'base64'), Buffer.from(token)];
  return kept.length === shown.length && timingSafeEqual(kept, shown);
}
