import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiClient, ApiList } from '../../src/client/api-client.ts';
import { ApiError } from '../../src/client/api-client.ts';
import { resourcePath } from '../../src/client/resource-path.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { define, definitionOf, definitionPath } from '../support/custom-resources.ts';
import { root, serverForSuite } from '../support/in-process-server.ts';

/** Objects of kinds that come at run time (KEP-95), as clients of a server see them. */
describe('custom resources', () => {
  const suite = serverForSuite();
  const client = (): ApiClient => suite.server.clientAs(root, 'test');
  const at = (group: string, name?: string): string =>
    resourcePath({ apiVersion: `${group}/v1`, resource: 'widgets', namespace: 'default', name });
  const widget = (group: string, name: string, rest: Readonly<Record<string, unknown>> = {}) => ({
    ...{ apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name } },
    ...rest,
  });

  it('are served as soon as their definition is established', async () => {
    const group = 'served.example.com';
    const integer = { type: 'integer', default: 3 };
    const spec = { type: 'object', properties: { size: integer } };
    await define(client(), definitionOf({ group, properties: { spec } }));
    const created = await client().create<ApiObject>(at(group), widget(group, 'one', { spec: { other: 'pruned' } }));
    assert.deepEqual(created['spec'], { size: 3 });
    assert.equal(created.metadata.generation, 1);
    const { items } = await client().get<ApiList>(at(group));
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ['one'],
    );
  });

  it('are not served under names that another definition has', async () => {
    const group = 'taken.example.com';
    await define(client(), definitionOf({ group }));
    const other = definitionOf({ group, kind: 'Gadget' });
    const named = { ...other, spec: { ...other.spec, names: { ...other.spec.names, kind: 'Widget' } } };
    await client().create(definitionPath(), named);
    await assert.rejects(
      client().get(resourcePath({ apiVersion: `${group}/v1`, resource: 'gadgets' })),
      (error) => error instanceof ApiError && error.code === 404,
    );
  });
});
