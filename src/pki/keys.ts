import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';

/** A new private key: ECDSA on P-256, which every TLS client has and which costs a millisecond. */
export const generateKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

/** PKCS #8 in PEM, not encrypted: the file's permissions protect it. */
export const keyToPem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

/** A private key of any form that PEM has. Throws where there is none, or it wants a passphrase. */
export const keyFromPem = (pem: string): KeyObject => createPrivateKey(pem);
