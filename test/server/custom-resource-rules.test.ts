import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ApiClient, ApiError } from '../../src/client/api-client.ts';
import { resourcePath } from '../../src/client/resource-path.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { define, definitionOf, definitionPath } from '../support/custom-resources.ts';
import { root, serverForSuite } from '../support/in-process-server.ts';

/** Rules of custom resources, as clients meet them: on create, update, patch and apply, and in a dry run. */
describe('custom objects that break rules', () => {
  const suite = serverForSuite();
  const client = (): ApiClient => suite.server.clientAs(root, 'test');
  const group = 'rules.example.com';
  const at = (name?: string): string =>
    resourcePath({ apiVersion: `${group}/v1`, resource: 'widgets', namespace: 'default', name });
  const widget = (name: string, spec: unknown) => ({
    ...{ apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name } },
    spec,
  });
  const properties = {
    spec: {
      type: 'object',
      required: ['min', 'max'],
      properties: {
        min: { type: 'integer' },
        max: { type: 'integer' },
        class: {
          type: 'string',
          'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'class is immutable' }],
        },
      },
      'x-kubernetes-validations': [
        {
          rule: 'self.min <= self.max',
          messageExpression: "'min is %d, max is %d'.format([self.min, self.max])",
          fieldPath: '.min',
          reason: 'FieldValueForbidden',
        },
      ],
    },
  };

  /** Code of the answer, and its causes. */
  const refusal = async (request: Promise<unknown>): Promise<readonly unknown[]> => {
    try {
      await request;
      return [];
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const causes = error.status?.details?.causes ?? [];
      return [error.code, ...causes.map(({ reason, field, message }) => `${reason} ${field}: ${message}`)];
    }
  };

  it('on every way to write them', async () => {
    await define(client(), definitionOf({ group, properties }));
    const wrong = { min: 2, max: 1, class: 'a' };
    const broken = [422, 'FieldValueForbidden spec.min: Forbidden: min is 2, max is 1'];
    assert.deepEqual(await refusal(client().create(at(), widget('one', wrong))), broken);
    assert.deepEqual(await refusal(client().create(`${at()}?dryRun=All`, widget('one', wrong))), broken);
    const created = await client().create<ApiObject>(at(), widget('one', { ...wrong, max: 2 }));
    assert.deepEqual(await refusal(client().update(at('one'), { ...created, spec: wrong })), broken);
    const merge = (patch: unknown) => client().mergePatch(at('one'), patch);
    assert.deepEqual(await refusal(merge({ spec: { max: 1 } })), broken);
    assert.deepEqual(await refusal(merge({ spec: { class: 'b' } })), [
      422,
      'FieldValueInvalid spec.class: Invalid value: "string": class is immutable',
    ]);
    assert.deepEqual(await refusal(merge({ spec: { min: 1, max: 3 } })), []);
    const shown = (await client().getBytes('/metrics')).toString();
    for (const work of ['compilation', 'evaluation']) {
      assert.match(shown, new RegExp(`^apiserver_cel_${work}_duration_seconds_count [1-9]`, 'm'));
    }
  });

  it('definitions with rules that do not compile, or cost too much, are refused', async () => {
    const spec = {
      type: 'object',
      properties: { list: { type: 'array', items: { type: 'string' } } },
      'x-kubernetes-validations': [{ rule: 'self.none == 1' }, { rule: 'self.list.all(x, self.list.all(y, x == y))' }],
    };
    const definition = definitionOf({ group: 'wrong.example.com', properties: { spec } });
    const [code, ...causes] = await refusal(client().create(definitionPath(), definition));
    const schema = 'spec.validation.openAPIV3Schema';
    const at = `${schema}.properties[spec].x-kubernetes-validations`;
    assert.equal(code, 422);
    assert.deepEqual(
      causes.map((cause) => String(cause).split(': ', 1)[0]),
      [
        `FieldValueInvalid ${at}[0].rule`,
        `FieldValueForbidden ${at}[1].rule`,
        `FieldValueForbidden ${at}[1].rule`,
        `FieldValueForbidden ${schema}`,
      ],
    );
  });

  it('of their names, also those that are generated', async () => {
    const name = { type: 'string', 'x-kubernetes-validations': [{ rule: "self.startsWith('a')", message: 'say a' }] };
    const metadata = { type: 'object', properties: { name } };
    await define(client(), definitionOf({ group, kind: 'Named', properties: { metadata } }));
    const named = (more: object) => ({ apiVersion: `${group}/v1`, kind: 'Named', metadata: more });
    const path = resourcePath({ apiVersion: `${group}/v1`, resource: 'nameds', namespace: 'default' });
    const broken = [422, 'FieldValueInvalid metadata.name: Invalid value: "string": say a'];
    assert.deepEqual(await refusal(client().create(path, named({ name: 'b' }))), broken);
    assert.deepEqual(await refusal(client().create(path, named({ generateName: 'b-' }))), broken);
    assert.deepEqual(await refusal(client().create(path, named({ name: 'a' }))), []);
  });

  it('not with types that rules cannot be evaluated on', async () => {
    assert.deepEqual(await refusal(client().create(at(), widget('two', { min: 'a', max: 1 }))), [
      422,
      'FieldValueTypeInvalid spec.min: Invalid value: "string": spec.min in body must be of type integer: "string"',
      'FieldValueInvalid <nil>: Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    ]);
  });
});
