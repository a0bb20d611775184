import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { certificatesFromPem } from '../../pki/pem.ts';
import type { KeyPairPem } from '../connection.ts';

/** Why a certificate and a key cannot be shown to a server; undefined where they can. Never says what the key is. */
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
    // What the engine says of a certificate that is none helps nobody.
    return [];
  }
}

function readKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    // The same, and what it says must not be about the key.
    return undefined;
  }
}

export const sameKeyPair = (one: KeyPairPem | undefined, other: KeyPairPem | undefined): boolean =>
  one?.certificate === other?.certificate && one?.key === other?.key;
