// A test of a controller, with Node's own test runner: each file starts a server of its own, with the kinds that it needs.
// Run it with `node --test examples/testing.ts`; vitest and others do the same.
import assert from 'node:assert/strict';
import https from 'node:https';
import { after, before, test } from 'node:test';
import { startTestServer, type TestServer, type TestUser } from 'orch/testing';

const definitions = `
apiVersion: apiextensions.orch.io/v1
kind: CustomResourceDefinition
metadata: { name: greetings.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { plural: greetings, kind: Greeting }
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: { type: object, properties: { text: { type: string, maxLength: 20 } } }
`;
const greetings = '/apis/example.com/v1/namespaces/default/greetings';

let server: TestServer;
before(async () => {
  server = await startTestServer({ definitions });
});
after(() => server.stop());

/** Any client will do: it takes the text `kubeconfig`, or these options of TLS. */
function post({ url, tls }: TestServer | TestUser, path: string, object: unknown): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const request = https.request(url + path, { ...tls, method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on('error', reject).end(JSON.stringify(object));
  });
}

const greeting = (name: string, text: string) => ({
  ...{ apiVersion: 'example.com/v1', kind: 'Greeting', metadata: { name } },
  spec: { text },
});

test('greetings are short', async () => {
  assert.equal(await post(server, greetings, greeting('short', 'hello')), 201);
  assert.equal(await post(server, greetings, greeting('long', 'hello '.repeat(10))), 422);
});

test('not everybody may greet', async () => {
  const guest = server.addUser('guest', { groups: ['guests'] });
  assert.equal(await post(guest, greetings, greeting('mine', 'hello')), 403);
});
