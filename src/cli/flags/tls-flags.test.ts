import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { getCiphers } from 'node:tls';
import { limits } from '../../base/limits.ts';
import { silentLogger } from '../../base/logger.ts';
import { systemRandom } from '../../base/random.ts';
import { ManualClock, systemClock } from '../../base/time/clock.ts';
import { ensureAuthority, ensureSelfSigned } from '../../pki/ca.ts';
import type { NamedPairPem } from '../../server/wiring/config.ts';
import { UsageError } from '../usage-error.ts';
import { cipherSuites, openSslCiphers } from './cipher-suites.ts';
import { parseFlags } from './flags.ts';
import { readRequests, requestFlags } from './request-flags.ts';
import { readTls, tlsFlags } from './tls-flags.ts';

let directory: string;
const at = (name: string): string => join(directory, name);

function makePair(name: string, hosts: readonly string[]): void {
  const files = { certificate: at(`${name}.crt`), key: at(`${name}.key`) };
  const purpose = { subject: { commonName: name }, use: 'serverAuth', hosts } as const;
  ensureSelfSigned(files, purpose, { clock: systemClock, random: systemRandom });
}

before(() => {
  directory = mkdtempSync(join(tmpdir(), 'tls-'));
  makePair('a', ['A.example.com', '*.b.example.com', '127.0.0.1']);
  makePair('b', ['c.example.com']);
  makePair('numbers', ['127.0.0.1']);
  const authority = { certificate: at('ca.crt'), key: at('ca.key') };
  ensureAuthority(authority, 'no names', { clock: systemClock, random: systemRandom });
});
after(() => rmSync(directory, { recursive: true }));

/** Expands `@name` to a file of the test. */
const expand = (args: readonly string[]): string[] => args.map((arg) => arg.replaceAll('@', `${directory}/`));
const context = { clock: systemClock, logger: silentLogger };
const read = (...args: readonly string[]) => readTls(parseFlags(tlsFlags, expand(args)), context);
const requests = (...args: readonly string[]) => readRequests(parseFlags(requestFlags, args));

it('the defaults are as documented', () => {
  assert.deepEqual(read(), {
    minVersion: 'TLSv1.2',
    named: [],
    streamsPerConnectionMax: limits.streamsPerConnectionMax,
    goawayChance: 0,
  });
  assert.deepEqual(requests(), {
    inFlightMax: { reads: 400, writes: 200 },
    timeoutMs: 60_000,
    watchMsMin: 1_800_000,
  });
});

it('flags set the configuration', () => {
  const suites = 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_AES_128_GCM_SHA256';
  const options = read(
    '--tls-min-version=VersionTLS13',
    `--tls-cipher-suites=${suites}`,
    '--http2-max-streams-per-connection=250',
    '--goaway-chance=0.001',
  );
  assert.deepEqual(options, {
    minVersion: 'TLSv1.3',
    ciphers: 'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:ECDHE-ECDSA-AES256-GCM-SHA384',
    named: [],
    streamsPerConnectionMax: 250,
    goawayChance: 0.001,
  });
  for (const [text, value] of [
    ['0', 0],
    ['.02', 0.02],
    ['2e-2', 0.02],
  ] as const) {
    assert.equal(read(`--goaway-chance=${text}`).goawayChance, value);
  }
  assert.equal(read('--http2-max-streams-per-connection=0').streamsPerConnectionMax, limits.streamsPerConnectionMax);
  assert.deepEqual(
    requests(
      '--max-requests-inflight=3000',
      '--max-mutating-requests-inflight=0',
      '--request-timeout=5m',
      '--min-request-timeout=60',
    ),
    { inFlightMax: { reads: 3000, writes: 0 }, timeoutMs: 300_000, watchMsMin: 60_000 },
  );
});

it('every cipher suite is one that the runtime knows', () => {
  const known = new Set(getCiphers().map((name) => name.toUpperCase()));
  for (const name of openSslCiphers(cipherSuites).split(':')) assert.ok(known.has(name.toUpperCase()), name);
});

