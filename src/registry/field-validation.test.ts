import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RegistryFixture } from './registry-fixture.ts';
import type { PatchFormat } from './write/patch-formats.ts';

const collection = '/api/v1/namespaces/n/configmaps';
const configMap = `${collection}/a`;

interface Write {
  readonly what: string;
  readonly method: 'POST' | 'PUT' | 'PATCH';
  readonly patch?: PatchFormat;
  readonly body: string;
  /** Expected field validation messages. */
  readonly problems: readonly string[];
}

const json = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","more":1},"data":{"k":"1","k":"2"},"odd":2}';
const yaml = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, more: 1}\ndata: {k: "1", k: "2"}\nodd: 2\n';
const all = ['duplicate field "data.k"', 'unknown field "metadata.more"', 'unknown field "odd"'];

const writes: readonly Write[] = [
  {
    what: 'a create with duplicates within unknown fields',
    method: 'POST',
    body: '{"metadata":{"name":"a"},"data":{"k":"2"},"o\\"dd":1,"o\\"dd":2,"odder":{"k":1,"k":2}}',
    problems: ['unknown field "o\\"dd"', 'unknown field "odder"'],
  },
  { what: 'a create in JSON', method: 'POST', body: json, problems: all },
  { what: 'a create in YAML', method: 'POST', body: yaml, problems: all },
  { what: 'an update in JSON', method: 'PUT', body: json, problems: all },
  { what: 'an update in YAML', method: 'PUT', body: yaml, problems: all },
  { what: 'an apply in JSON', method: 'PATCH', patch: 'apply', body: json, problems: all },
  { what: 'an apply in YAML', method: 'PATCH', patch: 'apply', body: yaml, problems: all },
  {
    what: 'a merge patch',
    method: 'PATCH',
    patch: 'merge',
    body: '{"metadata":{"more":1},"data":{"k":"1","k":"2"},"odd":2}',
    problems: all,
  },
  {
    what: 'a strategic merge patch',
    method: 'PATCH',
    patch: 'strategic',
    body: '{"metadata":{"more":1},"data":{"k":"1","k":"2"},"odd":2}',
    problems: all,
  },
  {
    what: 'a JSON Patch',
    method: 'PATCH',
    patch: 'json',
    body:
      '[{"op":"add","path":"/odd","value":2},{"op":"add","path":"/metadata/more","value":1},' +
      '{"op":"add","op":"add","path":"/data/k","value":"2","note":"x"}]',
    problems: [
      'json patch duplicate field "[2].op"',
      'json patch unknown field "[2].note"',
      'unknown field "metadata.more"',
      'unknown field "odd"',
    ],
  },
];

async function withObject({ method, patch = 'merge' }: Write): Promise<RegistryFixture> {
  const fixture = await RegistryFixture.open();
  fixture.patchType = patch;
  if (method !== 'POST') await fixture.call('POST', collection, { metadata: { name: 'a' }, data: { k: '0' } });
  return fixture;
}

for (const write of writes) {
  const { what, method, body, problems } = write;
  const path = (mode: string): string =>
    `${method === 'POST' ? collection : configMap}?fieldManager=m${write.patch === 'apply' ? '&force=true' : ''}${mode}`;

  for (const mode of ['', '&fieldValidation=Warn', '&fieldValidation=', '&fieldValidation=Ignore']) {
    const silent = mode.endsWith('Ignore');
    test(`${what}${mode}: unknown fields are dropped, the last of duplicates counts, ${silent ? 'silently' : 'with warnings'}`, async () => {
      await using fixture = await withObject(write);
      const object = await fixture.object(method, path(mode), body);
      assert.deepEqual(object['data'], { k: '2' });
      assert.deepEqual([object['odd'], 'more' in object.metadata], [undefined, false]);
      assert.deepEqual([...new Set(fixture.warnings)].sort(), silent ? [] : problems);
    });
  }

  test(`${what}&fieldValidation=Strict: 400 with all of them, and nothing is written`, async () => {
    await using fixture = await withObject(write);
    const head = await fixture.store.head();
    const error = await fixture.refusal(method, path('&fieldValidation=Strict'), body);
    assert.equal(error.code, 400);
    const asBody = method === 'PATCH' ? '' : 'ConfigMap in version "v1" cannot be handled as a ConfigMap: ';
    assert.ok(error.message.startsWith(`${asBody}strict decoding error: `), error.message);
    for (const problem of problems) assert.ok(error.message.includes(problem), error.message);
    assert.deepEqual(fixture.warnings, []);
    assert.equal(await fixture.store.head(), head);
  });

  test(`${what}: types are checked whatever fieldValidation says`, async () => {
    for (const mode of ['Ignore', 'Warn', 'Strict']) {
      await using fixture = await withObject(write);
      const wrong = body.replaceAll('"2"', '[3]');
      const error = await fixture.refusal(method, path(`&fieldValidation=${mode}`), wrong);
      assert.equal(error.code, 400, mode);
      assert.match(error.message, /data\.k: expected string, got array/, mode);
    }
  });

  test(`${what}: other values of fieldValidation are rejected, even without unknown fields`, async () => {
    await using fixture = await withObject(write);
    for (const mode of ['strict', 'All', 'true']) {
      assert.equal((await fixture.refusal(method, path(`&fieldValidation=${mode}`), body)).code, 422);
    }
  });
}

test('unknown fields deep in lists are named by their index', async () => {
  await using fixture = await RegistryFixture.open();
  const body = {
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'c', image: 'i', nmae: 1, ports: [{ containerPort: 1, x: 1 }] }] },
  };
  await fixture.call('POST', '/api/v1/namespaces/n/pods', body);
  assert.deepEqual(fixture.warnings, [
    'unknown field "spec.containers[0].nmae"',
    'unknown field "spec.containers[0].ports[0].x"',
  ]);
});

test('fields of another case are unknown', async () => {
  await using fixture = await RegistryFixture.open();
  await fixture.call('POST', collection, { metadata: { name: 'a' }, Data: { k: 'v' } });
  assert.deepEqual(fixture.warnings, ['unknown field "Data"']);
});

test('a missing required field is an error that names it', async () => {
  await using fixture = await RegistryFixture.open();
  const body = { metadata: { name: 'p' }, spec: { containers: [{ image: 'i' }] } };
  const error = await fixture.refusal('POST', '/api/v1/namespaces/n/pods', body);
  assert.equal(error.code, 422);
  assert.deepEqual(
    error.details?.causes?.map(({ field, reason }) => [field, reason]),
    [['spec.containers[0].name', 'FieldValueRequired']],
  );
});

test('unknown fields are listed up to the limit, the rest is counted', async () => {
  await using fixture = await RegistryFixture.open();
  const body = {
    metadata: { name: 'a' },
    ...Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`x${n}`, 1])),
  };
  await fixture.call('POST', collection, body);
  assert.equal(fixture.warnings.length, 1_001);
  assert.equal(fixture.warnings.at(-1), '4000 further unknown fields');
  const strict = await fixture.refusal('POST', `${collection}?fieldValidation=Strict`, body);
  assert.match(strict.message, /unknown field "x999", 4000 further unknown fields$/);
});
