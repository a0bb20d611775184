import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import type { ApiClient } from '../../src/client/api-client.ts';
import { define, definitionOf, definitionPath } from '../support/custom-resources.ts';
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
        JSON.stringify([{ group, kind: 'Widget', version: 'v1' }]),
    );
    assert.equal(more.length, 0);
    assert.deepEqual((widget?.['properties'] as Json | undefined)?.['spec'], spec);
    const text = JSON.stringify(document);
    for (const [, name = ''] of text.matchAll(/#\/components\/schemas\/([^"]+)"/g)) assert.ok(schemas[name], name);
  });

  it('describe very many fields, and long texts, exactly', async () => {
    const group = 'large.example.com';
    const long = '\u{1f600}'.repeat(200_000);
    const fields = Array.from({ length: 5_000 }, (_, at) => [`f${at}`, { type: 'string', description: `field ${at}` }]);
    const spec = {
      type: 'object',
      properties: {
        ...Object.fromEntries(fields),
        even: { type: 'string', description: long },
        odd: { type: 'string', description: `a${long}` },
        nested: { type: 'array', items: { type: 'object', additionalProperties: { type: 'integer', minimum: 1 } } },
      },
    };
    await define(client(), definitionOf({ group, properties: { spec } }));
    const document = await client().get<Json>(`/openapi/v3/apis/${group}/v1`);
    const { schemas } = document['components'] as { readonly schemas: Readonly<Record<string, Json>> };
    const described = Object.values(schemas).flatMap((each) => Object(each['properties']).spec ?? []);
    assert.deepEqual(described, [spec]);
  });

  it('are counted when a definition makes them others', async () => {
    const group = 'counted-documents.example.com';
    const name = `widgets.${group}`;
    const counted = async (): Promise<readonly string[]> => {
      const text = (await client().getBytes('/metrics')).toString();
      return text.split('\n').filter((line) => line.startsWith('apiextensions_openapi_') && line.includes(group));
    };
    const series = (count: number, reason: string) => [
      `apiextensions_openapi_v2_regeneration_count{crd="${name}",reason="${reason}"} ${count}`,
      `apiextensions_openapi_v3_regeneration_count{crd="${name}",group="${group}",reason="${reason}",version="v1"} ${count}`,
    ];
    const sorted = (lines: readonly string[]) => lines.toSorted();
    await define(client(), definitionOf({ group }));
    assert.deepEqual(sorted(await counted()), sorted(series(1, 'add')));
    const aggregated = async (): Promise<number> => {
      const text = (await client().getBytes('/metrics')).toString();
      return Number(/^aggregator_discovery_aggregation_count_total (\d+)$/m.exec(text)?.[1] ?? 0);
    };
    const form = 'application/json;g=apidiscovery.orch.io;v=v2;as=APIGroupDiscoveryList';
    const discover = () => client().accepting([form]).get('/apis');
    await discover();
    const before = await aggregated();
    await discover();
    assert.equal(await aggregated(), before, 'one that is kept is not made');
    const subresources = { status: {} };
    const [version] = definitionOf({ group }).spec.versions;
    await client().mergePatch(definitionPath(name), { spec: { versions: [{ ...version, subresources }] } });
    await until(async () => (await counted()).length === 4);
    assert.deepEqual(sorted(await counted()), sorted([...series(1, 'add'), ...series(1, 'update')]));
    await discover();
    assert.equal(await aggregated(), before + 1);
    await client().delete(definitionPath(name));
    await until(async () => (await counted()).length === 6);
    assert.ok((await counted()).includes(series(1, 'remove')[0] as string));
  });
});
