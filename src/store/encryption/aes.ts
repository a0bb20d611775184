import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { Random } from '../../base/random.ts';
import { type Cipher, tooShort, Undecryptable } from './cipher.ts';

const blockBytes = 16;
const nonceBytes = 12;
const tagBytes = 16;

/** AES in CBC mode with PKCS #7 padding; the initialization vector comes first. Nothing is authenticated. */
export function aesCbc(secret: Uint8Array, random: Random): Cipher {
  const key = createSecretKey(secret);
  const algorithm = `aes-${secret.length * 8}-cbc` as const;
  return {
    seal(bytes) {
      const vector = random.bytes(blockBytes);
      const cipher = createCipheriv(algorithm, key, vector);
      return Buffer.concat([vector, cipher.update(bytes), cipher.final()]);
    },
    open(sealed) {
      if (sealed.length < blockBytes) throw tooShort();
      if (sealed.length % blockBytes !== 0) {
        throw new Undecryptable('the stored data is not a multiple of the block size');
      }
      const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, blockBytes));
      try {
        return Buffer.concat([decipher.update(sealed.subarray(blockBytes)), decipher.final()]);
      } catch (cause) {
        throw new Undecryptable('invalid padding on input', cause);
      }
    },
  };
}

/** AES in GCM with a random nonce, which comes first, and the record's key as additional data. */
export function aesGcm(secret: Uint8Array, random: Random): Cipher {
  const key = createSecretKey(secret);
  return {
    seal: (bytes, at) => sealGcm(key, bytes, at, random),
    open: (sealed, at) => openGcm(key, sealed, at),
  };
}

const infoBytes = 32;
/** Bytes of a seed, at least. */
export const seedBytes = 32;

/**
 * AES-256 in GCM with a key for each value: HKDF-Expand (RFC 5869, SHA-256) of the seed with 32 random bytes, which come
 * first. Random nonces under one key are safe for 2^32 values only; this has no such limit.
 */
export function extendedNonceGcm(seed: Uint8Array, random: Random): Cipher {
  if (seed.length < seedBytes) throw new RangeError(`invalid seed length ${seed.length} used for key generation`);
  const root = createSecretKey(seed);
  return {
    seal(bytes, at) {
      const info = random.bytes(infoBytes);
      return Buffer.concat([info, sealGcm(expanded(root, info), bytes, at, random)]);
    },
    open(sealed, at) {
      if (sealed.length < infoBytes) throw tooShort();
      return openGcm(expanded(root, sealed.subarray(0, infoBytes)), sealed.subarray(infoBytes), at);
    },
  };
}

/** The first block of HKDF-Expand, which is a key. */
const expanded = (root: KeyObject, info: Uint8Array): Buffer =>
  createHmac('sha256', root).update(info).update(firstBlock).digest();

const firstBlock = Uint8Array.of(1);

function sealGcm(key: KeyObject | Buffer, bytes: Uint8Array, at: string, random: Random): Buffer {
  const nonce = random.bytes(nonceBytes);
  const cipher = createCipheriv(gcmOf(key), key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(at));
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

function openGcm(key: KeyObject | Buffer, sealed: Uint8Array, at: string): Buffer {
  if (sealed.length < nonceBytes + tagBytes) throw tooShort();
  const end = sealed.length - tagBytes;
  const decipher = createDecipheriv(gcmOf(key), key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(at));
  decipher.setAuthTag(sealed.subarray(end));
  const bytes = decipher.update(sealed.subarray(nonceBytes, end));
  try {
    decipher.final();
  } catch (cause) {
    throw new Undecryptable('message authentication failed', cause);
  }
  return bytes;
}

type GcmAlgorithm = 'aes-128-gcm' | 'aes-192-gcm' | 'aes-256-gcm';

const gcmOf = (key: KeyObject | Buffer): GcmAlgorithm =>
  `aes-${(Buffer.isBuffer(key) ? key.length : (key.symmetricKeySize ?? 0)) * 8}-gcm` as GcmAlgorithm;
