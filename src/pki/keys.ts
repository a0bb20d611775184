import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';

/** A new private key: ECDSA on P-256, which every TLS client supports; takes about a millisecond. */
export const generateKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

/** Unencrypted PKCS #8 in PEM; file permissions protect it. */
export const keyToPem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

/** Parses a private key in any PEM format. Throws if there is none or it needs a passphrase. */
export const keyFromPem = (pem: string): KeyObject => createPrivateKey(pem);
