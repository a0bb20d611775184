import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Clock } from '../../base/time/clock.ts';
import { type KeyPair, type KeyPairFiles, readKeyPair } from '../../pki/key-pair-files.ts';
import { WatchedKeyPair } from '../../pki/watched-key-pair.ts';
import type { NamedPairPem, NamedServing, TlsConfig } from '../../server/wiring/config.ts';
import { cipherSuites, openSslCiphers } from './cipher-suites.ts';
import { named } from './flag-files.ts';
import { choice, choices, type Flag, type FlagValues, file, integer, repeated } from './flags.ts';

const versions = { VersionTLS12: 'TLSv1.2', VersionTLS13: 'TLSv1.3' } as const;

/** The maximum of kube-apiserver: 1 in 50, so that a client is not kept busy with handshakes. */
const goawayChanceMax = 0.02;

const goawayChance: Flag<number> = {
  placeholder: 'FRACTION',
  default: 0,
  defaultText: '0',
  isSwitch: false,
  help:
    'the share of HTTP/2 requests after which the client is asked to connect again, so that servers behind a balancer ' +
    'get even loads: 0.001, and 0 where there is one server',
  parse(text) {
    const value = /^(\d+\.?\d*|\.\d+)(e-?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
    if (!(value <= goawayChanceMax)) {
      throw new Error(`${JSON.stringify(text)} is not a number from 0 to ${goawayChanceMax}`);
    }
    return value;
  },
};

/** Flags for TLS and HTTP/2 connections. */
export const tlsFlags = {
  'goaway-chance': goawayChance,
  'http2-max-streams-per-connection': integer({
    min: 0,
    max: 10_000,
    default: 0,
    defaultText: String(limits.streamsPerConnectionMax),
    help: `requests of one HTTP/2 connection at once; 0: ${limits.streamsPerConnectionMax}`,
  }),
  'tls-cert-file': file({
    help: 'the certificate to serve with (PEM), intermediates behind it; read again when it changes',
  }),
  'tls-cipher-suites': choices({
    of: cipherSuites,
    default: [],
    defaultText: 'those of the runtime',
    help: 'cipher suites of TLS 1.2, by their names at the IANA; those of TLS 1.3 cannot be chosen',
  }),
  'tls-min-version': choice({
    of: ['VersionTLS12', 'VersionTLS13'],
    default: 'VersionTLS12',
    help: 'the oldest version of TLS that is spoken',
  }),
  'tls-private-key-file': file({ help: 'key (PEM) of --tls-cert-file; read again when it changes' }),
  'tls-sni-cert-key': repeated({
    placeholder: 'CERT,KEY[:DOMAIN,...]',
    help:
      'files of a certificate and its key (PEM) for clients that ask for one of its names, or of those given, such as ' +
      '*.example.com; read again when they change; may be given again',
  }),
} as const;

interface Context {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Throws a UsageError. */
export function readTls(values: FlagValues<typeof tlsFlags>, context: Context): TlsConfig {
  const chosen = values['tls-cipher-suites'];
  return {
    minVersion: versions[values['tls-min-version']],
    ...(chosen.length > 0 && { ciphers: openSslCiphers(chosen) }),
    named: values['tls-sni-cert-key'].map((text) => named('tls-sni-cert-key', () => readNamedServing(text, context))),
    streamsPerConnectionMax: values['http2-max-streams-per-connection'] || limits.streamsPerConnectionMax,
    goawayChance: values['goaway-chance'],
  };
}

function readNamedServing(text: string, context: Context): NamedServing {
  const { files, domains } = parseNamedFiles(text);
  const read = (): KeyPair => readKeyPair(files);
  const withNames = (pair: KeyPair): NamedPairPem => {
    const names = domains ?? certifiedNames(pair);
    if (names.length === 0) throw new Error(`${files.certificate} has no DNS name: give the domains behind the key`);
    return { certificate: pair.certificatePem, key: pair.keyPem, names, given: domains !== undefined };
  };
  const current = read();
  return {
    current: withNames(current),
    follow: (changed) =>
      new WatchedKeyPair({ ...context, files, read, changed: (pair) => changed(withNames(pair)) }, current),
  };
}

function parseNamedFiles(text: string): {
  readonly files: KeyPairFiles;
  readonly domains: readonly string[] | undefined;
} {
  const [, certificate, key, given] = /^([^,:]+),([^,:]+)(?::(.*))?$/.exec(text) ?? [];
  if (certificate === undefined || key === undefined) {
    throw new Error(`${JSON.stringify(text)} is not of the form CERT,KEY[:DOMAIN,...]`);
  }
  const domains = given?.split(',').map((domain) => domain.trim().toLowerCase());
  const wrong = domains?.find((domain) => !domainPattern.test(domain));
  if (wrong !== undefined) {
    throw new Error(`${JSON.stringify(wrong)} is no domain such as example.com or *.example.com`);
  }
  return { files: { certificate, key }, domains };
}

const label = '[a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9_])?';
const domainPattern = new RegExp(`^(\\*\\.)?${label}(\\.${label})*$`);

const certifiedNames = ({ certificate }: KeyPair): readonly string[] =>
  [...(certificate.subjectAltName ?? '').matchAll(/(?:^|, )DNS:([^,"]+)/g)]
    .map(([, name = '']) => name.toLowerCase())
    .filter((name) => domainPattern.test(name));
