import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ApiClient } from '../../src/client/api-client.ts';
import { resourcePath } from '../../src/client/resource-path.ts';
import { orch } from '../../src/dialect/orch.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { answersOf } from '../support/answers.ts';
import { define } from '../support/custom-resources.ts';
import { root, serverForSuite } from '../support/in-process-server.ts';
import { definitionManifest, publishedDefinitions } from '../support/published-definitions.ts';
import { type JsonSchema, validValues } from '../support/valid-values.ts';

/** Objects of each definition, made at random by its schema, are what they were in whatever way and version they go in and out. */
describe('random objects of published definitions', () => {
  const suite = serverForSuite();
  const client = (): ApiClient => suite.server.clientAs(root, 'test');
  const { apply } = answersOf(() => suite.server.transportAs(root));

  for (const published of publishedDefinitions) {
    it(`${published.topic}: survive create, read, apply and conversion`, async () => {
      const { spec, metadata, ...rest } = definitionManifest(published, orch);
      // Rules speak of several fields at once, and random values break them.
      const versions = JSON.parse(JSON.stringify(spec.versions), (name, value) =>
        name === 'x-kubernetes-validations' ? undefined : value,
      );
      const stored = versions.find(({ storage }: { readonly storage: boolean }) => storage);
      const definition = {
        ...rest,
        metadata,
        spec: { ...spec, versions: [stored, { ...stored, name: 'v9', storage: false }] },
      };
      await define(client(), definition);
      const schema: JsonSchema = stored.schema.openAPIV3Schema.properties.spec;
      const place = spec.scope === 'Namespaced' ? { namespace: 'default' } : {};
      const at = (version: string, name?: string): string =>
        resourcePath({ apiVersion: `${spec.group}/${version}`, resource: spec.names.plural, ...place, name });
      let count = 0;
      await fc.assert(
        fc.asyncProperty(validValues(schema), async (sent) => {
          const name = `o${++count}`;
          const object = (version: string, content: unknown, more: object = {}) => ({
            ...{ apiVersion: `${spec.group}/${version}`, kind: spec.names.kind, metadata: { name, ...more } },
            spec: content,
          });
          const created = await client().create<ApiObject>(at('v1'), object('v1', sent));
          const content = created['spec'];
          assert.partialDeepStrictEqual(content, sent);
          assert.deepEqual(await client().get(at('v1', name)), created);
          const other = await client().get<ApiObject>(at('v9', name));
          assert.deepEqual([other.apiVersion, other['spec']], [`${spec.group}/v9`, content]);
          const { resourceVersion } = other.metadata;
          const updated = await client().update<ApiObject>(at('v9', name), object('v9', content, { resourceVersion }));
          assert.deepEqual([updated['spec'], updated.metadata.generation], [content, 1]);
          await client().delete(at('v1', name));
          const applied = await apply(at('v9', name), object('v9', sent), 'one');
          assert.equal(applied.code, 201, applied.message);
          assert.deepEqual(applied.body['spec'], content);
          const again = await apply(at('v9', name), object('v9', sent), 'one');
          assert.deepEqual(again.body['spec'], content);
          // Who applies nothing but empty lists of elements owns nothing: the next apply is the first, and writes owners.
          if (applied.body.metadata.managedFields) {
            assert.equal(again.body.metadata.resourceVersion, applied.body.metadata.resourceVersion);
          }
          assert.deepEqual((await client().get<ApiObject>(at('v1', name)))['spec'], content);
        }),
        { numRuns: 25 },
      );
    });
  }
});
