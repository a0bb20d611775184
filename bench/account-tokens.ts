import { createPublicKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { encode } from '../src/authn/oidc/provider-fixture.ts';
import { keyFromPem } from '../src/pki/keys.ts';
import { isSignature, makeSignature, type SignatureAlgorithm } from '../src/pki/signature-algorithm.ts';
import { rateOf } from './one-thread.ts';

/** Makes tokens as the product does, with its key: many that differ from each other, without asking it for each. */
export class AccountTokens {
  readonly #algorithm: SignatureAlgorithm;
  readonly #key: KeyObject;
  readonly #header: string;
  readonly #claims: Readonly<Record<string, unknown>>;
  readonly #like: string;
  #made = 0;

  /** Of the same account and for the same time as `like`, which the product has made with the key in that file. */
  constructor(like: string, keyFile: string) {
    const [header = '', claims = ''] = like.split('.');
    const decoded = (part: string): Record<string, unknown> => JSON.parse(Buffer.from(part, 'base64url').toString());
    this.#algorithm = decoded(header)['alg'] as SignatureAlgorithm;
    this.#key = keyFromPem(readFileSync(keyFile, 'utf8'));
    this.#header = header;
    this.#claims = decoded(claims);
    this.#like = like;
  }

  /** One that was never made before. */
  next(): string {
    this.#made += 1;
    const jti = `00000000-0000-4000-8000-${this.#made.toString(16).padStart(12, '0')}`;
    const input = `${this.#header}.${encode({ ...this.#claims, jti })}`;
    return `${input}.${makeSignature(this.#algorithm, this.#key, Buffer.from(input)).toString('base64url')}`;
  }

  /** Signatures that this runtime makes in a second, and does nothing else. */
  signatures(durationMs: number): number {
    const input = Buffer.from(this.#input);
    return rateOf(durationMs, () => makeSignature(this.#algorithm, this.#key, input).length > 0);
  }

  /** Signatures that it verifies in a second. */
  verifications(durationMs: number): number {
    const input = Buffer.from(this.#input);
    const signature = Buffer.from(this.#like.slice(this.#input.length + 1), 'base64url');
    const publicKey = createPublicKey(this.#key);
    return rateOf(durationMs, () => isSignature(this.#algorithm, publicKey, input, signature));
  }

  get #input(): string {
    return this.#like.slice(0, this.#like.lastIndexOf('.'));
  }
}
