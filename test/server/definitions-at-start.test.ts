import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ApiServer } from '../../src/server/wiring/create-api-server.ts';
import { define, definitionOf } from '../support/custom-resources.ts';
import { type Document, root, Side } from '../support/in-process-server.ts';
import { SharedStore } from '../support/shared-store.ts';

/** Requests that come before the kinds of all definitions are served: nothing that exists seems to be gone. */

const group = 'farm.example';
const pens = `/apis/${group}/v1/namespaces/default/pens`;
const yet = 'the request has been made before all known HTTP paths have been installed, please try again';
const none = 'the server could not find the requested resource';

interface Status extends Document {
  readonly details: { readonly retryAfterSeconds?: number };
}

/** Paths, and their statuses before and after the start. */
const rows: readonly (readonly [path: string, before: number, after: number])[] = [
  [`${pens}/one`, 503, 200],
  [pens, 503, 200],
  [`/apis/${group}/v1/pens?watch=true&timeoutSeconds=1`, 503, 200],
  [`/apis/${group}`, 503, 200],
  [`/apis/${group}/v1`, 503, 200],
  [`/openapi/v3/apis/${group}/v1`, 503, 200],
  ['/apis/none.example/v1/nothings', 503, 404],
  ['/api/v1/nothings', 503, 404],
  ['/api/v1/namespaces/default/configmaps/none', 404, 404],
  ['/none', 404, 404],
  ['/api/v1/namespaces', 200, 200],
  ['/version', 200, 200],
];

async function statusesOf(server: ApiServer): Promise<readonly (readonly [path: string, status: number])[]> {
  const answers: [path: string, status: number][] = [];
  for (const [path] of rows) {
    const response = await server.transportAs(root).send({ method: 'GET', target: path });
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    answers.push([path, response.status]);
    if (response.status !== 503) continue;
    const { message, reason, details } = JSON.parse(Buffer.concat(chunks).toString()) as Status;
    assert.deepEqual([message, reason, details], [yet, 'ServiceUnavailable', { retryAfterSeconds: 1 }], path);
  }
  return answers;
}

it('before a server has read its definitions, what it does not find is 503', async () => {
  await using shared = new SharedStore();
  const first = await shared.start();
  await define(first.clientAs(root, 'test'), definitionOf({ group, kind: 'Pen', properties: {} }));
  const object = { apiVersion: `${group}/v1`, kind: 'Pen', metadata: { name: 'one' } };
  await new Side(first).create(pens, object);
  await shared.stop(first);
  const next = await shared.open();
  assert.deepEqual(
    await statusesOf(next),
    rows.map(([path, before]) => [path, before]),
  );
  await next.start();
  assert.deepEqual(
    await statusesOf(next),
    rows.map(([path, , after]) => [path, after]),
  );
  const { json } = await new Side(next).get('/api/v1/nothings');
  assert.equal(json.message, none);
});
