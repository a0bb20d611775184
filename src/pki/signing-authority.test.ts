import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { silentLogger } from '../base/logger.ts';
import { ManualClock } from '../base/time/clock.ts';
import { makeCertificate } from './certificate-fixture.ts';
import { SigningAuthority } from './signing-authority.ts';

const directory = mkdtempSync(join(tmpdir(), 'signing-'));
after(() => rmSync(directory, { recursive: true }));
const files = { certificate: join(directory, 'ca.crt'), key: join(directory, 'ca.key') };

const one = makeCertificate({ name: 'one', authority: true });
const two = makeCertificate({ name: 'two', authority: true });
const leaf = makeCertificate({ name: 'leaf' });

interface Written {
  readonly cert?: string;
  readonly key?: string;
}

function write({ cert, key }: Written): void {
  if (cert !== undefined) writeFileSync(files.certificate, cert);
  if (key !== undefined) writeFileSync(files.key, key);
}

describe('an authority whose files', () => {
  for (const [what, steps, subject, errors] of [
    ['change together', [two], 'CN=two', 0],
    ['change one after the other', [{ cert: two.cert }, two], 'CN=two', 1],
    ['change, the key first', [{ key: two.key }, two], 'CN=two', 1],
    ['no longer match', [{ cert: two.cert }, {}], 'CN=one', 1],
    ['become those of a leaf', [leaf], 'CN=one', 1],
    ['get a second certificate', [{ cert: one.cert + two.cert }], 'CN=one', 1],
    ['become empty', [{ cert: '', key: '' }], 'CN=one', 1],
    ['become empty, then valid', [{ cert: '', key: '' }, two], 'CN=two', 1],
  ] as const satisfies readonly (readonly [string, readonly Written[], string, number])[]) {
    it(`${what}: ${subject} signs`, () => {
      const clock = new ManualClock(Date.now());
      const logged: string[] = [];
      const logger = { ...silentLogger, error: (_: string, fields?: object) => logged.push(JSON.stringify(fields)) };
      write(one);
      const authority = new SigningAuthority(files, { clock, logger });
      for (const step of steps) {
        write(step);
        clock.advance(limits.fileRereadMs);
      }
      const { certificate, privateKey } = authority.current;
      authority.close();
      assert.equal(certificate.subject, subject);
      assert.ok(certificate.checkPrivateKey(privateKey));
      assert.equal(logged.length, errors, logged.join());
      assert.doesNotMatch(logged.join(), /PRIVATE KEY/);
      assert.equal(clock.pending, 0);
    });
  }
});
