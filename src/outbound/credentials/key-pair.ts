import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { certificatesFromPem } from '../../pki/pem.ts';
import type { KeyPairPem } from '../connection-config.ts';

/** Why a certificate and a key cannot be used together; undefined if they can. Never contains key material. */
export function findKeyPairProblem({ certificate, key }: KeyPairPem): string | undefined {
  const [leaf] = readCertificates(certificate);
  if (!leaf) return 'the certificate is not in PEM';
  const privateKey = readKey(key);
  if (!privateKey) return 'the key is not in PEM, or is encrypted';
  return leaf.checkPrivateKey(privateKey) ? undefined : 'the key does not belong to the certificate';
}

function readCertificates(pem: string): readonly X509Certificate[] {
  try {
    return certificatesFromPem(pem);
  } catch {
    // Node's parser message is not helpful.
    return [];
  }
}

function readKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    // As above; its message must not reveal anything about the key.
    return undefined;
  }
}

export const sameKeyPair = (one: KeyPairPem | undefined, other: KeyPairPem | undefined): boolean =>
  one?.certificate === other?.certificate && one?.key === other?.key;
