import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { ApiObject, ManagedFieldsEntry } from '../../src/meta/api-object.ts';
import { type Answer, answersOf } from '../support/answers.ts';
import { define, definitionOf } from '../support/custom-resources.ts';
import { root, serverForSuite } from '../support/in-process-server.ts';

const group = 'parts.example.com';
const integer = { type: 'integer' };
const text = { type: 'string' };
const object = (properties: object) => ({ type: 'object', properties });
const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** Endpoints of custom objects that write a part of them: `status` and `scale` (KEP-2876). */
describe('subresources of custom objects', () => {
  const suite = serverForSuite();
  const { send, patch, apply } = answersOf(() => suite.server.transportAs(root));
  const at = (kind: string, name = '', subresource = ''): string =>
    `/apis/${group}/v1/namespaces/default/${kind.toLowerCase()}s${name && `/${name}`}${subresource && `/${subresource}`}`;
  const custom = (kind: string, name: string, rest: object = {}, metadata: object = {}) => ({
    ...{ apiVersion: `${group}/v1`, kind, metadata: { name, ...metadata } },
    ...rest,
  });
  const create = async (kind: string, name: string, rest: object = {}): Promise<ApiObject> => {
    const answer = await send('POST', at(kind), custom(kind, name, rest));
    assert.equal(answer.code, 201, answer.message);
    return answer.body;
  };
  const read = async (kind: string, name: string, subresource = ''): Promise<ApiObject> =>
    (await send('GET', at(kind, name, subresource))).body;
  const ownersOf = ({ metadata }: ApiObject): Readonly<Record<string, ManagedFieldsEntry['fieldsV1']>> =>
    Object.fromEntries(
      (metadata.managedFields ?? []).map(({ manager, operation, subresource = '', fieldsV1 }) => [
        `${manager} ${operation} ${subresource}`.trim(),
        fieldsV1,
      ]),
    );
  const causes = ({ code, body }: Answer): readonly unknown[] => [
    code,
    ...((body as { details?: { causes?: { field: string; message: string }[] } }).details?.causes ?? []).map(
      ({ field, message }) => `${field}: ${message}`,
    ),
  ];

  describe('status', () => {
    const status = object({ phase: { type: 'string', enum: ['On', 'Off'] }, count: { type: 'integer', default: 1 } });
    before(async () => {
      const client = suite.server.clientAs(root, 'test');
      const withStatus = { subresources: { status: {} } };
      const properties = { spec: object({ size: integer }), status, other: text };
      const started = { ...properties, status: { ...status, default: { phase: 'Off' } } };
      await define(client, definitionOf({ group, properties, version: withStatus }));
      await define(client, definitionOf({ group, kind: 'Started', properties: started, version: withStatus }));
      await define(client, definitionOf({ group, kind: 'Plain', properties }));
    });

    it('is dropped from new objects, and kept by updates of the object', async () => {
      const made = await create('Widget', 'one', { spec: { size: 1 }, status: { phase: 'On' } });
      assert.equal(made['status'], undefined);
      await patch('merge', at('Widget', 'one', 'status'), { status: { phase: 'On' } });
      const { body } = await patch('merge', at('Widget', 'one'), { spec: { size: 2 }, status: { phase: 'Off' } });
      assert.deepEqual([body['status'], body['spec']], [{ phase: 'On', count: 1 }, { size: 2 }]);
      const { resourceVersion } = body.metadata;
      const put = await send(
        'PUT',
        at('Widget', 'one'),
        custom('Widget', 'one', { spec: { size: 3 } }, { resourceVersion }),
      );
      assert.deepEqual(put.body['status'], { phase: 'On', count: 1 });
      const applied = await apply(
        at('Widget', 'two'),
        custom('Widget', 'two', { spec: { size: 1 }, status: { phase: 'On' } }),
        'a',
      );
      assert.deepEqual([applied.code, applied.body['status']], [201, undefined]);
      assert.deepEqual(ownersOf(applied.body), { 'a Apply': { 'f:spec': { 'f:size': {} } } });
    });

    it('begins with its default', async () => {
      const made = await create('Started', 'one', { status: { phase: 'On' } });
      assert.deepEqual(made['status'], { phase: 'Off', count: 1 });
      assert.deepEqual(await read('Started', 'one'), made);
    });

    it('is all that its endpoint changes', async () => {
      const labels = { a: 'b' };
      const made = await create('Widget', 'only', { spec: { size: 1 }, other: 'x' });
      const changes = {
        spec: { size: 9 },
        other: 'y',
        status: { phase: 'On' },
        metadata: { labels, annotations: labels, finalizers: ['example.com/x'], generateName: 'x' },
      };
      const { body } = await patch('merge', at('Widget', 'only', 'status'), changes, 'me');
      const { managedFields, resourceVersion, ...metadata } = body.metadata;
      const { managedFields: _fields, resourceVersion: _version, ...before } = made.metadata;
      assert.deepEqual(metadata, before);
      assert.deepEqual([body['spec'], body['other'], body['status']], [{ size: 1 }, 'x', { phase: 'On', count: 1 }]);
      assert.deepEqual(ownersOf(body)['me Update status'], {
        'f:status': { '.': {}, 'f:phase': {}, 'f:count': {} },
      });
      assert.ok(managedFields && resourceVersion);
      assert.deepEqual(await read('Widget', 'only', 'status'), body);
      const put = { ...body, spec: { size: 7 }, status: { phase: 'Off' }, metadata: { ...body.metadata, labels } };
      const replaced = await send('PUT', at('Widget', 'only', 'status'), put);
      assert.deepEqual(
        [replaced.body['spec'], replaced.body['status'], replaced.body.metadata.labels],
        [{ size: 1 }, { phase: 'Off', count: 1 }, undefined],
      );
      const gone = await patch('merge', at('Widget', 'only', 'status'), { status: null });
      assert.equal(gone.body['status'], undefined);
    });

    it('is validated, needs the newest version, and does not count for generation', async () => {
      const made = await create('Widget', 'valid', { spec: { size: 1 } });
      const path = at('Widget', 'valid', 'status');
      assert.deepEqual(causes(await patch('merge', path, { status: { phase: 'Up' } })).slice(0, 1), [422]);
      const set = await patch('merge', path, { status: { phase: 'On' } });
      assert.equal(set.body.metadata.generation, 1);
      assert.equal((await send('PUT', path, { ...made, status: { phase: 'Off' } })).code, 409);
      assert.equal((await send('PUT', at('Widget', 'absent', 'status'), custom('Widget', 'absent'))).code, 404);
      for (const method of ['POST', 'DELETE'] as const) assert.equal((await send(method, path, made)).code, 405);
    });

    it('has owners of its own', async () => {
      await create('Widget', 'owned', { spec: { size: 1 } });
      const path = at('Widget', 'owned', 'status');
      const config = custom('Widget', 'owned', { spec: { size: 5 }, status: { phase: 'On' } }, { labels: { a: 'b' } });
      const first = await apply(path, config, 'one');
      assert.deepEqual(ownersOf(first.body)['one Apply status'], { 'f:status': { 'f:phase': {} } });
      assert.equal(first.body.metadata.labels, undefined);
      const other = await apply(path, custom('Widget', 'owned', { status: { phase: 'Off' } }), 'two');
      assert.equal(other.code, 409);
      assert.equal((await apply(at('Widget', 'none', 'status'), custom('Widget', 'none'), 'one')).code, 404);
    });

    it('is a part like others without the subresource', async () => {
      const made = await create('Plain', 'one', { status: { phase: 'On' } });
      assert.deepEqual(made['status'], { phase: 'On', count: 1 });
      const { body } = await patch('merge', at('Plain', 'one'), { status: { phase: 'Off' } });
      assert.equal(body.metadata.generation, 2);
      for (const subresource of ['status', 'scale']) {
        assert.equal((await send('GET', at('Plain', 'one', subresource))).code, 404);
      }
    });
  });

  describe('scale', () => {
    const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
    const scaled = { ...scale, labelSelectorPath: '.status.selector' };
    const spec = object({ replicas: integer, name: text });
    const status = object({ replicas: integer, selector: text });
    before(async () => {
      const client = suite.server.clientAs(root, 'test');
      const version = { subresources: { status: {}, scale: scaled } };
      await define(client, definitionOf({ group, kind: 'Crowd', properties: { spec, status }, version }));
      const deep = { specReplicasPath: '.spec.size.count', statusReplicasPath: '.status.size.count' };
      const free = { subresources: { scale: { ...deep, labelSelectorPath: '.spec.by' } } };
      await define(
        client,
        definitionOf({ group, kind: 'Free', properties: { spec: open, status: open }, version: free }),
      );
    });

    it('shows replicas and selector', async () => {
      const made = await create('Crowd', 'shown', { spec: { replicas: 3 } });
      const { name, namespace, uid, creationTimestamp, resourceVersion } = made.metadata;
      const shown = (spec: object, status: object, version: string | undefined) => ({
        ...{ kind: 'Scale', apiVersion: 'autoscaling/v1' },
        metadata: { name, namespace, uid, resourceVersion: version, creationTimestamp },
        ...{ spec, status },
      });
      assert.deepEqual(await read('Crowd', 'shown', 'scale'), shown({ replicas: 3 }, { replicas: 0 }, resourceVersion));
      const parts = { replicas: 2, selector: 'app=x' };
      const { body } = await patch('merge', at('Crowd', 'shown', 'status'), { status: parts });
      const { resourceVersion: newer } = body.metadata;
      assert.deepEqual(await read('Crowd', 'shown', 'scale'), shown({ replicas: 3 }, parts, newer));
      const zero = await patch('merge', at('Crowd', 'shown', 'scale'), { spec: { replicas: 0 } });
      assert.deepEqual(zero.body['spec'], {});
      assert.deepEqual((await read('Crowd', 'shown'))['spec'], { replicas: 0 });
    });

    it('changes replicas and nothing else, whatever the format', async () => {
      const made = await create('Crowd', 'written', { spec: { replicas: 1, name: 'x' } });
      const path = at('Crowd', 'written', 'scale');
      const sent = { ...(await read('Crowd', 'written', 'scale')), spec: { replicas: 2 }, status: { replicas: 9 } };
      const labels = { a: 'b' };
      const writes: readonly (readonly [number, Promise<Answer> | (() => Promise<Answer>)])[] = [
        [2, () => send('PUT', path, { ...sent, metadata: { ...sent.metadata, labels } })],
        [3, () => patch('merge', path, { spec: { replicas: 3 }, metadata: { labels } })],
        [4, () => patch('json', path, [{ op: 'replace', path: '/spec/replicas', value: 4 }])],
        [5, () => send('PUT', path, { metadata: { name: 'written' }, spec: { replicas: 5 } })],
        [
          6,
          () =>
            apply(
              path,
              { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { labels }, spec: { replicas: 6 } },
              'me',
              { force: true },
            ),
        ],
      ];
      for (const [replicas, write] of writes) {
        const { code, body } = await (typeof write === 'function' ? write() : write);
        assert.deepEqual([code, body['spec'], body['status']], [200, { replicas }, { replicas: 0 }]);
        const now = await read('Crowd', 'written');
        assert.deepEqual(now['spec'], { replicas, name: 'x' });
        assert.deepEqual([now.metadata.labels, now['status']], [undefined, undefined]);
        assert.equal(body.metadata.resourceVersion, now.metadata.resourceVersion);
        assert.equal(now.metadata.generation, replicas);
      }
      assert.equal((await send('PUT', path, sent)).code, 409, 'stale');
      const other = { ...made.metadata, uid: 'other', resourceVersion: '' };
      assert.equal((await send('PUT', path, { metadata: other, spec: { replicas: 1 } })).code, 409, 'uid');
    });

    it('stores nothing in a dry run', async () => {
      await create('Crowd', 'dry', { spec: { replicas: 1 } });
      const { body } = await patch('merge', `${at('Crowd', 'dry', 'scale')}?dryRun=All`, { spec: { replicas: 3 } });
      assert.deepEqual(body['spec'], { replicas: 3 });
      assert.deepEqual((await read('Crowd', 'dry'))['spec'], { replicas: 1 });
    });

    it('owners are those of the field of the object', async () => {
      await apply(at('Crowd', 'owned'), custom('Crowd', 'owned', { spec: { replicas: 1 } }), 'one');
      const path = at('Crowd', 'owned', 'scale');
      await patch('merge', path, { spec: { replicas: 4 } }, 'two');
      assert.deepEqual(ownersOf(await read('Crowd', 'owned')), {
        'two Update scale': { 'f:spec': { 'f:replicas': {} } },
      });
      const config = (replicas: number) => ({ apiVersion: 'autoscaling/v1', kind: 'Scale', spec: { replicas } });
      const refused = await apply(path, config(5), 'three');
      assert.deepEqual(causes(refused), [
        409,
        '.spec.replicas: conflict with "two" with subresource "scale" using autoscaling/v1',
      ]);
      const forced = await apply(path, config(5), 'three', { force: true });
      assert.equal(forced.code, 200);
      assert.deepEqual(ownersOf(await read('Crowd', 'owned')), {
        'three Apply scale': { 'f:spec': { 'f:replicas': {} } },
      });
      assert.equal(
        (await apply(at('Crowd', 'owned'), custom('Crowd', 'owned', { spec: { replicas: 1 } }), 'one')).code,
        409,
      );
      const given = { apiVersion: 'autoscaling/v1', kind: 'Scale', spec: {} };
      const up = await apply(path, given, 'three');
      assert.deepEqual(up.body['spec'], {}, 'nobody wants replicas any more');
    });

    it('is refused if it is wrong', async () => {
      await create('Crowd', 'wrong', { spec: { replicas: 1 } });
      const path = at('Crowd', 'wrong', 'scale');
      const identity = { metadata: { name: 'wrong' } };
      const merge = (body: unknown) => patch('merge', path, body);
      const cases: readonly (readonly [Promise<Answer>, ...unknown[]])[] = [
        [
          merge({ spec: { replicas: -1 } }),
          422,
          'spec.replicas: Invalid value: -1: must be greater than or equal to 0',
        ],
        [send('PUT', path, { ...identity, kind: 'Crowd', apiVersion: `${group}/v1`, spec: { replicas: 2 } }), 400],
        [send('PUT', path, { ...identity, kind: 'Scale', apiVersion: 'autoscaling/v2', spec: { replicas: 2 } }), 400],
        [send('PUT', path, { metadata: { name: 'other' }, spec: { replicas: 2 } }), 400],
        [merge({ spec: { replicas: 'many' } }), 400],
        [merge({ spec: { replicas: 1.5 } }), 400],
        [merge({ spec: { replicas: 2 ** 31 } }), 400],
        [patch('merge', `${path}?fieldValidation=Strict`, { spec: { count: 1 } }), 400],
        [patch('strategic', path, { spec: { replicas: 2 } }), 415],
        [send('POST', path, identity), 405],
        [send('DELETE', path), 405],
        [send('PUT', at('Crowd', 'absent', 'scale'), { metadata: { name: 'absent' } }), 404],
        [send('GET', at('Crowd', 'absent', 'scale')), 404],
      ];
      for (const [answer, ...expected] of cases) {
        const got = await answer;
        assert.deepEqual(causes(got), expected, got.message);
      }
      assert.deepEqual((await read('Crowd', 'wrong'))['spec'], { replicas: 1 });
    });

    it('an object without replicas has no Scale until it is written', async () => {
      await create('Crowd', 'empty', { spec: { name: 'x' } });
      const path = at('Crowd', 'empty', 'scale');
      const none = await send('GET', path);
      assert.deepEqual(
        [none.code, none.message],
        [500, 'Internal error occurred: the spec replicas field ".spec.replicas" does not exist'],
      );
      const kept = await patch('merge', path, { metadata: { labels: { a: 'b' } } });
      assert.deepEqual([kept.code, kept.message], [400, 'the spec replicas field ".spec.replicas" cannot be empty']);
      assert.equal((await patch('merge', path, { spec: { replicas: 2 } })).code, 200);
      assert.deepEqual((await read('Crowd', 'empty'))['spec'], { name: 'x', replicas: 2 });
      await create('Free', 'bare');
      assert.equal((await patch('merge', at('Free', 'bare', 'scale'), { spec: { replicas: 2 } })).code, 200);
      assert.deepEqual((await read('Free', 'bare'))['spec'], { size: { count: 2 } });
    });

    it('values of which a Scale cannot be made are refused in objects', async () => {
      const range = 'should be less than or equal to 2147483647';
      const cases: readonly (readonly [object, ...string[]])[] = [
        [{ spec: { size: { count: -2 } } }, '.spec.size.count: Invalid value: -2: should be a non-negative integer'],
        [{ spec: { size: { count: 2 ** 31 } } }, `.spec.size.count: Invalid value: 2147483648: ${range}`],
        [
          { status: { size: { count: -2 } } },
          '.status.size.count: Invalid value: -2: should be a non-negative integer',
        ],
        [
          { spec: { size: { count: 'x' } } },
          '.spec.size.count: Invalid value: 0: .spec.size.count accessor error: x is of the type string, expected int64',
        ],
        [
          { spec: { size: 1.5 } },
          '.spec.size.count: Invalid value: 0: .spec.size.count accessor error: 1.5 is of the type float64, expected map[string]interface{}',
        ],
        [
          { spec: { by: 1 } },
          '.spec.by: Invalid value: "": .spec.by accessor error: 1 is of the type int64, expected string',
        ],
        [{ spec: { size: null } }],
      ];
      for (const [rest, ...expected] of cases) {
        const got = await send('POST', at('Free'), custom('Free', 'values', rest));
        assert.deepEqual(causes(got), expected.length > 0 ? [422, ...expected] : [201], JSON.stringify(rest));
      }
    });

    it('is found by clients', async () => {
      const { body } = await send('GET', `/apis/${group}/v1`);
      const resources = body['resources'] as readonly { readonly name: string }[];
      assert.deepEqual(
        resources.find(({ name }) => name === 'crowds/scale'),
        {
          ...{ name: 'crowds/scale', singularName: '', namespaced: true },
          ...{ group: 'autoscaling', version: 'v1', kind: 'Scale', verbs: ['get', 'patch', 'update'] },
        },
      );
      const document = (await send('GET', `/openapi/v3/apis/${group}/v1`)).body as unknown as {
        paths: Record<string, Record<string, Record<string, unknown>>>;
        components: { schemas: Record<string, unknown> };
      };
      const path = document.paths[`/apis/${group}/v1/namespaces/{namespace}/crowds/{name}/scale`] ?? {};
      assert.deepEqual(
        Object.keys(path).filter((method) => method !== 'parameters'),
        ['get', 'put', 'patch'],
      );
      assert.match(JSON.stringify(path['get']), /autoscaling\.v1\.Scale/);
      assert.ok(Object.keys(document.components.schemas).some((name) => name.endsWith('autoscaling.v1.Scale')));
    });
  });
});
