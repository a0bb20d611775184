import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js';
import type { Random } from '../../base/random.ts';
import { type Cipher, tooShort, Undecryptable } from './cipher.ts';

const nonceBytes = 24;
const tagBytes = 16;

/** XSalsa20 with Poly1305, as `secretbox` of NaCl: nonce, tag, ciphertext. The record's key is not authenticated. */
export function secretbox(secret: Uint8Array, random: Random): Cipher {
  const key = Uint8Array.from(secret);
  return {
    seal(bytes) {
      const nonce = random.bytes(nonceBytes);
      return Buffer.concat([nonce, xsalsa20poly1305(key, nonce).encrypt(bytes)]);
    },
    open(sealed) {
      if (sealed.length < nonceBytes + tagBytes) throw tooShort();
      try {
        return xsalsa20poly1305(key, sealed.subarray(0, nonceBytes)).decrypt(sealed.subarray(nonceBytes));
      } catch (cause) {
        throw new Undecryptable('message authentication failed', cause);
      }
    },
  };
}
