import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { dialects } from '../../src/dialect/dialects.ts';
import { signerNames } from '../../src/dialect/signer-names.ts';
import { makeCertificate } from '../../src/pki/certificate-fixture.ts';
import { makeRequest, requestToPem } from '../../src/pki/certificate-request-fixture.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** CertificateSigningRequests as clients see them, small ones and those that the second thread handles. */

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const request = base64(requestToPem(makeRequest()));
const forged = base64(requestToPem(makeRequest({ sign: () => Buffer.alloc(64) })));
const dayMs = 24 * 3600_000;
const leaf = makeCertificate({ name: 'leaf', notBefore: Date.now(), notAfter: Date.now() + dayMs }).cert;

interface Stored {
  readonly metadata: {
    readonly managedFields: readonly {
      readonly manager: string;
      readonly subresource?: string;
      readonly fieldsV1: object;
    }[];
  };
  readonly status: { readonly conditions?: readonly object[]; readonly certificate?: string };
  readonly details?: { readonly causes?: readonly { readonly field: string }[] };
}

/** Large enough for the second thread. */
const ballast = { annotations: { 'example.com/ballast': 'x'.repeat(200_000) } };
const sizes: readonly (readonly [size: string, metadata: object, chain: string])[] = [
  ['small', {}, leaf],
  ['large', ballast, leaf.repeat(400)],
];

for (const dialect of Object.values(dialects)) {
  describe(`certificate signing requests (${dialect.name})`, () => {
    let server: OrchProcess;
    before(async () => {
      // Nobody else approves or signs.
      server = await OrchProcess.start({ flags: [`--dialect=${dialect.name}`, '--controllers=namespace-controller'] });
    });
    after(() => server[Symbol.asyncDispose]());

    const path = `/apis/${dialect.group('certificates')}/v1/certificatesigningrequests`;
    const { client } = signerNames(dialect);
    const bodyOf = (name: string, metadata: object, spec: object = {}): object => ({
      metadata: { name, ...metadata },
      spec: { request, signerName: client, usages: ['client auth'], expirationSeconds: 86_400, ...spec },
    });
    const counts = async (): Promise<readonly (number | undefined)[]> => {
      const { text } = await server.get('/metrics');
      return ['requested', 'honored'].map((name) => {
        const series = `apiserver_certificates_registry_csr_${name}_duration_total{signerName="${client}"} `;
        return Number(
          text
            .split('\n')
            .find((line) => line.startsWith(series))
            ?.slice(series.length) ?? 0,
        );
      });
    };

    for (const [size, metadata, chain] of sizes) {
      it(`${size}: wrong ones are refused, with the fields named`, async () => {
        const { status, json } = await server.post<Stored>(
          path,
          bodyOf(`${size}-wrong`, metadata, { request: forged, usages: [] }),
        );
        assert.deepEqual(
          [status, json.details?.causes?.map(({ field }) => field)],
          [422, ['spec.request', 'spec.usages']],
        );
      });

      it(`${size}: approved and signed; who did what is told, and counted`, async () => {
        const before = await counts();
        const one = `${path}/${size}`;
        const made = await server.post(path, bodyOf(size, metadata));
        assert.equal(made.status, 201, made.text);
        const approve = (stored: object) => ({
          ...stored,
          status: { conditions: [{ type: 'Approved', status: 'True' }] },
        });
        const approved = await server.put<Stored>(
          `${one}/approval?fieldManager=boss`,
          approve((await server.get(one)).json),
        );
        assert.equal(approved.status, 200, approved.text);
        const signed = { ...approved.json, status: { ...approved.json.status, certificate: base64(chain) } };
        const junk = {
          ...signed,
          status: {
            ...signed.status,
            certificate: base64(`${chain}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`),
          },
        };
        const refused = await server.put<Stored>(`${one}/status`, junk);
        assert.deepEqual(
          [refused.status, refused.json.details?.causes?.map(({ field }) => field)],
          [422, ['status.certificate']],
        );
        const dry = await server.put<Stored>(`${one}/status?dryRun=All`, signed);
        assert.equal(dry.status, 200, dry.text);
        const issued = await server.put<Stored>(`${one}/status?fieldManager=press`, signed);
        assert.equal(issued.status, 200, issued.text);
        assert.equal(issued.json.status.certificate, base64(chain));
        const managed = Object.fromEntries(issued.json.metadata.managedFields.map((each) => [each.manager, each]));
        assert.deepEqual([managed['boss']?.subresource, managed['press']?.subresource], ['approval', 'status']);
        assert.deepEqual(managed['press']?.fieldsV1, { 'f:status': { 'f:certificate': {} } });
        assert.deepEqual(
          await counts(),
          before.map((count = 0) => count + 1),
        );
      });
    }
  });
}
