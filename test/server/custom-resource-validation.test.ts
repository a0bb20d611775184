import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { type ApiClient, ApiError } from '../../src/client/api-client.ts';
import { resourcePath } from '../../src/client/resource-path.ts';
import { parseStored, stringifyJson } from '../../src/codec/json.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import type { Status } from '../../src/meta/status-error.ts';
import { define, definitionOf, definitionPath } from '../support/custom-resources.ts';
import { root, serverForSuite } from '../support/in-process-server.ts';

/** Which custom objects are refused, and how: as data of the Status. */
describe('custom objects that their schema refuses', () => {
  const suite = serverForSuite();
  const client = (): ApiClient => suite.server.clientAs(root, 'test');
  const at = (group: string, name?: string): string =>
    resourcePath({ apiVersion: `${group}/v1`, resource: 'widgets', namespace: 'default', name });
  const widget = (group: string, name: string, spec: unknown) => ({
    ...{ apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name } },
    spec,
  });
  /** Code of the answer, and its causes. */
  const refusal = async (request: Promise<unknown>): Promise<readonly unknown[]> => {
    try {
      await request;
      return [];
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const causes = error.status?.details?.causes ?? [];
      return [error.code, ...causes.map(({ reason, field }) => `${reason} ${field}`)];
    }
  };
  const text = { type: 'string', maxLength: 3 };
  const properties = {
    spec: {
      type: 'object',
      required: ['name'],
      properties: {
        name: text,
        size: { type: 'integer' },
        ports: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['port'],
          items: { type: 'object', required: ['port'], properties: { port: { type: 'integer' }, name: text } },
        },
        template: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-preserve-unknown-fields': true,
        },
      },
    },
  };

  it('types are errors like all others, beside them', async () => {
    const group = 'types.example.com';
    await define(client(), definitionOf({ group, properties }));
    const sent = widget(group, 'one', { size: 'big', ports: [{ port: 1, name: 'long' }, { port: 1 }] });
    assert.deepEqual(await refusal(client().create(at(group), sent)), [
      422,
      'FieldValueTypeInvalid spec.size',
      'FieldValueTooLong spec.ports[0].name',
      'FieldValueRequired spec.name',
      'FieldValueDuplicate spec.ports[1]',
    ]);
    const noMetadata = { ...sent, metadata: { name: 'one', labels: 1 } };
    assert.deepEqual(await refusal(client().create(at(group), noMetadata)), [400]);
  });

  it('objects within others have their metadata checked', async () => {
    const group = 'embedded.example.com';
    await define(client(), definitionOf({ group, properties }));
    const template = { apiVersion: 'v1', kind: 'Pod', metadata: { labels: { a: 'not a label' } } };
    assert.deepEqual(await refusal(client().create(at(group), widget(group, 'one', { name: 'a', template }))), [
      422,
      'FieldValueInvalid spec.template.metadata.labels',
    ]);
  });

  it('nulls are absent in what is created, and values in what is applied', async () => {
    const group = 'nulls.example.com';
    await define(client(), definitionOf({ group, properties }));
    const spec = { name: 'a', size: null, ports: [{ port: 1, name: null }] };
    const created = await client().create<ApiObject>(at(group), widget(group, 'one', spec));
    assert.deepEqual(created['spec'], { name: 'a', ports: [{ port: 1 }] });
    const apply = async (applied: unknown): Promise<readonly unknown[]> => {
      const { status, body } = await suite.server.transportAs(root).send({
        method: 'PATCH',
        target: `${at(group, 'two')}?fieldManager=m`,
        headers: { 'content-type': 'application/apply-patch+yaml' },
        body: stringifyJson(widget(group, 'two', applied)),
      });
      const { details } = parseStored(await buffer(body)) as Status;
      return [status, ...(details?.causes ?? []).map(({ reason, field }) => `${reason} ${field}`)];
    };
    assert.deepEqual(await apply(spec), [
      422,
      'FieldValueTypeInvalid spec.ports[0].name',
      'FieldValueTypeInvalid spec.size',
    ]);
    assert.deepEqual(await apply({ name: 'a', size: 1 }), [201]);
    assert.deepEqual(await apply({ name: 'a', size: null }), [422, 'FieldValueTypeInvalid spec.size']);
  });

  it('what an update does not change may stay', async () => {
    const group = 'ratcheting.example.com';
    const loose = { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    await define(client(), definitionOf({ group, properties: loose }));
    const created = await client().create<ApiObject>(at(group), widget(group, 'one', { name: 'long', size: 'big' }));
    const strict = definitionOf({ group, properties });
    const { metadata } = await client().get<ApiObject>(definitionPath(`widgets.${group}`));
    await client().update(definitionPath(`widgets.${group}`), { ...strict, metadata });
    // The new schema is there when it prunes.
    await until(async () => {
      const probe = widget(group, 'probe', { name: 'a', x: 1 });
      const dry = await client().create<ApiObject>(`${at(group)}?dryRun=All`, probe);
      return !('x' in Object(dry['spec']));
    });
    const unchanged = { ...created, metadata: { ...created.metadata, labels: { a: 'b' } } };
    const updated = await client().update<ApiObject>(at(group, 'one'), unchanged);
    assert.deepEqual(updated['spec'], { name: 'long', size: 'big' });
    const changed = { ...updated, spec: { name: 'longer', size: 'big' } };
    assert.deepEqual(await refusal(client().update(at(group, 'one'), changed)), [422, 'FieldValueTooLong spec.name']);
  });
});
