import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Why tests that ask OpenSSL are skipped; false if it is installed. */
export const withoutOpenssl: string | false = spawnSync('openssl', ['version']).status !== 0 && 'no openssl here';

const openssl = (...args: readonly string[]): string =>
  execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** Arguments of `openssl genpkey` by the names of kinds of keys. */
const keyKinds = {
  'RSA 2048': ['RSA', '-pkeyopt', 'rsa_keygen_bits:2048'],
  'RSA 4096': ['RSA', '-pkeyopt', 'rsa_keygen_bits:4096'],
  'P-256': ['EC', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  'P-384': ['EC', '-pkeyopt', 'ec_paramgen_curve:P-384'],
  'P-521': ['EC', '-pkeyopt', 'ec_paramgen_curve:P-521'],
  Ed25519: ['ED25519'],
} as const;
export type KeyKind = keyof typeof keyKinds;

/** Keys, requests and authorities made by OpenSSL, in files of one folder. */
export class OpensslFolder {
  readonly #directory: string;
  readonly #keys = new Map<KeyKind, string>();
  #count = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** A file with this text. */
  file(text: string): string {
    const path = this.#path('txt');
    writeFileSync(path, text);
    return path;
  }

  /** File of a private key; the same for each call with a kind. */
  key(kind: KeyKind): string {
    const known = this.#keys.get(kind);
    if (known !== undefined) return known;
    const path = this.#path('key');
    openssl('genpkey', '-algorithm', ...keyKinds[kind], '-out', path);
    this.#keys.set(kind, path);
    return path;
  }

  /** A certificate request in PEM. `subject` is in the form `/O=o/CN=n`; `extensions` as of `-addext`. */
  request(key: KeyKind, subject: string, ...extensions: readonly string[]): string {
    const added = extensions.flatMap((extension) => ['-addext', extension]);
    return openssl('req', '-new', '-utf8', '-key', this.key(key), '-subj', subject, ...added);
  }

  /** A self-signed authority that is valid for that many days. */
  authority(
    key: KeyKind,
    { commonName = 'some-ca', days = 30 } = {},
  ): { readonly certificate: string; readonly key: string } {
    const certificate = this.#path('crt');
    const usage = ['-addext', 'keyUsage=critical,keyCertSign,cRLSign'];
    const args = ['-x509', '-new', '-key', this.key(key), '-subj', `/CN=${commonName}`, '-days', String(days)];
    openssl('req', ...args, ...usage, '-out', certificate);
    return { certificate, key: this.key(key) };
  }

  /** What `openssl verify` says about a certificate in PEM. Throws if it does not hold. */
  verify(pem: string, authority: string, ...more: readonly string[]): string {
    return openssl('verify', '-x509_strict', '-CAfile', authority, ...more, this.file(pem));
  }

  /** The certificate as `openssl x509 -text` shows it. */
  text(pem: string): string {
    return openssl('x509', '-noout', '-text', '-nameopt', 'RFC2253', '-in', this.file(pem));
  }

  read(file: string): string {
    return readFileSync(file, 'utf8');
  }

  #path(suffix: string): string {
    return join(this.#directory, `${++this.#count}.${suffix}`);
  }
}