describe('certificates by name', () => {
  const names = (...args: readonly string[]): unknown =>
    read(...args).named.map(({ current: { names, given } }) => [given, ...names]);

  it('have the names of the certificate, or those that are given', () => {
    assert.deepEqual(
      names('--tls-sni-cert-key=@a.crt,@a.key', '--tls-sni-cert-key=@b.crt,@b.key:X.y, *.z.y,localhost'),
      [
        [false, 'a.example.com', '*.b.example.com'],
        [true, 'x.y', '*.z.y', 'localhost'],
      ],
    );
    const [first] = read('--tls-sni-cert-key=@b.crt,@b.key').named;
    assert.equal(first?.current.certificate, readFileSync(at('b.crt'), 'utf8'));
    assert.equal(first?.current.key, readFileSync(at('b.key'), 'utf8'));
  });

  it('are read again when they change, with their names', () => {
    makePair('d', ['one.example.com']);
    const clock = new ManualClock();
    const values = parseFlags(tlsFlags, expand(['--tls-sni-cert-key=@d.crt,@d.key']));
    const [named] = readTls(values, { ...context, clock }).named;
    const seen: NamedPairPem[] = [];
    const followed = named?.follow((pair) => seen.push(pair));
    rmSync(at('d.crt'));
    makePair('e', ['two.example.com']);
    for (const kind of ['crt', 'key']) writeFileSync(at(`d.${kind}`), readFileSync(at(`e.${kind}`)));
    clock.advance(2 * limits.fileRereadMs);
    assert.deepEqual(
      seen.map(({ names }) => names),
      [['two.example.com']],
    );
    followed?.close();
    assert.equal(clock.pending, 0);
  });
});

describe('invalid flags', () => {
  for (const [args, message] of [
    [
      ['--tls-min-version=VersionTLS11'],
      /^--tls-min-version: "VersionTLS11" is not one of VersionTLS12, VersionTLS13$/,
    ],
    [
      ['--tls-cipher-suites=TLS_RSA_WITH_RC4_128_SHA'],
      /^--tls-cipher-suites: "TLS_RSA_WITH_RC4_128_SHA" is not one of /,
    ],
    [['--tls-cipher-suites='], /^--tls-cipher-suites: "" has an empty item$/],
    [['--tls-sni-cert-key=@a.crt'], /^--tls-sni-cert-key: ".*a\.crt" is not of the form CERT,KEY\[:DOMAIN,\.\.\.\]$/],
    [['--tls-sni-cert-key=@a.crt,@a.key,@b.key'], /^--tls-sni-cert-key: ".*" is not of the form /],
    [['--tls-sni-cert-key='], /^--tls-sni-cert-key: must not be empty$/],
    [['--tls-sni-cert-key=@a.crt,@b.key'], /^--tls-sni-cert-key: .*a\.crt does not belong to the key/],
    [['--tls-sni-cert-key=@none,@b.key'], /^--tls-sni-cert-key: .*none cannot be read: ENOENT/],
    [['--tls-sni-cert-key=@a.crt,@a.key:*.*.x'], /^--tls-sni-cert-key: "\*\.\*\.x" is no domain such as /],
    [['--tls-sni-cert-key=@a.crt,@a.key:a..b'], /^--tls-sni-cert-key: "a\.\.b" is no domain such as /],
    [['--tls-sni-cert-key=@a.crt,@a.key:'], /^--tls-sni-cert-key: "" is no domain such as /],
    [['--tls-sni-cert-key=@numbers.crt,@numbers.key'], /^--tls-sni-cert-key: .*numbers\.crt has no DNS name: give /],
    [['--tls-sni-cert-key=@ca.crt,@ca.key'], /^--tls-sni-cert-key: .*ca\.crt has no DNS name: give /],
    [
      ['--http2-max-streams-per-connection=-1'],
      /^--http2-max-streams-per-connection: "-1" is not a whole number from 0 /,
    ],
    [['--goaway-chance=0.021'], /^--goaway-chance: "0\.021" is not a number from 0 to 0\.02$/],
    [['--goaway-chance=-0.01'], /^--goaway-chance: "-0\.01" is not a number from 0 to 0\.02$/],
    [['--goaway-chance=often'], /^--goaway-chance: "often" is not a number from 0 to 0\.02$/],
  ] as const) {
    it(args.join(' '), () => throwsUsage(() => read(...args), message));
  }
  for (const [arg, message] of [
    ['--max-requests-inflight=-1', /^--max-requests-inflight: "-1" is not a whole number from 0 to 1000000$/],
    ['--max-mutating-requests-inflight=many', /^--max-mutating-requests-inflight: "many" is not a whole number/],
    ['--request-timeout=0s', /^--request-timeout: "0s" must be more than 0$/],
    ['--request-timeout=60', /^--request-timeout: "60" is not a duration such as /],
    ['--request-timeout=-1s', /^--request-timeout: "-1s" is not a duration such as /],
    ['--min-request-timeout=0', /^--min-request-timeout: "0" is not a whole number from 1 to 86400$/],
    ['--min-request-timeout=30m', /^--min-request-timeout: "30m" is not a whole number from 1 to 86400$/],
  ] as const) {
    it(arg, () => throwsUsage(() => requests(arg), message));
  }
});

function throwsUsage(attempt: () => unknown, message: RegExp): void {
  assert.throws(attempt, (error) => {
    assert.ok(error instanceof UsageError);
    assert.match(error.message, message);
    return true;
  });
}
