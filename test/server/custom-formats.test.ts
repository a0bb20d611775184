import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { ApiClient } from '../../src/client/api-client.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { answersOf, processTransport } from '../support/answers.ts';
import { define, definitionOf, definitionPath } from '../support/custom-resources.ts';
import { OrchProcess } from '../support/orch-process.ts';

const group = 'formats.example.com';
const path = `/apis/${group}/v1/namespaces/default/widgets`;
const protobuf = 'application/vnd.orch.protobuf';
const asMetadata = (kind: string): string => `as=${kind};g=meta.orch.io;v=v1`;

/** Media types, patches and warnings of custom objects (spec sections 4.3 and 4.6). */
describe('custom objects in requests', () => {
  let server: OrchProcess;
  const transport = processTransport(() => server);
  const client = new ApiClient(transport, 'test');
  const { exchange, send, patch, apply } = answersOf(() => transport);
  const widget = (name: string, rest: object = {}, metadata: object = {}) => ({
    ...{ apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name, ...metadata } },
    ...rest,
  });
  after(() => server[Symbol.asyncDispose]());
  before(async () => {
    server = await OrchProcess.start();
    const item = { type: 'object', properties: { c: { type: 'string' } } };
    const properties = {
      spec: { type: 'object', properties: { a: { type: 'integer' }, l: { type: 'array', items: item } } },
    };
    await define(client, definitionOf({ group, properties }));
    assert.equal((await send('POST', path, widget('one', { spec: { a: 1 } }))).code, 201);
  });

  describe('answers', () => {
    const json = 'application/json';
    const rows: readonly (readonly [accept: string, target: string, code: number, starts: string])[] = [
      [json, `${path}/one`, 200, '{"kind":"Widget"'],
      ['*/*', `${path}/one`, 200, '{"kind":"Widget"'],
      ['application/yaml', `${path}/one`, 200, 'kind: Widget'],
      [`${protobuf},${json}`, `${path}/one`, 200, '{"kind":"Widget"'],
      [`${protobuf},${json}`, path, 200, '{"kind":"WidgetList"'],
      ['application/*', `${path}/one`, 200, '{"kind":"Widget"'],
      [protobuf, `${path}/one`, 406, 'k8s\0'],
      [protobuf, path, 406, 'k8s\0'],
      ['application/cbor', path, 406, '{"kind":"Status"'],
      [`${protobuf};${asMetadata('PartialObjectMetadata')}`, `${path}/one`, 200, 'k8s\0'],
      [`${protobuf};${asMetadata('PartialObjectMetadataList')}`, path, 200, 'k8s\0'],
      [`${protobuf};${asMetadata('Table')}`, path, 406, '{"kind":"Status"'],
    ];
    for (const [accept, target, code, starts] of rows) {
      it(`${target.slice(path.length) || 'list'} in ${accept}: ${code}`, async () => {
        const answer = await exchange({ method: 'GET', target, headers: { accept } });
        assert.deepEqual([answer.code, answer.text.slice(0, starts.length)], [code, starts]);
      });
    }

    it('406 names what there is, which is not protobuf', async () => {
      const accept = 'application/xml';
      const { message } = await exchange({ method: 'GET', target: path, headers: { accept } });
      assert.equal(message, 'only the following media types are accepted: application/json, application/yaml');
    });
  });

  describe('bodies', () => {
    for (const type of [protobuf, 'application/cbor', 'application/xml']) {
      it(`in ${type} are 415`, async () => {
        const { code, message } = await send('POST', path, widget('other'), type);
        assert.deepEqual([code, message.split(': ')[1]], [415, 'application/json, application/yaml']);
      });
    }

    it('strategic merge patches are 415', async () => {
      const { code, message } = await patch('strategic', `${path}/one`, { spec: { a: 2 } });
      const taken = 'application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml';
      assert.deepEqual([code, message.split(': ')[1]], [415, taken]);
    });

    it('documents name no patch that is not taken', async () => {
      const { text } = await send('GET', `/openapi/v3/apis/${group}/v1`);
      assert.doesNotMatch(text, /strategic-merge-patch/);
      assert.match(text, /merge-patch\+json/);
    });
  });

  describe('warnings', () => {
    const prefer =
      'prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers';
    const warned = (...names: string[]): string[] => names.map((name) => `metadata.finalizers: "${name}": ${prefer}`);

    it('new finalizers without a domain', async () => {
      const finalizers = ['zz', 'example.com/x', 'aa', 'orphan'];
      const made = await send('POST', path, widget('held', {}, { finalizers }));
      assert.deepEqual(made.warnings, warned('aa', 'zz'));
      const rows: readonly (readonly [metadata: object, names: readonly string[]])[] = [
        [{ labels: { a: 'b' } }, []],
        [{ finalizers: ['zz', 'bb'] }, ['bb']],
        [{ finalizers: ['foregroundDeletion'] }, []],
        [{ finalizers: null }, []],
      ];
      for (const [metadata, names] of rows) {
        const answer = await patch('merge', `${path}/held`, { metadata });
        assert.deepEqual([answer.code, answer.warnings], [200, warned(...names)], JSON.stringify(metadata));
      }
      const applied = await apply(`${path}/applied`, widget('applied', {}, { finalizers: ['mine'] }), 'me');
      assert.deepEqual(applied.warnings, warned('mine'));
    });

    /** Ways to write fields that the schema does not have. */
    const unknown = { spec: { a: 1, zz: 1, l: [{ d: 1 }] } };
    const named = ['spec.l[0].d', 'spec.zz'];
    const raw = `{"apiVersion":"${group}/v1","kind":"Widget","metadata":{"name":"twice"},"spec":{"a":1,"a":2}}`;
    const headers = { 'content-type': 'application/json' };
    const ways: Readonly<Record<string, readonly [(query: string) => ReturnType<typeof send>, readonly string[]]>> = {
      create: [
        (query) => send('POST', `${path}?dryRun=All&${query}`, widget('new', unknown)),
        named.map((field) => `unknown field "${field}"`),
      ],
      apply: [
        (query) => apply(`${path}/one?force=true&${query}`, widget('one', unknown), 'me'),
        named.map((field) => `unknown field "${field}"`),
      ],
      'merge patch': [
        (query) => patch('merge', `${path}/one?${query}`, unknown),
        named.map((field) => `unknown field "${field}"`),
      ],
      'JSON patch': [
        (query) => patch('json', `${path}/one?${query}`, [{ op: 'add', path: '/spec', value: unknown.spec }]),
        named.map((field) => `unknown field "${field}"`),
      ],
      metadata: [
        (query) => send('POST', `${path}?dryRun=All&${query}`, widget('new', {}, { bogus: 1 })),
        ['unknown field "metadata.bogus"'],
      ],
      duplicates: [
        (query) => exchange({ method: 'POST', target: `${path}?dryRun=All&${query}`, headers, body: raw }),
        ['duplicate field "spec.a"'],
      ],
    };
    for (const [name, [write, problems]] of Object.entries(ways)) {
      it(`unknown fields by fieldValidation: ${name}`, async () => {
        const ignored = await write('fieldValidation=Ignore');
        assert.deepEqual([ignored.code < 300, ignored.warnings], [true, []]);
        for (const query of ['', 'fieldValidation=Warn']) {
          const answer = await write(query);
          assert.deepEqual([answer.code < 300, answer.warnings.toSorted()], [true, problems]);
          assert.equal(JSON.stringify(answer.body['spec'] ?? {}).includes('zz'), false);
        }
        const strict = await write('fieldValidation=Strict');
        const [reason = '', list = ''] = strict.message.split('strict decoding error: ');
        assert.deepEqual([strict.code, list.split(', ').sort()], [400, problems]);
        assert.match(reason, /^(Widget in version "v1" cannot be handled as a Widget: )?$/);
      });
    }
  });

  it('the second thread, which takes YAML and large bodies, keeps the same rules', async () => {
    const heavy = 'heavy.example.com';
    const objects = path.replace(group, heavy);
    const integer = { type: 'integer' };
    const spec = { type: 'object', properties: { replicas: integer, text: { type: 'string', maxLength: 9 } } };
    const status = { type: 'object', properties: { replicas: integer, parts: { type: 'array', items: integer } } };
    const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
    const version = { subresources: { status: {}, scale } };
    await define(client, definitionOf({ group: heavy, properties: { spec, status }, version }));
    const head = `apiVersion: ${heavy}/v1\nkind: Widget\nmetadata: {name: one`;
    const yaml = (method: 'POST' | 'PUT' | 'PATCH', target: string, body: string, type = 'application/yaml') =>
      exchange({ method, target, headers: { 'content-type': type }, body });
    const finalizers = ', finalizers: [mine]';
    const made = await yaml('POST', objects, `${head}${finalizers}}\nspec: {replicas: 1}\nstatus: {replicas: 7}\n`);
    assert.deepEqual([made.code, made.body['status'], made.warnings.length], [201, undefined, 1], made.message);
    const wrong = await yaml('POST', objects, `${head}}\nspec: {replicas: -1, text: much too long}\n`);
    assert.equal(wrong.code, 422);
    assert.match(
      wrong.message,
      /spec\.text.*should be a non-negative integer|should be a non-negative integer.*spec\.text/,
    );
    const parts = Array.from({ length: 60_000 }, (_, n) => n);
    const large = await patch('merge', `${objects}/one/status`, {
      spec: { replicas: 9 },
      status: { replicas: 2, parts },
    });
    assert.equal(large.code, 200, large.message);
    assert.deepEqual([large.body['spec'], large.body['status']], [{ replicas: 1 }, { replicas: 2, parts }]);
    const { resourceVersion } = large.body.metadata;
    const put = `${head}, resourceVersion: '${resourceVersion}'}\nspec: {replicas: 5}\nstatus: {replicas: 3}\n`;
    const replaced = await yaml('PUT', `${objects}/one/status`, put);
    assert.deepEqual(
      [replaced.body['spec'], replaced.body['status']],
      [{ replicas: 1 }, { replicas: 3 }],
      replaced.message,
    );
    const target = `${objects}/one/scale`;
    const inProtobuf = await exchange({ method: 'GET', target, headers: { accept: protobuf } });
    assert.deepEqual([inProtobuf.code, inProtobuf.text.slice(0, 4)], [200, 'k8s\0'], 'a Scale has a message');
    const scaled = await yaml('PUT', `${objects}/one/scale`, 'metadata: {name: one}\nspec: {replicas: 6}\n');
    assert.deepEqual(
      [scaled.code, scaled.body['spec'], scaled.body['status']],
      [200, { replicas: 6 }, { replicas: 3 }],
    );
  });

  it('creating is 405 while the definition goes, by any verb; the rest is served', async () => {
    const leaving = 'leaving.example.com';
    const objects = path.replace(group, leaving);
    const definition = definitionOf({ group: leaving });
    await define(client, definition);
    const made = { ...widget('held', {}, { finalizers: ['example.com/hold'] }), apiVersion: `${leaving}/v1` };
    assert.equal((await send('POST', objects, made)).code, 201);
    await client.delete(definitionPath(definition.metadata.name));
    const verbs = async (): Promise<string> => {
      const { body } = await send('GET', `/apis/${leaving}/v1`);
      return (body['resources'] as readonly { readonly verbs: readonly string[] }[])[0]?.verbs.join(' ') ?? '';
    };
    await until(async () => (await verbs()) === 'delete deletecollection get list watch');
    const refusal = [405, 'create not allowed while custom resource definition is terminating'];
    const late: ApiObject = { ...made, metadata: { name: 'late' } };
    const created = await send('POST', objects, late);
    assert.deepEqual([created.code, created.message], refusal);
    const applied = await apply(`${objects}/late`, late, 'me');
    assert.deepEqual([applied.code, applied.message], refusal);
    assert.equal((await send('PUT', `${objects}/late`, late)).code, 404);
    assert.equal(
      (await apply(`${objects}/held`, { ...made, metadata: { name: 'held', labels: { a: 'b' } } }, 'me')).code,
      200,
    );
    assert.equal((await patch('merge', `${objects}/held`, { metadata: { finalizers: null } })).code, 200);
    await until(async () => (await send('GET', definitionPath(definition.metadata.name))).code === 404);
  });
});
