import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { runCommandLine } from '../../src/cli/run-command-line.ts';
import { type MadeCertificate, makeCertificate } from '../../src/pki/certificate-fixture.ts';

/** What is said about authorities that cannot sign certificate requests, before anything runs. */
const directory = mkdtempSync(join(tmpdir(), 'cluster-signing-'));
after(() => rmSync(directory, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

function files(name: string, { cert, key }: Pick<MadeCertificate, 'cert' | 'key'>) {
  return { cert: file(`${name}.crt`, cert), key: file(`${name}.key`, key) };
}

const authority = makeCertificate({ name: 'some-ca', authority: true });
const other = makeCertificate({ name: 'other-ca', authority: true });
const good = files('good', authority);
const leaf = files('leaf', makeCertificate({ name: 'leaf' }));
const mixed = files('mixed', { cert: authority.cert, key: other.key });
const two = files('two', { cert: authority.cert + other.cert, key: authority.key });
const mute = files('mute', makeCertificate({ name: 'mute-ca', authority: true, keyUsage: [0, 6] }));
const odd = Object.entries({
  'ec secp256k1': generateKeyPairSync('ec', { namedCurve: 'secp256k1' }),
  ed448: generateKeyPairSync('ed448'),
  'rsa-pss': generateKeyPairSync('rsa-pss', { modulusLength: 2048 }),
}).map(([type, { privateKey }]) => {
  const made = makeCertificate({ name: 'odd', authority: true, issuer: authority, keyOf: { privateKey } });
  return { type, ...files(type.replace(' ', '-'), made) };
});
const empty = file('empty', '');
const kubeconfig = file(
  'kubeconfig',
  '{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], clusters: [{name: k, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: u, user: {token: t}}]}',
);

const common = ['--cluster-signing-cert-file', '--cluster-signing-key-file'] as const;
const specific = ['kube-apiserver-client', 'kubelet-client', 'kubelet-serving', 'legacy-unknown'].map(
  (signer) => [`--cluster-signing-${signer}-cert-file`, `--cluster-signing-${signer}-key-file`] as const,
);
/** Those whose files are read. */
const signing = [common, ...specific.slice(0, 3)];
const exclusive =
  'cannot specify --cluster-signing-{cert,key}-file and other --cluster-signing-*-file flags at the same time';

const rows: readonly (readonly [flags: readonly string[], message: string | RegExp])[] = [
  ...[common, ...specific].flatMap(([cert, key]) => [
    [[`${cert}=${good.cert}`], `${cert} needs ${key}`] as const,
    [[`${key}=${good.key}`], `${key} needs ${cert}`] as const,
    [[`${cert}=`, `${key}=${good.key}`], `${cert}: must not be empty`] as const,
  ]),
  ...specific.map(([cert, key]) => {
    const all = [`${common[0]}=${good.cert}`, `${common[1]}=${good.key}`, `${cert}=${good.cert}`, `${key}=${good.key}`];
    return [all, exclusive] as const;
  }),
  ...signing.flatMap(([cert, key]) => {
    const pair = (certFile: string, keyFile: string) => [`${cert}=${certFile}`, `${key}=${keyFile}`];
    return [
      [pair('/none', good.key), new RegExp(`^${cert}: /none cannot be read: ENOENT`)],
      [pair(good.cert, '/none'), new RegExp(`^${cert}: /none cannot be read: ENOENT`)],
      [pair(empty, good.key), `${cert}: ${empty} has no PEM block of a CERTIFICATE`],
      [pair(good.cert, empty), new RegExp(`^${cert}: ${empty} is not a private key in PEM`)],
      [pair(leaf.cert, leaf.key), `${cert}: ${leaf.cert} is not the certificate of an authority`],
      [pair(mute.cert, mute.key), `${cert}: ${mute.cert} is not the certificate of an authority`],
      ...odd.map(({ type, ...each }) => {
        const message = `${each.key} cannot be used: cannot sign certificates with a key of type ${type}`;
        return [pair(each.cert, each.key), `${cert}: ${message}`] as const;
      }),
      [pair(two.cert, two.key), `${cert}: ${two.cert} holds 2 certificates: expected 1 certificate`],
      [pair(mixed.cert, mixed.key), new RegExp(`^${cert}: ${mixed.cert} does not belong to the key in ${mixed.key}`)],
    ] as const;
  }),
  ...(
    [
      ['0', 'must be more than 0'],
      ['0s', 'must be more than 0'],
      ['-1h', '"-1h" is not a duration such as 70s, 1m30s or 1h'],
      ['1y', '"1y" is not a duration such as 70s, 1m30s or 1h'],
      ['876001h', '"876001h" is too long'],
    ] as const
  ).map(([value, problem]) => {
    return [[`--cluster-signing-duration=${value}`], `--cluster-signing-duration: ${problem}`] as const;
  }),
];

async function run(...args: readonly string[]): Promise<{ readonly code: number; readonly lines: readonly string[] }> {
  let err = '';
  const terminal = { out: () => {}, err: (text: string) => (err += text), interactive: false };
  const code = await runCommandLine(args, terminal);
  return { code, lines: err.trimEnd().split('\n') };
}

const programs = {
  up: [`--data-dir=${join(directory, 'data')}`, '--secure-port=0'],
  'controller-manager': [`--kubeconfig=${kubeconfig}`],
} as const;

for (const [name, needed] of Object.entries(programs)) {
  for (const dialect of ['orch', 'kubernetes']) {
    describe(`orch ${name} --dialect=${dialect}`, () => {
      for (const [flags, message] of rows) {
        it(flags.map((flag) => flag.replace(directory, '')).join(' '), async () => {
          const { code, lines } = await run(name, ...needed, `--dialect=${dialect}`, ...flags);
          assert.deepEqual([code, lines.length], [1, 1], lines.join('\n'));
          const said = lines[0]?.replace(`orch ${name}: `, '') ?? '';
          if (typeof message === 'string') assert.equal(said, message);
          else assert.match(said, message);
          assert.doesNotMatch(said, /PRIVATE KEY/);
        });
      }
    });
  }
}

describe('orch apiserver', () => {
  for (const flag of [...common, ...specific.flat(), '--cluster-signing-duration']) {
    it(`does not know ${flag}: it signs nothing`, async () => {
      const { code, lines } = await run('apiserver', `${flag}=x`);
      assert.deepEqual([code, lines.length], [1, 1]);
      assert.match(lines[0] ?? '', new RegExp(`^orch apiserver: unknown flag ${flag}`));
    });
  }
});
