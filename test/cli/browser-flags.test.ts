import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { runCommandLine } from '../../src/cli/run-command-line.ts';

/** Flags that concern browsers, and cannot be: one line that names the flag, and exit code 1. */

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'flags-'));
});
after(() => rmSync(folder, { recursive: true }));

const refused: readonly (readonly [flags: readonly string[], message: RegExp])[] = [
  [['--cors-allowed-origins='], /--cors-allowed-origins: .*empty item/],
  [['--cors-allowed-origins', '//a\\.test$,'], /--cors-allowed-origins: .*empty item/],
  [['--cors-allowed-origins=example.com'], /--cors-allowed-origins: "example\.com" does not pin the host/],
  [['--cors-allowed-origins=.*'], /--cors-allowed-origins: "\.\*" does not pin the host/],
  [['--cors-allowed-origins=^https'], /--cors-allowed-origins: "\^https" does not pin the host/],
  [['--cors-allowed-origins=a\\.test$'], /--cors-allowed-origins: .* does not pin the host/],
  [['--cors-allowed-origins=//a$', '--cors-allowed-origins=a'], /--cors-allowed-origins: "a" does not pin the host/],
  [['--cors-allowed-origins=//a(:|$'], /--cors-allowed-origins: "\/\/a\(:\|\$": .*missing closing \)/],
  [['--cors-allowed-origins=^(?=a)$'], /--cors-allowed-origins: .*\(\?=/],
  [['--cors-allowed-origins=//a[$'], /--cors-allowed-origins: .*missing closing \]/],
  [['--strict-transport-security-directives='], /--strict-transport-security-directives: .*empty item/],
  [['--strict-transport-security-directives=maxage=1'], /--strict-.*: "maxage=1" is not one of max-age=SECONDS/],
  [['--strict-transport-security-directives=max-age'], /--strict-.*: "max-age" is not one of/],
  [['--strict-transport-security-directives=max-age=one'], /--strict-.*: "max-age=one" is not one of/],
  [['--strict-transport-security-directives=max-age=1;preload'], /--strict-.*: "max-age=1;preload" is not one of/],
  [['--strict-transport-security-directives=max-age=1,INCLUDESUBDOMAINS'], /--strict-.*: "INCLUDESUBDOMAINS" is not/],
  [['--strict-transport-security-directives=max-age=1\r\nx: y'], /--strict-.*: "max-age=1\\r\\nx: y" is not one of/],
  [['--strict-transport-security-directives=max-age=1,max-age=2'], /--strict-.*: max-age is given twice/],
  [['--strict-transport-security-directives=preload'], /--strict-.*: needs max-age=SECONDS/],
  [['--external-hostname='], /--external-hostname: "" is no host name or address/],
  [['--external-hostname=https://api'], /--external-hostname: "https:\/\/api" is no host name or address/],
  [['--external-hostname=a b'], /--external-hostname: /],
  [['--external-hostname=api:0'], /--external-hostname: /],
  [['--advertise-address=api.example.com'], /--advertise-address: "api\.example\.com" is not an IP address/],
  [['--advertise-address=10.0.0.1:443'], /--advertise-address: "10\.0\.0\.1:443" is not an IP address/],
];

describe('a flag that cannot be', () => {
  for (const command of ['apiserver', 'up']) {
    for (const [flags, message] of refused) {
      test(`${command} ${JSON.stringify(flags.join(' '))}`, async () => {
        let err = '';
        const terminal = { out: () => {}, err: (text: string) => (err += text), interactive: false };
        const data = join(folder, 'data');
        assert.equal(await runCommandLine([command, `--data-dir=${data}`, '--secure-port=0', ...flags], terminal), 1);
        assert.match(err, message);
        assert.equal(err.split('\n').length, 2, err);
        assert.equal(existsSync(data), false, 'leaves nothing behind');
      });
    }
  }
});
