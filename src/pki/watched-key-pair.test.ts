import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { silentLogger } from '../base/logger.ts';
import { systemRandom } from '../base/random.ts';
import { ManualClock } from '../base/time/clock.ts';
import { ensureAuthority, ensureIssued, ensureSelfSigned } from './ca.ts';
import { makeCertificate } from './certificate-fixture.ts';
import { type KeyPair, type KeyPairFiles, readKeyPair } from './key-pair-files.ts';
import { WatchedKeyPair } from './watched-key-pair.ts';

const dayMs = 24 * 3600_000;

let directory: string;
let files: KeyPairFiles;
let clock: ManualClock;
/** Offset of the wall clock from the monotonic clock, as after a suspend. Milliseconds. */
let ahead: number;
let shown: string[];
let errors: string[];
let fails: boolean;
let kept: WatchedKeyPair;

const one = makeCertificate({ name: 'one' });
const two = makeCertificate({ name: 'two' });
const write = (pair: { readonly cert?: string; readonly key?: string }): void => {
  if (pair.cert !== undefined) writeFileSync(files.certificate, pair.cert);
  if (pair.key !== undefined) writeFileSync(files.key, pair.key);
};

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kept-'));
  files = { certificate: join(directory, 'tls.crt'), key: join(directory, 'tls.key') };
  ahead = 0;
  clock = new (class extends ManualClock {
    override now(): number {
      return super.now() + ahead;
    }
  })(Date.now());
  shown = [];
  errors = [];
  fails = false;
});
afterEach(() => {
  kept.close();
  rmSync(directory, { recursive: true });
  assert.equal(clock.pending, 0);
});

function keep(read: () => KeyPair = () => readKeyPair(files)): KeyPair {
  const current = read();
  const changed = ({ certificate }: KeyPair): void => {
    if (fails) throw new Error('cannot be shown');
    shown.push(certificate.subject);
  };
  const logger = { ...silentLogger, error: (_: string, fields?: object) => errors.push(JSON.stringify(fields)) };
  kept = new WatchedKeyPair({ files, read, changed, clock, logger }, current);
  return current;
}

/** Steps on the files, each followed by a check; the pairs reported then, and the number of errors. */
const cases: readonly (readonly [
  what: string,
  steps: readonly (() => void)[],
  shown: readonly string[],
  errors: number,
])[] = [
  ['do not change', [() => {}, () => write(one)], [], 0],
  ['both change', [() => write(two)], ['CN=two'], 0],
  ['change one after the other', [() => write({ cert: two.cert }), () => write(two)], ['CN=two'], 1],
  ['change, the key first', [() => write({ key: two.key }), () => write(two)], ['CN=two'], 1],
  ['do not match', [() => write({ cert: two.cert }), () => {}, () => {}], [], 1],
  ['do not match, and change back', [() => write({ cert: two.cert }), () => write(one)], [], 1],
  ['change twice', [() => write(two), () => write(one)], ['CN=two', 'CN=one'], 0],
  ['become invalid, then valid', [() => write({ cert: 'rubbish' }), () => write(two)], ['CN=two'], 1],
  ['become empty, then valid', [() => write({ cert: '', key: '' }), () => write(two)], ['CN=two'], 1],
  [
    'are missing for a while, and return with another certificate for the same key',
    [
      () => rmSync(files.key),
      () => write({ cert: makeCertificate({ name: 'again', keyOf: one }).cert }),
      () => write({ key: one.key }),
    ],
    ['CN=again'],
    1,
  ],
  [
    'are in a folder that is replaced',
    [
      () => {
        const folder = join(directory, 'next');
        mkdirSync(folder);
        writeFileSync(join(folder, 'tls.crt'), two.cert);
        writeFileSync(join(folder, 'tls.key'), two.key);
        for (const name of ['tls.crt', 'tls.key']) {
          symlinkSync(join(folder, name), join(directory, 'link'));
          renameSync(join(directory, 'link'), join(directory, name));
        }
      },
    ],
    ['CN=two'],
    0,
  ],
];

describe('a pair whose files', () => {
  for (const [what, steps, expected, problems] of cases) {
    it(what, () => {
      write(one);
      keep();
      for (const step of steps) {
        step();
        clock.advance(limits.fileLookMs);
      }
      assert.deepEqual([shown, errors.length], [expected, problems], errors.join('\n'));
      clock.advance(3 * limits.certificateCheckMs);
      assert.deepEqual(shown, expected);
      for (const error of errors) assert.doesNotMatch(error, /PRIVATE/);
    });
  }

  it('are new but cannot be applied is retried', () => {
    write(one);
    keep();
    fails = true;
    write(two);
    clock.advance(limits.fileLookMs);
    assert.deepEqual([shown, errors.length], [[], 1]);
    fails = false;
    clock.advance(limits.certificateCheckMs);
    assert.deepEqual(shown, ['CN=two']);
  });
});

describe('a pair that the server issued', () => {
  const context = () => ({ clock, random: systemRandom });
  const purpose = { subject: { commonName: 'server' }, use: 'serverAuth', hosts: ['localhost'] } as const;

  for (const [what, days, make] of [
    [
      'that an authority issued, is renewed when a third of its life is left',
      [243, 244],
      () => {
        const at = (name: string): string => join(directory, name);
        const authority = ensureAuthority({ certificate: at('ca.crt'), key: at('ca.key') }, 'ca', context());
        return () => ensureIssued(files, authority, purpose, context());
      },
    ],
    [
      'that is self-signed, is renewed when 30 days are left',
      [334, 336],
      () => () => ensureSelfSigned(files, purpose, context()),
    ],
  ] as const) {
    it(`${what}, while the program runs`, () => {
      const first = keep(make());
      for (const life of [1, 2]) {
        const begin = clock.now();
        for (const [day, renewals] of [
          [days[0], life - 1],
          [days[1], life],
        ] as const) {
          ahead += begin + day * dayMs - clock.now();
          clock.advance(limits.certificateCheckMs);
          assert.equal(shown.length, renewals, `after ${day} days`);
        }
        const { certificate, keyPem } = readKeyPair(files);
        assert.ok(Date.parse(certificate.validTo) - clock.now() > 360 * dayMs);
        assert.equal(keyPem, first.keyPem);
      }
      assert.deepEqual(errors, []);
      assert.equal(readFileSync(files.key, 'utf8'), first.keyPem);
    });
  }
});
