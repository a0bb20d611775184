import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLogger } from '../../base/logger.ts';
import { systemRandom } from '../../base/random.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { until } from '../../base/waits-fixture.ts';
import { ApiClient } from '../../client/api-client.ts';
import { KeptEvents } from '../../client/event-recorder-fixture.ts';
import { orch } from '../../dialect/orch.ts';
import { signerNames } from '../../dialect/signer-names.ts';
import { makeCertificate } from '../../pki/certificate-fixture.ts';
import { authorityOfAll } from '../certificate-signing.ts';
import { startCertificateApproving } from './approver.ts';
import { ScriptedWrites } from './scripted-writes-fixture.ts';
import { startCertificateSigning } from './signer.ts';

const authority = makeCertificate({ name: 'some-ca', authority: true });
const request = {
  ...{ apiVersion: 'certificates.orch.io/v1', kind: 'CertificateSigningRequest' },
  metadata: { name: 'r', uid: 'u', resourceVersion: '1' },
  spec: {
    request: Buffer.from('no PEM').toString('base64'),
    signerName: signerNames(orch).nodeClient,
    usages: ['client auth'],
  },
};
const approved = { ...request, status: { conditions: [{ type: 'Approved', status: 'True' }] } };

/** The server refuses such requests; that the parser cannot be loaded has the same consequence, and may pass. */
describe('a request that cannot be read is decided by nobody, and tried again', () => {
  for (const [what, start, object, events] of [
    ['the signer', startCertificateSigning, approved, ['SigningFailed']],
    ['the approver', startCertificateApproving, request, []],
  ] as const) {
    it(what, async () => {
      const server = new ScriptedWrites([object]);
      const client = new ApiClient(server, 'controllers');
      const recorder = new KeptEvents();
      const clock = new ManualClock();
      const failures: string[] = [];
      const running = start({
        ...{ name: 'test', client, reader: client, events: recorder, rootAuthority: '', dialect: orch, clock },
        ...{ random: systemRandom, logger: { ...silentLogger, debug: (message) => failures.push(message) } },
        certificateSigning: { authorities: authorityOfAll(() => authority), lifetimeMsMax: 3600_000 },
      });
      for (let tried = 1; tried <= 2; tried++) {
        await until(
          () => failures.length === tried,
          () => `it fails ${tried} times: ${failures}`,
        );
        assert.equal(failures.at(-1), 'work failed and is repeated');
        clock.advance(1_000);
      }
      running.close();
      assert.deepEqual(server.writes, []);
      assert.deepEqual([...new Set(recorder.events.map(({ reason }) => reason))], events);
      assert.equal(clock.pending, 0);
    });
  }
});
