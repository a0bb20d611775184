import type { Dialect } from '../../dialect/dialect.ts';
import {
  bootstrapTokenData,
  bootstrapTokenExpiry,
  bootstrapTokenIdOf,
  bootstrapTokenKeys as keys,
} from '../../kinds/core/bootstrap-token.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { SigningKey } from './detached-signature.ts';

/** A bootstrap token that signs `cluster-info` until it expires. Holds a secret: never log it. */
export interface SigningToken {
  readonly key: SigningKey;
  /** Milliseconds since the epoch; may be infinite. */
  readonly expiresMs: number;
}

/**
 * Reads the Secret of a bootstrap token; undefined if it is not for signing, whatever the time. As in
 * kube-controller-manager its name must be that of its id. Other than there a Secret that is being deleted signs
 * nothing, just as its token authenticates nobody.
 */
export function readSigningToken(object: ApiObject, dialect: Dialect): SigningToken | undefined {
  const { name = '', deletionTimestamp } = object.metadata;
  const data = bootstrapTokenData(object);
  const [id, secret] = [data(keys.id), data(keys.secret)];
  const isNamed = id !== '' && bootstrapTokenIdOf(name) === id;
  if (!isNamed || secret === '' || data(keys.signing) !== 'true') return undefined;
  if (deletionTimestamp !== undefined) return undefined;
  const key = { id, secret: dialect.clusterInfoKey === 'whole token' ? `${id}.${secret}` : secret };
  return { key, expiresMs: bootstrapTokenExpiry(data) };
}
