import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { LongWork } from '../../src/base/long-work.ts';
import type { ApiClient } from '../../src/client/api-client.ts';
import { ApiError } from '../../src/client/api-client.ts';
import { resourcePath } from '../../src/client/resource-path.ts';
import { validate } from '../../src/schema/validate.ts';
import { define, definitionOf } from '../support/custom-resources.ts';
import { root, serverForSuite } from '../support/in-process-server.ts';

/** Objects that are small enough for the event loop, with checks that are too much for it: another thread does them. */
describe('long checks of small custom objects', () => {
  const suite = serverForSuite();
  const client = (): ApiClient => suite.server.clientAs(root, 'test');
  const group = 'long.example.com';
  const at = (name?: string, subresource?: string): string => {
    const path = resourcePath({ apiVersion: `${group}/v1`, resource: 'widgets', namespace: 'default', name });
    return subresource === undefined ? path : `${path}/${subresource}`;
  };
  const widget = (name: string, spec: unknown) => ({
    ...{ apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name } },
    spec: { replicas: 1, ...Object(spec) },
  });
  const letters = 'a'.repeat(100_000);
  const text = { type: 'string' };
  const alternatives = {
    anyOf: Array.from({ length: limits.schemaAlternativesMax }, (_, length) => ({ maxLength: length + 1 })),
  };
  const properties = {
    status: { type: 'object', properties: { text: { ...text, pattern: '^(a|b|aa|ab|ba|bb)*$' } } },
    spec: {
      type: 'object',
      properties: {
        replicas: { type: 'integer' },
        matched: { ...text, pattern: '^(a|b|aa|ab|ba|bb)*$' },
        alternatives: { type: 'array', items: { ...text, ...alternatives } },
        ruled: {
          ...text,
          maxLength: 200_000,
          'x-kubernetes-validations': [
            { rule: "self.matches('^(aaaaaaaaaaaaaaaaaaaaaaaa|a|b)*$')", message: 'other letters' },
          ],
        },
      },
    },
  };
  const subresources = {
    status: {},
    scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
  };

  const kinds: Readonly<Record<string, { readonly good: unknown; readonly bad: unknown; readonly error: RegExp }>> = {
    'a pattern': { good: { matched: letters }, bad: { matched: `${letters}c` }, error: /should match/ },
    alternatives: {
      good: { alternatives: Array.from({ length: 900 }, () => 'x'.repeat(100)) },
      bad: { alternatives: Array.from({ length: 900 }, (_, at) => 'x'.repeat(at === 0 ? 1_000 : 100)) },
      error: /must validate at least one schema/,
    },
    'a rule': { good: { ruled: letters }, bad: { ruled: `${letters}c` }, error: /other letters/ },
  };
  const refused = (error: RegExp) => (thrown: unknown) => {
    assert.ok(thrown instanceof ApiError, String(thrown));
    assert.equal(thrown.code, 422, thrown.message);
    assert.match(thrown.message, error);
    return true;
  };

  it('the definition', async () => {
    await define(client(), definitionOf({ group, properties, version: { subresources } }));
  });

  for (const [what, { good, bad, error }] of Object.entries(kinds)) {
    it(`${what}: on every way to write`, async () => {
      const name = what.replaceAll(' ', '-');
      await client().create(at(), widget(name, good));
      await assert.rejects(client().create(at(), widget(`${name}-bad`, bad)), refused(error));
      const before = await client().get<ReturnType<typeof widget>>(at(name));
      await client().update(at(name), { ...before, spec: { ...Object(good), replicas: 2 } });
      await assert.rejects(client().mergePatch(at(name), { spec: bad }), refused(error));
      await client().mergePatch(at(name, 'scale'), { spec: { replicas: 3 } });
      const { spec } = await client().get<ReturnType<typeof widget>>(at(name));
      assert.deepEqual(spec, { ...Object(good), replicas: 3 });
    });
  }

  it('a pattern in the status', async () => {
    await client().create(at(), widget('status', {}));
    await client().mergePatch(at('status', 'status'), { status: { text: letters } });
    await assert.rejects(
      client().mergePatch(at('status', 'status'), { status: { text: 'c' } }),
      refused(/should match/),
    );
  });

  const long = Array.from({ length: 400 }, (_, at) => `self != '${at}'`).join(' && ');
  const patternOf = (at: number): string => `^(${'[a-y]|'.repeat(300)}[a-z]{${at + 10}})*$`;
  const definitions: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    'a long rule': {
      one: { ...text, maxLength: 10, 'x-kubernetes-validations': [{ rule: long, message: 'forbidden' }] },
    },
    'many patterns': Object.fromEntries(
      Array.from({ length: 8 }, (_, at) => [`f${at}`, { ...text, pattern: patternOf(at) }]),
    ),
  };
  for (const [what, fields] of Object.entries(definitions)) {
    it(`definitions with ${what}, and objects of their kinds`, async () => {
      const other = `${what.replaceAll(' ', '-')}.example.com`;
      const wrong = { ...fields, wrong: { ...text, pattern: '(' } };
      await assert.rejects(define(client(), definitionOf({ group: other, properties: wrong })), refused(/pattern/));
      await define(client(), definitionOf({ group: other, properties: fields }));
      const path = resourcePath({ apiVersion: `${other}/v1`, resource: 'widgets', namespace: 'default' });
      const objectOf = (name: string, value: string) => ({
        ...{ apiVersion: `${other}/v1`, kind: 'Widget', metadata: { name } },
        ...Object.fromEntries(Object.keys(fields).map((field) => [field, value])),
      });
      await client().create(path, objectOf('good', 'a'));
      await assert.rejects(client().create(path, objectOf('bad', '7')), refused(/forbidden|should match/));
    });
  }

  it('the event loop does not do them', () => {
    const { resource } = suite.server.resources.find(group, 'v1', 'widgets') ?? assert.fail('it is served');
    for (const what of ['a pattern', 'alternatives']) {
      const { good, bad } = kinds[what] ?? assert.fail();
      for (const spec of [good, bad]) {
        const object = widget('a', spec);
        assert.throws(() => validate(resource.kind.schema, object, '', { inline: true }), LongWork);
        assert.equal(validate(resource.kind.schema, object).length > 0, spec === bad);
      }
    }
    const usual = widget('a', { matched: 'abab'.repeat(50), alternatives: ['x', 'y'] });
    assert.deepEqual(validate(resource.kind.schema, usual, '', { inline: true }), []);
  });
});
