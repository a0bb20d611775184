import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RegistryFixture } from './registry-fixture.ts';
import type { PatchFormat } from './write/patch-formats.ts';

/** Integers beyond the range of exact JavaScript numbers; the largest is that of an int64. */
const integers = ['9007199254740993', '-9007199254740993', '9223372036854775807', '-9223372036854775808'];

const collection = '/api/v1/namespaces/n/pods';
const pod = `${collection}/a`;

const toleration = (seconds: string): string =>
  `{"key":"k","operator":"Exists","effect":"NoExecute","tolerationSeconds":${seconds}}`;
const document = (seconds: string): string =>
  `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i:1"}],` +
  `"tolerations":[${toleration(seconds)}]}}`;
const yaml = (seconds: string): string => `apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers: [{name: c, image: "i:1"}]
  tolerations:
  - {key: k, operator: Exists, effect: NoExecute, tolerationSeconds: ${seconds}}
`;
const merge = (seconds: string): string => `{"spec":{"tolerations":[${toleration(seconds)}]}}`;

interface Way {
  readonly what: string;
  readonly method: string;
  readonly patch?: PatchFormat;
  readonly body: (seconds: string) => string;
}

const ways: readonly Way[] = [
  { what: 'a create in JSON', method: 'POST', body: document },
  { what: 'a create in YAML', method: 'POST', body: yaml },
  { what: 'an apply in JSON', method: 'PATCH', patch: 'apply', body: document },
  { what: 'an apply in YAML', method: 'PATCH', patch: 'apply', body: yaml },
];

/** Ways to update an existing pod; only tolerations may be added. */
const changes: readonly Way[] = [
  { what: 'an update in JSON', method: 'PUT', body: document },
  { what: 'an update in YAML', method: 'PUT', body: yaml },
  {
    what: 'a JSON Patch',
    method: 'PATCH',
    patch: 'json',
    body: (seconds) => `[{"op":"add","path":"/spec/tolerations","value":[${toleration(seconds)}]}]`,
  },
  { what: 'a merge patch', method: 'PATCH', patch: 'merge', body: merge },
  { what: 'a strategic merge patch', method: 'PATCH', patch: 'strategic', body: merge },
];

/** The JSON text of the stored object and of a read. */
async function texts(fixture: RegistryFixture): Promise<readonly string[]> {
  const record = await fixture.store.get(fixture.served(pod).objectKey('n', 'a'));
  const reply = await fixture.call('GET', pod);
  assert.ok(record && reply.type === 'object');
  return [Buffer.from(record.value).toString(), reply.bytes.toString()];
}

for (const seconds of integers) {
  for (const { what, method, patch = 'merge', body } of [...ways, ...changes]) {
    test(`${what} keeps ${seconds}, in the store and in reads`, async () => {
      await using fixture = await RegistryFixture.open();
      fixture.patchType = patch;
      if (!ways.some((way) => way.what === what)) {
        await fixture.call('POST', collection, {
          metadata: { name: 'a' },
          spec: { containers: [{ name: 'c', image: 'i:1' }] },
        });
      }
      const query = patch === 'apply' ? '?fieldManager=m' : '';
      const reply = await fixture.call(method, `${method === 'POST' ? collection : pod}${query}`, body(seconds));
      assert.ok(reply.type === 'object');
      const there = `"tolerationSeconds":${seconds}}`;
      for (const text of [...(await texts(fixture)), reply.bytes.toString()]) assert.ok(text.includes(there), text);
      const again = await fixture.call(method === 'POST' ? 'PUT' : method, `${pod}${query}`, body(seconds));
      assert.ok(again.type === 'object' && again.bytes.equals(reply.bytes), 'the same once more is no change');
      await fixture.call(
        'PATCH',
        `${pod}?fieldManager=n`,
        patch === 'json'
          ? '[{"op":"add","path":"/metadata/labels","value":{"x":"y"}}]'
          : patch === 'apply'
            ? '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"x":"y"}}}'
            : '{"metadata":{"labels":{"x":"y"}}}',
      );
      for (const text of await texts(fixture)) assert.ok(text.includes(there), 'another write leaves it');
    });
  }
}

for (const seconds of ['9223372036854775808', '-9223372036854775809', '1.5']) {
  test(`${seconds} is no int64 and refused, not rounded`, async () => {
    await using fixture = await RegistryFixture.open();
    const error = await fixture.refusal('POST', collection, document(seconds));
    assert.equal(error.code, 400);
    assert.match(error.message, /tolerations\[0\]\.tolerationSeconds: expected integer/);
  });
}

test('a JSON Patch tells integers apart that one JavaScript number stands for', async () => {
  await using fixture = await RegistryFixture.open();
  await fixture.call('POST', collection, document('9007199254740993'));
  fixture.patchType = 'json';
  const condition = (seconds: string): string =>
    `[{"op":"test","path":"/spec/tolerations/0/tolerationSeconds","value":${seconds}}]`;
  await fixture.call('PATCH', pod, condition('9007199254740993'));
  assert.equal((await fixture.refusal('PATCH', pod, condition('9007199254740992'))).code, 422);
});

test('appliers of integers that one JavaScript number stands for conflict', async () => {
  await using fixture = await RegistryFixture.open();
  fixture.patchType = 'apply';
  await fixture.call('PATCH', `${pod}?fieldManager=one`, document('9007199254740993'));
  const error = await fixture.refusal('PATCH', `${pod}?fieldManager=two`, document('9007199254740992'));
  assert.deepEqual(
    error.details?.causes?.map(({ field }) => field),
    ['.spec.tolerations'],
  );
});

test('great integers in raw fields and in keys of owned elements are kept', async () => {
  await using fixture = await RegistryFixture.open();
  await fixture.call('POST', collection, document('1'));
  const sets = '{"f:spec":{"v:9007199254740993":{},"k:{\\"n\\":9007199254740993}":{},"i:3":{}}}';
  const entry = `{"manager":"x","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":${sets}}`;
  await fixture.call('PATCH', pod, `{"metadata":{"managedFields":[${entry}]}}`);
  for (const text of await texts(fixture)) {
    assert.ok(text.includes('"v:9007199254740993":{}'), text);
    assert.ok(text.includes('"k:{\\"n\\":9007199254740993}":{}'), text);
  }
});
