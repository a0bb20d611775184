import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../base/limits.ts';
import { encodeEnvelope } from '../codec/protobuf/envelope.ts';
import { orch } from '../dialect/orch.ts';
import { kinds } from '../kinds/kinds.ts';
import { deleteOptions } from '../kinds/meta/delete-options.ts';
import { StatusError } from '../meta/status-error.ts';
import { withoutObjects } from '../registry/registry-fixture.ts';
import { parseRequestInfo } from '../request/request-info.ts';
import type { StructSchema } from '../schema/schema.ts';
import { ExchangeFixture } from '../server/serving/exchange-fixture.ts';
import { bodyForm, parseBody } from './body.ts';
import { Negotiator } from './negotiation.ts';

const negotiator = new Negotiator(orch, new Set());
const resources = withoutObjects(kinds(orch));
const collection = '/api/v1/namespaces/n/configmaps';

function request(
  method: string,
  contentType: string | undefined,
  body: Uint8Array | string = '',
  target = method === 'POST' ? collection : `${collection}/a`,
  more: Readonly<Record<string, string>> = {},
) {
  const exchange = new ExchangeFixture(method, target, {
    body,
    headers: { ...more, ...(contentType !== undefined && { 'content-type': contentType }) },
  });
  const info = parseRequestInfo(exchange.method, exchange.target);
  assert.ok(info.type === 'resource');
  const served = resources.find(info.group, info.version, info.resource);
  assert.ok(served);
  const read = () => {
    const form = bodyForm(exchange, { info, served }, negotiator);
    return form && exchange.body(limits.bodyBytesMax).then((bytes) => parseBody(bytes, form, { info, served }));
  };
  return { exchange, read };
}

const json = '{"a":1}';
const yaml = 'a: 1\n';

test('a deletion that says that it sends nothing may say it in any type', async () => {
  const form = 'application/x-www-form-urlencoded';
  assert.equal(await request('DELETE', form, '', `${collection}/a`, { 'content-length': '0' }).read(), undefined);
  assert.throws(request('DELETE', form, json).read, { code: 415 });
});

/** Method, media type and body, with the expected value and patch type. */
const rows: readonly (readonly [
  method: string,
  contentType: string | undefined,
  body: string,
  value: unknown,
  patch?: string,
])[] = [
  ['POST', undefined, json, { a: 1 }],
  ['POST', '', json, { a: 1 }],
  ['POST', 'application/json', json, { a: 1 }],
  ['POST', 'Application/JSON; charset=utf-8', json, { a: 1 }],
  ['POST', 'application/yaml', yaml, { a: 1 }],
  ['PUT', 'application/yaml', json, { a: 1 }],
  ['DELETE', 'application/json', json, { a: 1 }],
  ['PATCH', 'application/json-patch+json', '[]', [], 'json'],
  ['PATCH', 'application/merge-patch+json', json, { a: 1 }, 'merge'],
  ['PATCH', 'application/strategic-merge-patch+json', json, { a: 1 }, 'strategic'],
  ['PATCH', 'application/apply-patch+yaml', yaml, { a: 1 }, 'apply'],
  ['PATCH', 'application/apply-patch+yaml', json, { a: 1 }, 'apply'],
  ['PATCH', ' Application/Merge-Patch+JSON ; charset=utf-8', json, { a: 1 }, 'merge'],
];

for (const [method, contentType, body, value, patch] of rows) {
  test(`${method} ${contentType}: ${JSON.stringify(body)}`, async () => {
    const { exchange, read } = request(method, contentType, body);
    const found = await read();
    assert.deepEqual(JSON.parse(JSON.stringify(found?.value)), value);
    assert.equal(found?.patch, patch);
    assert.equal(exchange.bodyBytesMax, limits.bodyBytesMax);
  });
}

test('an empty body is undefined in every format', async () => {
  for (const [method, type] of [
    ['POST', 'application/json'],
    ['DELETE', 'application/yaml'],
    ['PATCH', 'application/apply-patch+yaml'],
  ] as const) {
    assert.equal(await request(method, type).read(), undefined, method);
  }
});

test('the body of a read request is ignored', () => {
  const { exchange, read } = request('GET', 'image/png', 'x');
  assert.equal(read(), undefined);
  assert.equal(exchange.bodyBytesMax, undefined);
});

describe('an unsupported media type is refused before the body is read', () => {
  for (const [method, type, accepted] of [
    ['POST', 'image/png', /application\/json, application\/yaml/],
    ['POST', 'application/json-patch+json', /application\/json, application\/yaml/],
    ['PATCH', 'application/json', /application\/merge-patch\+json/],
    ['PATCH', undefined, /application\/apply-patch\+yaml/],
    ['PATCH', '__proto__', /application\/apply-patch\+yaml/],
  ] as const) {
    test(`${method} ${type}`, () => {
      const { exchange, read } = request(method, type, json);
      assert.throws(read, (error) => {
        assert.ok(error instanceof StatusError);
        assert.equal(error.code, 415);
        assert.match(error.message, accepted);
        return true;
      });
      assert.equal(exchange.bodyBytesMax, undefined);
    });
  }
});

test('only apply accepts YAML', async () => {
  for (const type of ['application/merge-patch+json', 'application/strategic-merge-patch+json']) {
    const body = Promise.resolve(request('PATCH', type, yaml).read());
    await assert.rejects(body, (error) => error instanceof StatusError && error.code === 400, type);
  }
});

test('duplicate fields are reported', async () => {
  const found = await request('POST', 'application/json', '{"a":1,"a":2}').read();
  assert.equal(found?.duplicates.length, 1);
});

describe('a body in protobuf', () => {
  const type = 'application/vnd.orch.protobuf';
  const read = (method: string, kind: StructSchema, object: Parameters<typeof encodeEnvelope>[1], target?: string) =>
    request(method, type, encodeEnvelope(kind, object), target).read();
  const schemaOf = (resource: string): StructSchema => {
    const found = [...resources.all()].find(({ kind }) => kind.resource === resource);
    assert.ok(found);
    return found.kind.schema;
  };

  test('is read as the kind of the collection', async () => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', data: { a: 'b' } };
    const found = await read('POST', schemaOf('configmaps'), object);
    assert.partialDeepStrictEqual(found?.value, object);
  });

  test('of a deletion is DeleteOptions, whatever is deleted', async () => {
    const object = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Orphan' };
    for (const target of [collection, `${collection}/a`]) {
      const found = await read('DELETE', deleteOptions, object, target);
      assert.partialDeepStrictEqual(found?.value, object, target);
    }
  });

  test('of an action is the kind that it expects', async () => {
    const pods = resources.find('', 'v1', 'pods');
    const binding = pods?.kind.subresources.find(({ name }) => name === 'binding');
    assert.ok(binding?.type === 'action');
    const object = { apiVersion: 'v1', kind: 'Binding', target: { name: 'node' } };
    const found = await read('POST', binding.body.schema, object, '/api/v1/namespaces/n/pods/a/binding');
    assert.partialDeepStrictEqual(found?.value, object);
  });

  test('of another kind is not decoded', async () => {
    const found = await read('POST', schemaOf('secrets'), { apiVersion: 'v1', kind: 'Secret', data: {} });
    assert.deepEqual(found?.value, { apiVersion: 'v1', kind: 'Secret' });
  });

  test('that is invalid is a 400', async () => {
    const body = Promise.resolve(request('POST', type, json).read());
    await assert.rejects(body, (error) => error instanceof StatusError && error.code === 400);
  });
});
