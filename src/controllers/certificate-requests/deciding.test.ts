import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { describe, it } from 'node:test';
import { silentLogger } from '../../base/logger.ts';
import { systemRandom } from '../../base/random.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { until } from '../../base/waits-fixture.ts';
import { ApiClient } from '../../client/api-client.ts';
import { KeptEvents } from '../../client/event-recorder-fixture.ts';
import { orch } from '../../dialect/orch.ts';
import { signerNames } from '../../dialect/signer-names.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { formatTime } from '../../meta/time.ts';
import { makeCertificate } from '../../pki/certificate-fixture.ts';
import { ids, makeRequest, relativeName, requestToPem } from '../../pki/certificate-request-fixture.ts';
import { authorityOfAll } from '../certificate-signing.ts';
import { startCertificateApproving } from './approver.ts';
import { ScriptedWrites } from './scripted-writes-fixture.ts';
import { startCertificateSigning } from './signer.ts';

const hourMs = 3600_000;
const authority = makeCertificate({ name: 'some-ca', authority: true });
const subject = [relativeName(ids.organization, 'system:nodes'), relativeName(ids.commonName, 'system:node:n1')];
const certificateRequest = Buffer.from(requestToPem(makeRequest({ subject }))).toString('base64');

/** A request of a node for a client certificate, with these conditions. */
const requestOf = (name: string, more: { conditions?: readonly string[]; ageMs?: number; seconds?: number } = {}) => ({
  ...{ apiVersion: 'certificates.orch.io/v1', kind: 'CertificateSigningRequest' },
  metadata: {
    ...{ name, uid: `uid-${name}`, resourceVersion: '1' },
    creationTimestamp: formatTime(new ManualClock().now() - (more.ageMs ?? 0)),
  },
  spec: {
    ...{ request: certificateRequest, signerName: signerNames(orch).nodeClient, username: 'somebody' },
    usages: ['client auth', 'digital signature'],
    ...(more.seconds !== undefined && { expirationSeconds: more.seconds }),
  },
  status: { conditions: (more.conditions ?? []).map((type) => ({ type, status: 'True' })) },
});

function run(start: typeof startCertificateSigning, requests: readonly ApiObject[]) {
  const server = new ScriptedWrites(requests);
  const client = new ApiClient(server, 'controllers');
  const clock = new ManualClock();
  const running = start({
    ...{ name: 'test', client, reader: client, events: new KeptEvents(), rootAuthority: '', dialect: orch, clock },
    ...{ random: systemRandom, logger: silentLogger },
    certificateSigning: { authorities: authorityOfAll(() => authority), lifetimeMsMax: 24 * hourMs },
  });
  const written = (count: number): Promise<void> =>
    until(
      () => server.writes.length === count,
      () => `${count} writes: ${server.writes}`,
    );
  return { server, clock, running, written };
}

describe('the signer of certificate requests', () => {
  it('signs what is approved, and nothing that is denied, failed or pending', async () => {
    const others = [['Denied'], ['Approved', 'Failed'], ['Approved', 'Denied'], []];
    const requests = [...others, ['Approved']].map((conditions, index) => requestOf(`r${index}`, { conditions }));
    const { server, running, written } = run(startCertificateSigning, requests);
    // Work begins in the order of the list: what is not signed before the last one is not signed.
    server.answerWrite(200, {});
    await written(1);
    assert.match(server.writes[0] ?? '', /PUT .*\/r4\/status$/);
    running.close();
  });

  for (const [what, seconds, lifetimeMs] of [
    ['the wanted lifetime', 3_600, hourMs],
    ['at least ten minutes', 60, 600_000],
    // The backdating of five minutes counts as a part of a long lifetime.
    ['at most what is configured', 7 * 24 * 3_600, 24 * hourMs - 300_000],
  ] as const) {
    it(`gives ${what}`, async () => {
      const { server, clock, running, written } = run(startCertificateSigning, [
        requestOf('r', { conditions: ['Approved'], seconds }),
      ]);
      server.answerWrite(200, {});
      await written(1);
      const { status } = server.bodies[0] as { readonly status: { readonly certificate: string } };
      const { validTo } = new X509Certificate(Buffer.from(status.certificate, 'base64'));
      assert.equal(Date.parse(validTo) - clock.now(), lifetimeMs);
      running.close();
    });
  }
});

describe('the approver of certificate requests', () => {
  for (const [what, ageMs, pauseMs] of [
    ['a second for a new request', 0, 1_000],
    ['half of its age', 100_000, 50_000],
    ['ten minutes for an old one', 24 * hourMs, 600_000],
  ] as const) {
    it(`asks again whether somebody may have a certificate after ${what}`, async () => {
      const { server, clock, running, written } = run(startCertificateApproving, [requestOf('r', { ageMs })]);
      const answer = (): void => server.answerWrite(201, { status: { allowed: false } });
      answer();
      await written(1);
      await until(() => clock.pending === 1, 'it waits');
      clock.advance(pauseMs - 1);
      assert.equal(clock.pending, 1, 'too early');
      answer();
      clock.advance(1);
      await written(2);
      assert.ok(server.writes.every((write) => write.endsWith('/subjectaccessreviews')));
      running.close();
    });
  }
});
