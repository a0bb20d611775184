import { createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import { signerNames } from '../src/dialect/signer-names.ts';
import { makeCertificate } from '../src/pki/certificate-fixture.ts';
import { ids, makeRequest, relativeName, requestToPem } from '../src/pki/certificate-request-fixture.ts';
import { objectIdentifier, sequence } from '../src/pki/der.ts';
import { dialect, json, jsonBody } from './api-objects.ts';
import { PreparedRequest } from './http2-client.ts';
import { rateOf } from './one-thread.ts';

export const certificatesGroup = dialect.group('certificates');
export const signingRequests = `/apis/${certificatesGroup}/v1/certificatesigningrequests`;

const signers = signerNames(dialect);
/** What becomes of requests: controllers approve and sign those of nodes; nobody approves the others, or signs foreign ones. */
const kinds = {
  signed: { signerName: signers.nodeClient, organization: 'system:nodes', commonName: 'system:node:n' },
  waiting: { signerName: signers.client, organization: 'team', commonName: 'jane' },
  foreign: { signerName: 'example.com/signer', organization: 'team', commonName: 'jane' },
} as const;

const ecdsaWithSha256 = sequence(objectIdentifier('1.2.840.10045.4.3.2'));

/** Makes certificate signing requests, each with a P-256 key of its own. */
export class CertificateRequests {
  readonly #kind: (typeof kinds)[keyof typeof kinds];
  readonly #name: string;
  #made = 0;

  constructor(kind: keyof typeof kinds, name: string) {
    this.#kind = kinds[kind];
    this.#name = name;
  }

  /** Creations that were never sent before. */
  prepare(count: number): readonly PreparedRequest[] {
    return Array.from({ length: count }, () => {
      const body = jsonBody(this.next());
      return new PreparedRequest({ method: 'POST', path: signingRequests, headers: json, body });
    });
  }

  get signerName(): string {
    return this.#kind.signerName;
  }

  next(): unknown {
    this.#made += 1;
    const { signerName, organization, commonName } = this.#kind;
    const request = signedRequest([
      relativeName(ids.organization, organization),
      relativeName(ids.commonName, `${commonName}${this.#made}`),
    ]);
    return {
      metadata: { name: `${this.#name}-${this.#made}` },
      spec: {
        request: Buffer.from(requestToPem(request)).toString('base64'),
        signerName,
        usages: ['digital signature', 'client auth'],
      },
    };
  }
}

const p256 = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

function signedRequest(subject: readonly Buffer[]): Buffer {
  const privateKey = p256();
  const signed = (content: Buffer): Buffer => sign('sha256', content, privateKey);
  return makeRequest({ subject, privateKey, algorithm: ecdsaWithSha256, sign: signed });
}

/** About as long as what is signed of a request, and of a certificate. */
const signedBytes = Buffer.alloc(256, 1);

/** What cannot be avoided for each request, as often as one thread does it in a second. */
export function bareRate(durationMs: number, what: 'verify' | 'verify and sign'): number {
  const key = p256();
  const publicKey = createPublicKey(key);
  const signature = sign('sha256', signedBytes, key);
  const verified = (): boolean => verify('sha256', signedBytes, publicKey, signature);
  const signed = (): boolean => sign('sha256', signedBytes, key).length > 0;
  return rateOf(durationMs, what === 'verify' ? verified : () => verified() && signed());
}

/** PEM of different authorities, together no longer than that. */
export function authorities(bytesMax: number): string {
  const keyOf = makeCertificate({});
  let text = '';
  for (;;) {
    const { cert } = makeCertificate({ name: 'anchor', authority: true, keyOf });
    if (text.length + cert.length > bytesMax) return text;
    text += cert;
  }
}
