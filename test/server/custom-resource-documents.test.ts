import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiClient } from '../../src/client/api-client.ts';
import { define, definitionOf } from '../support/custom-resources.ts';
import { root, serverForSuite } from '../support/in-process-server.ts';

type Json = Readonly<Record<string, unknown>>;

describe('documents of custom resources', () => {
  const suite = serverForSuite();
  const client = (): ApiClient => suite.server.clientAs(root, 'test');

  it('describe the fields as the definition does', async () => {
    const group = 'documents.example.com';
    const spec = {
      type: 'object',
      description: 'What is wanted.',
      properties: { size: { type: 'integer', description: 'How large it is.' } },
    };
    await define(client(), definitionOf({ group, properties: { spec } }));
    const document = await client().get<Json>(`/openapi/v3/apis/${group}/v1`);
    const { schemas } = document['components'] as { readonly schemas: Readonly<Record<string, Json>> };
    const [widget, ...more] = Object.values(schemas).filter(
      (each) =>
        JSON.stringify(each['x-kubernetes-group-version-kind']) ===
        JSON.stringify([{ group, version: 'v1', kind: 'Widget' }]),
    );
    assert.equal(more.length, 0);
    assert.deepEqual((widget?.['properties'] as Json | undefined)?.['spec'], spec);
    const text = JSON.stringify(document);
    for (const [, name = ''] of text.matchAll(/#\/components\/schemas\/([^"]+)"/g)) assert.ok(schemas[name], name);
  });
});
