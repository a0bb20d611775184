import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import https from 'node:https';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { limits } from '../../src/base/limits.ts';
import { until, within } from '../../src/base/waits-fixture.ts';
import { decodeOpenapi } from '../../src/codec/protobuf/openapi/decode-fixture.ts';
import { kubernetes } from '../../src/dialect/kubernetes.ts';
import { definitionOf, definitionPath } from '../support/custom-resources.ts';
import { kubectlReleases } from '../support/kubectl-releases.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Version 2 of OpenAPI where it is too large to be made as a whole: it is written as it is made. */

const group = 'large.example.com';
const description = 'How large it is. '.repeat(150_000);
const count = Math.ceil((limits.recentDocumentsBytesMax + 1) / description.length);
const path = '/openapi/v2';
const protobuf = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

interface Document {
  readonly definitions: Readonly<Record<string, { readonly properties: { readonly size: unknown } }>>;
  readonly paths: Readonly<Record<string, unknown>>;
}

describe('a large document of version 2', () => {
  let server: OrchProcess;
  before(async () => {
    server = await OrchProcess.start({ flags: ['--dialect=kubernetes'] });
    for (let at = 0; at < count; at++) {
      const properties = { size: { type: 'integer', description } };
      const definition = definitionOf({ group, kind: `Widget${at}`, properties, dialect: kubernetes });
      assert.equal((await server.post(definitionPath(undefined, kubernetes), definition)).status, 201);
    }
    await until(async () => (await server.get(`/apis/${group}/v1/widget${count - 1}s`)).status === 200);
  });
  after(() => server[Symbol.asyncDispose]());

  const read = (headers: Readonly<Record<string, string>> = {}) => server.get<Document>(path, { headers });

  test('has all definitions, in each form and coding', async () => {
    const { status, json, text, headers } = await read();
    assert.equal(status, 200);
    assert.equal(headers['content-length'], undefined, 'its length is not known before it is written');
    assert.equal(Object.keys(json.definitions).filter((name) => /\.Widget\d+$/.test(name)).length, count);
    assert.deepEqual(json.definitions['com.example.large.v1.Widget0']?.properties.size, {
      ...{ description, type: 'integer' },
    });
    assert.ok(json.paths[`/apis/${group}/v1/namespaces/{namespace}/widget${count - 1}s`]);
    const compressed = await read({ 'accept-encoding': 'gzip' });
    assert.equal(compressed.headers['content-encoding'], 'gzip');
    assert.ok(gunzipSync(compressed.bytes).equals(Buffer.from(text)));
    const binary = await read({ accept: protobuf });
    assert.equal(binary.headers['content-type'], protobuf);
    const decoded = decodeOpenapi(binary.bytes, 2) as Document;
    assert.deepEqual(Object.keys(decoded.definitions), Object.keys(json.definitions));
    assert.deepEqual(Object.keys(decoded.paths), Object.keys(json.paths));
  });

  test('is not written for clients that have it, and for those that ask for its head', async () => {
    const head = await server.request('HEAD', path);
    const { etag } = head.headers;
    assert.deepEqual([head.status, head.bytes.length, typeof etag], [200, 0, 'string']);
    assert.equal((await read({ 'if-none-match': String(etag) })).status, 304);
  });

  test('is written for others when many clients left in the middle of it', async () => {
    const { ca, cert, key } = server.credentials;
    const left = Array.from({ length: 3 * limits.streamedDocumentsMax }, () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const options = { host: '127.0.0.1', port: server.port, path, ca, cert, key, agent: false };
      const request = https.get(options, (response) => {
        response.once('data', () => request.destroy());
      });
      // Those that wait for their turn leave, too.
      request.setTimeout(1_000, () => request.destroy());
      request.on('error', () => {});
      request.on('close', resolve);
      return promise;
    });
    await within(Promise.all(left), 'clients cannot leave');
    assert.equal((await read()).status, 200);
  });

  for (const { release, program } of kubectlReleases.filter(({ release }) => release >= '1.27')) {
    test(`is read by kubectl ${release}`, () => {
      const args = ['explain', '--output=plaintext-openapiv2', 'widget1s.size'];
      const env = { ...process.env, HOME: join(server.dataDir, `home-${release}`) };
      const { stdout, stderr } = spawnSync(program, ['--kubeconfig', server.kubeconfig, ...args], {
        ...{ env, encoding: 'utf8', timeout: 60_000, maxBuffer: 64 * 1024 * 1024 },
      });
      assert.match(stdout, /How large it is\./, stderr);
    });
  }
});
