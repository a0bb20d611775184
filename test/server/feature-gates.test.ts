import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { orch } from '../../src/dialect/orch.ts';
import { insecureNodeRequests } from '../../src/dialect/published-feature-gates.ts';
import { signerNames } from '../../src/dialect/signer-names.ts';
import { ids, makeRequest, relativeName, requestToPem } from '../../src/pki/certificate-request-fixture.ts';
import { as, Folder } from '../support/authorization.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Feature gates of a running server (spec section 9): what they change, what is said of them, and their metric. */

const subject = [relativeName(ids.organization, 'system:nodes'), relativeName(ids.commonName, 'system:node:other')];
const request = Buffer.from(requestToPem(makeRequest({ subject }))).toString('base64');
const spec = { request, signerName: signerNames(orch).nodeClient, usages: ['client auth', 'digital signature'] };
const requests = '/apis/certificates.orch.io/v1/certificatesigningrequests';

describe('streaming lists', { timeout: 60_000 }, () => {
  const watch = '/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=1&resourceVersionMatch=NotOlderThan';
  for (const [on, status] of [
    [true, 200],
    [false, 400],
  ] as const) {
    it(`${on ? 'on' : 'off'}: ${status}, and other watches as ever`, async () => {
      await using server = await OrchProcess.start({ flags: [`--feature-gates=WatchList=${on}`] });
      for (const value of [true, false]) {
        const asked = await server.get(`${watch}&sendInitialEvents=${value}`);
        assert.equal(asked.status, status, asked.text);
        if (!on) assert.match(asked.text, /forbidden for watch unless the WatchList feature gate is enabled/);
      }
      const plain = await server.get('/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=1');
      assert.equal(plain.status, 200);
    });
  }
});

describe('a deprecated gate', { timeout: 120_000 }, () => {
  for (const [setting, status, value] of [
    [undefined, 403, 0],
    [false, 403, 0],
    [true, 201, 1],
  ] as const) {
    it(`${setting ?? 'not given'}: a node's request in the name of another is ${status}`, async () => {
      using folder = new Folder();
      const flags = [folder.tokens({ 'system:node:n1': ['system:nodes'] })];
      if (setting !== undefined) flags.push(`--feature-gates=${insecureNodeRequests}=${setting}`);
      await using server = await OrchProcess.start({ flags });
      const small = await server.post(requests, { metadata: { name: 'a' }, spec }, { as: as('system:node:n1') });
      assert.equal(small.status, status, small.text);
      // Large bodies are admitted on the thread for heavy work.
      const annotations = { padding: 'x'.repeat(200_000) };
      const large = await server.post(
        requests,
        { metadata: { name: 'b', annotations }, spec },
        { as: as('system:node:n1') },
      );
      assert.equal(large.status, status, large.text);
      const { text } = await server.get('/metrics');
      assert.ok(text.includes(`orch_feature_enabled{name="${insecureNodeRequests}",stage="DEPRECATED"} ${value}\n`));
      assert.equal(
        server.log.includes(`Setting deprecated feature gate ${insecureNodeRequests}=${setting}.`),
        setting !== undefined,
      );
    });
  }
});
