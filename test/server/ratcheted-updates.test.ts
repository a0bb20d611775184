import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { answersOf, processTransport } from '../support/answers.ts';
import { definitionOf, definitionPath } from '../support/custom-resources.ts';
import { OrchProcess } from '../support/orch-process.ts';

/**
 * Updates of objects that were valid until their definition changed (KEP-4008), by the object and by its subresources. As in
 * kube-apiserver 1.32, an update of the object passes over what it leaves as it is; one of the status does not, looks at the
 * schema of the status only, and evaluates all rules.
 */

const group = 'ratcheting.example.com';
const text = { type: 'string' };
const integer = { type: 'integer' };
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const set = { type: 'array', items: text, 'x-kubernetes-list-type': 'set', maxItems: 10 };
const embedded = { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { data: text } };
const ruled = (schema: object, ...rules: readonly object[]) => ({ ...schema, 'x-kubernetes-validations': rules });

const loose = object({
  a: text,
  p: text,
  n: integer,
  fixed: text,
  list: { type: 'array', items: text, maxItems: 10 },
  replicas: integer,
  kept: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  other: text,
});

/** The same for spec and status. */
const strict = (name: string): object =>
  ruled(
    object({
      a: { ...text, maxLength: 1 },
      p: { ...text, pattern: '^a' },
      n: integer,
      fixed: ruled(text, { rule: 'self == oldSelf', message: `${name} is fixed` }),
      list: set,
      replicas: integer,
      kept: embedded,
      other: { ...text, maxLength: 5 },
    }),
    { rule: '!has(self.n) || self.n < 10', message: `${name} is large`, fieldPath: '.n' },
  );

const long = (field: string): string => `FieldValueTooLong ${field}: Too long: may not be more than 1 bytes`;
const large = (name: string): string => `FieldValueInvalid ${name}.n: Invalid value: "object": ${name} is large`;
const fixed = (name: string): string => `FieldValueInvalid ${name}.fixed: Invalid value: "string": ${name} is fixed`;
const notChecked =
  'FieldValueInvalid <nil>: Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

interface Row {
  readonly spec?: object;
  readonly status?: object;
  /** A merge patch of the object, of its status, or of its scale. */
  readonly change: object;
  readonly by?: 'status' | 'scale';
  readonly causes?: readonly string[];
  readonly warnings?: readonly string[];
}

const rows: Readonly<Record<string, Row>> = {
  'the object: an unchanged wrong value of the spec': { spec: { a: 'xx' }, change: { spec: { other: 'y' } } },
  'the object: a changed wrong value of the spec': {
    spec: { a: 'xx' },
    change: { spec: { a: 'yy' } },
    causes: [long('spec.a'), notChecked],
  },
  'the object: a wrong value of the status': { status: { a: 'xx' }, change: { spec: { other: 'y' } } },
  'the object: a spec that breaks a rule elsewhere': {
    spec: { n: 10, other: 'x' },
    change: { metadata: { labels: { a: 'b' } } },
    warnings: ['spec.n: Invalid value: "object": spec is large'],
  },
  'the object: a changed spec that still breaks a rule': {
    spec: { n: 10, other: 'x' },
    change: { spec: { other: 'y' } },
    causes: [large('spec')],
  },
  'the object: a status that breaks a rule': {
    status: { n: 10 },
    change: { spec: { other: 'y' } },
    warnings: ['status.n: Invalid value: "object": status is large'],
  },
  'the object: a transition': { spec: { fixed: 'x' }, change: { spec: { fixed: 'y' } }, causes: [fixed('spec')] },
  'the object: no transition of the status': { status: { fixed: 'x' }, change: { spec: { other: 'y' } } },
  'the object: a status that it does not write': {
    status: { fixed: 'x', a: 'x' },
    change: { status: { fixed: 'y', a: 'yy' } },
  },
  'the object: new duplicates': {
    spec: { list: ['a'] },
    change: { spec: { list: ['a', 'a'] } },
    causes: ['FieldValueDuplicate spec.list[1]: Duplicate value: "a"'],
  },
  'the object: duplicates where the status has some': {
    status: { list: ['a', 'a'] },
    change: { spec: { list: ['b', 'b'] } },
  },
  'the object: a pattern': {
    change: { spec: { p: 'b' } },
    causes: [`FieldValueInvalid spec.p: Invalid value: "b": spec.p in body should match '^a'`],
  },
  'the object: an embedded object without a kind': {
    spec: { kept: { data: 'x' } },
    change: { spec: { other: 'y' } },
    causes: [
      'FieldValueRequired spec.kept.apiVersion: Required value: must not be empty',
      'FieldValueRequired spec.kept.kind: Required value: must not be empty',
      notChecked,
    ],
  },
  'the status: an unchanged wrong value of the status': {
    status: { a: 'xx' },
    change: { status: { other: 'y' } },
    by: 'status',
    causes: [long('status.a'), notChecked],
  },
  'the status: a wrong value that is repaired': { status: { a: 'xx' }, change: { status: { a: 'x' } }, by: 'status' },
  'the status: a wrong value of the spec': { spec: { a: 'xx' }, change: { status: { other: 'y' } }, by: 'status' },
  'the status: an unchanged spec that breaks a rule': {
    spec: { n: 10 },
    change: { status: { other: 'y' } },
    by: 'status',
    causes: [large('spec')],
  },
  'the status: an unchanged status that breaks a rule': {
    status: { n: 10 },
    change: { metadata: { labels: { a: 'b' } } },
    by: 'status',
    causes: [large('status')],
  },
  'the status: a status that breaks a rule': { change: { status: { n: 11 } }, by: 'status', causes: [large('status')] },
  'the status: a transition': {
    status: { fixed: 'x' },
    change: { status: { fixed: 'y' } },
    by: 'status',
    causes: [fixed('status')],
  },
  'the status: no transition of the spec': {
    spec: { fixed: 'x' },
    change: { status: { other: 'y' } },
    by: 'status',
  },
  'the status: a spec that it does not write': {
    spec: { fixed: 'x', a: 'x' },
    change: { spec: { fixed: 'y', a: 'yy' }, status: { other: 'y' } },
    by: 'status',
  },
  'the status: new duplicates': {
    change: { status: { list: ['a', 'a'] } },
    by: 'status',
    causes: ['FieldValueDuplicate status.list[1]: Duplicate value: "a"'],
  },
  'the status: duplicates where the spec has some': {
    spec: { list: ['b', 'b'] },
    change: { status: { list: ['a', 'a'] } },
    by: 'status',
  },
  'the status: a pattern': {
    change: { status: { p: 'b' } },
    by: 'status',
    causes: [`FieldValueInvalid status.p: Invalid value: "b": p in body should match '^a'`],
  },
  'the status: a value of another type': {
    spec: { n: 10 },
    change: { status: { n: 'x' } },
    by: 'status',
    causes: [
      'FieldValueTypeInvalid status.n: Invalid value: "string": n in body must be of type integer: "string"',
      notChecked,
    ],
  },
  'the status: an embedded object without a kind': {
    change: { status: { kept: { data: 'x' } } },
    by: 'status',
  },
  'the status: removed': { status: { a: 'xx', n: 10 }, change: { status: null }, by: 'status' },
  'the scale: an unchanged wrong value': {
    spec: { replicas: 1, a: 'xx' },
    change: { spec: { replicas: 2 } },
    by: 'scale',
  },
  'the scale: a rule of what it changes': {
    spec: { replicas: 1, n: 10 },
    change: { spec: { replicas: 2 } },
    by: 'scale',
    causes: [large('spec')],
  },
  'the scale: a status that breaks a rule': {
    spec: { replicas: 1 },
    status: { n: 10 },
    change: { spec: { replicas: 2 } },
    by: 'scale',
    warnings: ['status.n: Invalid value: "object": status is large'],
  },
};

