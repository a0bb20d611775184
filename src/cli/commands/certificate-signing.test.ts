import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { silentLogger } from '../../base/logger.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { makeCertificate } from '../../pki/certificate-fixture.ts';
import { clusterSigningFlags } from '../flags/cluster-signing-flags.ts';
import { parseFlags } from '../flags/flags.ts';
import { openCertificateSigning } from './certificate-signing.ts';

const directory = mkdtempSync(join(tmpdir(), 'certificate-signing-'));
after(() => rmSync(directory, { recursive: true }));

const own = makeCertificate({ name: 'own', authority: true });
const legacy = 'cluster-signing-legacy-unknown';

/** The flags of a pair, whose files hold an authority of that name. */
function pair(prefix: string, name: string): readonly string[] {
  const { cert, key } = makeCertificate({ name, authority: true });
  const [certFile, keyFile] = [join(directory, `${name}.crt`), join(directory, `${name}.key`)];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  return [`--${prefix}-cert-file=${certFile}`, `--${prefix}-key-file=${keyFile}`];
}

const dayMs = 24 * 3600_000;

describe('authorities of the flags', () => {
  for (const [what, flags, expected] of [
    ['none: its own for all', [], { client: 'CN=own', nodeClient: 'CN=own', nodeServing: 'CN=own' }],
    ['one for all', pair('cluster-signing', 'all'), { client: 'CN=all', nodeClient: 'CN=all', nodeServing: 'CN=all' }],
    ['one for clients', pair('cluster-signing-kube-apiserver-client', 'a'), { client: 'CN=a' }],
    [
      'one for each signer of nodes',
      [...pair('cluster-signing-kubelet-client', 'b'), ...pair('cluster-signing-kubelet-serving', 'c')],
      { nodeClient: 'CN=b', nodeServing: 'CN=c' },
    ],
    ['one for the signer that is no more', pair(legacy, 'd'), {}],
  ] as const) {
    it(what, () => {
      const clock = new ManualClock(Date.now());
      const warned: unknown[] = [];
      const logger = { ...silentLogger, warn: (_: string, fields?: object) => warned.push(fields) };
      const values = parseFlags(clusterSigningFlags, flags);
      const { config, close } = openCertificateSigning(values, { clock, logger, own });
      const { authorities = {}, lifetimeMsMax } = config.certificateSigning ?? {};
      const subjects = Object.entries(authorities).map(([signer, current]) => [signer, current().certificate.subject]);
      assert.deepEqual(Object.fromEntries(subjects), expected);
      assert.equal(lifetimeMsMax, 365 * dayMs);
      const because = 'requests for that signer are refused';
      const ignored = flags
        .filter((flag) => flag.includes(legacy))
        .map((flag) => ({ flag: flag.split('=')[0], because }));
      assert.deepEqual(warned, ignored);
      close();
      assert.equal(clock.pending, 0);
    });
  }

  it('none, and none of its own: nothing is signed', () => {
    const values = parseFlags(clusterSigningFlags, []);
    const opened = openCertificateSigning(values, { clock: new ManualClock(), logger: silentLogger });
    assert.deepEqual(opened.config, {});
    opened.close();
  });

  it('a bad second one leaves nothing behind', () => {
    const clock = new ManualClock(Date.now());
    const flags = [
      ...pair('cluster-signing-kube-apiserver-client', 'e'),
      ...['--cluster-signing-kubelet-client-cert-file=/none', '--cluster-signing-kubelet-client-key-file=/none'],
    ];
    const values = parseFlags(clusterSigningFlags, flags);
    assert.throws(
      () => openCertificateSigning(values, { clock, logger: silentLogger }),
      /kubelet-client-cert-file: \/none/,
    );
    assert.equal(clock.pending, 0);
  });
});