describe('updates of custom objects that a changed definition made invalid', () => {
  let server: OrchProcess;
  const { send, patch, apply } = answersOf(() => processTransport(() => server));
  const names = new Map(Object.keys(rows).map((name, index) => [name, `row-${index}`]));
  const at = (name = '', subresource = ''): string =>
    `/apis/${group}/v1/namespaces/default/widgets${name && `/${name}`}${subresource && `/${subresource}`}`;
  const widget = (name: string, rest: object) => ({
    ...{ apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name } },
    ...rest,
  });
  const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
  const version = { subresources: { status: {}, scale } };
  const causesOf = (body: ApiObject): readonly string[] =>
    ((body as { details?: { causes?: { reason: string; field: string; message: string }[] } }).details?.causes ?? [])
      .map(({ reason, field, message }) => `${reason} ${field}: ${message}`)
      .sort();

  const make = async (name: string, spec: object, status: object): Promise<void> => {
    assert.equal((await send('POST', at(), widget(name, { spec }))).code, 201);
    assert.equal((await patch('merge', at(name, 'status'), { status })).code, 200);
  };

  before(async () => {
    server = await OrchProcess.start();
    const definition = definitionOf({ group, properties: { spec: loose, status: loose }, version });
    await send('POST', definitionPath(), definition);
    await until(async () => (await send('GET', at())).code === 200);
    for (const [name, { spec = {}, status = {} }] of Object.entries(rows)) {
      await make(names.get(name) ?? '', { replicas: 1, ...spec }, status);
    }
    await make('put', { a: 'xx' }, { a: 'xx' });
    await make('applied', { a: 'xx' }, { a: 'xx' });
    const { spec } = definitionOf({ group, properties: { spec: strict('spec'), status: strict('status') }, version });
    await patch('merge', definitionPath(definition.metadata.name), { spec });
    const probe = widget('probe', { spec: { a: 'xx' } });
    await until(async () => (await send('POST', `${at()}?dryRun=All`, probe)).code === 422);
  });

  after(() => server[Symbol.asyncDispose]());

  for (const [name, { change, by = '', causes = [], warnings = [] }] of Object.entries(rows)) {
    it(name, async () => {
      const path = at(names.get(name), by);
      const answer = await patch('merge', path, change);
      assert.deepEqual(causesOf(answer.body), [...causes].sort());
      assert.equal(answer.code, causes.length > 0 ? 422 : 200);
      assert.deepEqual(answer.warnings, warnings);
    });
  }

  it('replaced as a whole', async () => {
    const { body } = await send('GET', at('put'));
    const changed = (part: string) => ({ ...body, [part]: { ...(body[part] as object), other: 'y' } });
    assert.deepEqual(
      causesOf((await send('PUT', at('put', 'status'), changed('status'))).body),
      [long('status.a'), notChecked].sort(),
    );
    assert.equal((await send('PUT', at('put'), changed('spec'))).code, 200);
  });

  it('applied', async () => {
    const status = await apply(at('applied', 'status'), widget('applied', { status: { other: 'y' } }), 'one');
    assert.deepEqual(causesOf(status.body), [long('status.a'), notChecked].sort());
    assert.equal((await apply(at('applied'), widget('applied', { spec: { other: 'y' } }), 'one')).code, 200);
  });
});
