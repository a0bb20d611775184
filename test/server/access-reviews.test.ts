import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { parse, stringify } from 'yaml';
import { until } from '../../src/base/waits-fixture.ts';
import { decodeMessage } from '../../src/codec/protobuf/decode.ts';
import { encodeEnvelope, openEnvelope } from '../../src/codec/protobuf/envelope.ts';
import { orch } from '../../src/dialect/orch.ts';
import { kinds } from '../../src/kinds/kinds.ts';
import type { StructSchema } from '../../src/schema/schema.ts';
import {
  account,
  as,
  binding,
  bindingsPath,
  Folder,
  grant,
  group,
  make,
  outcome,
  rbacGroup,
  refusal,
  rule,
  user,
} from '../support/authorization.ts';
import { OrchProcess, type RequestOptions } from '../support/orch-process.ts';

/** Access reviews over HTTP (spec section 5.7): in every format, and as true as the requests that they are about. */

const held = new AsyncDisposableStack();
const folder = held.use(new Folder());
let server: OrchProcess;

const apiVersion = 'authorization.orch.io/v1';
const root = `/apis/${apiVersion}`;
const protobuf = 'application/vnd.orch.protobuf';

before(async () => {
  server = held.use(await OrchProcess.start({ flags: [folder.tokens({ bob: ['dev'], nobody: [], local: [] })] }));
  await make(server, '/api/v1/namespaces', { metadata: { name: 'team' } });
  await grant(
    server,
    'own',
    [
      rule('get list', 'configmaps'),
      rule('get', 'secrets', { names: ['x'] }),
      rule('get update', 'pods/status'),
      rule('deletecollection', 'leases', { group: 'coordination.orch.io' }),
    ],
    [user('bob')],
    'team',
  );
  await grant(server, 'dev', [rule('watch', 'configmaps')], [group('dev')], 'team');
  await grant(server, 'robot', [rule('get', 'pods')], [account('team', 'robot')], 'team');
  await grant(
    server,
    'wide',
    [rule('list', 'nodes'), rule('*', 'events'), { verbs: ['get', 'post'], nonResourceURLs: ['/metrics', '/livez/*'] }],
    [user('bob')],
  );
  await make(server, bindingsPath('team'), binding('local', 'ClusterRole', 'admin', user('local')));
  await make(server, bindingsPath('team'), binding('ghost', 'Role', 'ghost', user('bob')));
  // The rules of `admin` are gathered by a controller, soon after the start.
  const admin = '/apis/rbac.authorization.orch.io/v1/clusterroles/admin';
  await until(
    async () => (await server.get(admin)).text.includes('localsubjectaccessreviews'),
    'the role admin never gets its rules',
  );
});
after(() => held.disposeAsync());

interface Status {
  readonly allowed?: boolean;
  readonly denied?: boolean;
  readonly reason?: string;
  readonly evaluationError?: string;
}

interface Review<T = Status> {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: unknown;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: T;
}

/** One way to write and read reviews. */
interface Format {
  readonly send: <T = Status>(path: string, kind: string, spec: object, options?: RequestOptions) => Promise<Review<T>>;
}

const schemaOf = (name: string): StructSchema => {
  const found = kinds(orch).find(({ kind }) => kind === name);
  assert.ok(found);
  return found.schema;
};

const formats: Readonly<Record<string, Format>> = {
  JSON: {
    async send<T>(path: string, kind: string, spec: object, options: RequestOptions = {}) {
      const { status, json, text } = await server.post<Review<T>>(path, { apiVersion, kind, spec }, options);
      assert.equal(status, 201, text);
      return json;
    },
  },
  YAML: {
    async send<T>(path: string, kind: string, spec: object, options: RequestOptions = {}) {
      const headers = { accept: 'application/yaml', 'content-type': 'application/yaml' };
      const body = stringify({ apiVersion, kind, spec });
      const { status, text } = await server.post(path, body, { ...options, headers });
      assert.equal(status, 201, text);
      return parse(text) as Review<T>;
    },
  },
  protobuf: {
    async send<T>(path: string, kind: string, spec: object, options: RequestOptions = {}) {
      const headers = { accept: protobuf, 'content-type': protobuf };
      const schema = schemaOf(kind);
      const answer = await server.post(path, encodeEnvelope(schema, { apiVersion, kind, spec }), {
        ...options,
        headers,
      });
      assert.equal(answer.status, 201, answer.text);
      const { raw, ...type } = openEnvelope(answer.bytes);
      const value = decodeMessage(schema, raw);
      return { ...(withoutZeros(value) as Review<T>), kind: type.kind, apiVersion: type.apiVersion };
    },
  },
};

/** Of what protobuf writes although nobody said it. Not of `allowed` and `incomplete`, which are always there. */
function withoutZeros(value: unknown): unknown {
  if (Array.isArray(value) || typeof value !== 'object' || value === null) return value;
  const isZero = (name: string, field: unknown): boolean =>
    field === '' || (field === false && name !== 'allowed' && name !== 'incomplete');
  const fields = Object.entries(value).filter(([name, field]) => !isZero(name, field));
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutZeros(field)]));
}

const get = { verb: 'get', resource: 'configmaps', namespace: 'team' };
const missing = `RBAC: role.${rbacGroup} "ghost" not found`;

for (const [name, { send }] of Object.entries(formats)) {
  describe(`reviews in ${name}`, () => {
    test('SelfSubjectAccessReview', async () => {
      const path = `${root}/selfsubjectaccessreviews`;
      const spec = { resourceAttributes: get };
      const review = await send(path, 'SelfSubjectAccessReview', spec, { as: as('bob') });
      assert.deepEqual([review.kind, review.apiVersion], ['SelfSubjectAccessReview', apiVersion]);
      assert.deepEqual(review.spec['resourceAttributes'], get);
      const reason = 'RBAC: allowed by RoleBinding "own/team" of Role "own" to User "bob"';
      assert.deepEqual(review.status, { allowed: true, reason });
      const no = await send(
        path,
        'SelfSubjectAccessReview',
        { resourceAttributes: { ...get, verb: 'delete' } },
        { as: as('bob') },
      );
      assert.deepEqual(no.status, { allowed: false, reason: missing });
      const nothing = await send(path, 'SelfSubjectAccessReview', spec, { as: as('nobody') });
      assert.deepEqual(nothing.status, { allowed: false });
    });

    test('SubjectAccessReview, with everything that may be in it', async () => {
      const path = `${root}/subjectaccessreviews`;
      const extra = { 'example.com/scopes': ['a', 'b'], none: [] };
      const requirement = { key: 'metadata.name', operator: 'In', values: ['a'] };
      const attributes = {
        ...get,
        verb: 'watch',
        version: 'v1',
        fieldSelector: { requirements: [requirement] },
        labelSelector: { requirements: [{ key: 'b', operator: 'Exists' }] },
      };
      const spec = { user: 'zoe', uid: 'u', groups: ['other', 'dev'], extra, resourceAttributes: attributes };
      const review = await send(path, 'SubjectAccessReview', spec);
      const reason = 'RBAC: allowed by RoleBinding "dev/team" of Role "dev" to Group "dev"';
      assert.deepEqual(review.status, { allowed: true, reason });
      assert.deepEqual(review.spec['groups'], ['other', 'dev']);
      assert.deepEqual((review.spec['extra'] as typeof extra)['example.com/scopes'], ['a', 'b']);
      const sent = review.spec['resourceAttributes'] as typeof attributes;
      assert.deepEqual(sent.fieldSelector.requirements, [requirement]);
      const robot = { user: 'system:serviceaccount:team:robot', resourceAttributes: { ...get, resource: 'pods' } };
      assert.equal(
        (await send(path, 'SubjectAccessReview', robot)).status.reason,
        'RBAC: allowed by RoleBinding "robot/team" of Role "robot" to ServiceAccount "robot/team"',
      );
      const node = { user: 'system:node:n1', groups: ['system:nodes'] };
      const pods = { verb: 'list', resource: 'pods' };
      const own = { fieldSelector: { rawSelector: 'spec.nodeName=n1' } };
      const ask = (resourceAttributes: object) =>
        send(path, 'SubjectAccessReview', { ...node, resourceAttributes }).then(({ status }) => status);
      assert.deepEqual(await ask({ ...pods, ...own }), { allowed: true });
      assert.deepEqual(await ask(pods), {
        allowed: false,
        reason: 'can only list/watch pods with spec.nodeName field selector',
      });
      const path403 = { user: 'bob', nonResourceAttributes: { path: '/metrics', verb: 'get' } };
      assert.equal((await send(path, 'SubjectAccessReview', path403)).status.allowed, true);
    });

    test('LocalSubjectAccessReview, of who may ask in that namespace', async () => {
      const path = `${root}/namespaces/team/localsubjectaccessreviews`;
      const spec = { user: 'bob', resourceAttributes: get };
      const review = await send(path, 'LocalSubjectAccessReview', spec, { as: as('local') });
      assert.equal(review.status.allowed, true);
      const elsewhere = path.replace('/team/', '/default/');
      const body = { apiVersion, kind: 'LocalSubjectAccessReview', spec };
      assert.deepEqual(await outcome(server, 'POST', elsewhere, { body, as: as('local') }), [
        403,
        refusal({
          by: 'local',
          verb: 'create',
          resource: 'localsubjectaccessreviews',
          group: 'authorization.orch.io',
          namespace: 'default',
        }),
      ]);
      const { status, json } = await server.post<{ details: { causes: readonly { field: string }[] } }>(
        path,
        { spec: { user: 'bob', resourceAttributes: { ...get, namespace: 'default' } } },
        { as: as('local') },
      );
      assert.deepEqual([status, json.details.causes[0]?.field], [422, 'spec.resourceAttributes.namespace']);
    });

    test('SelfSubjectRulesReview', async () => {
      interface Rules {
        readonly resourceRules: readonly {
          readonly verbs: readonly string[];
          readonly resources?: readonly string[];
        }[];
        readonly nonResourceRules: readonly { readonly nonResourceURLs?: readonly string[] }[];
        readonly incomplete: boolean;
        readonly evaluationError?: string;
      }
      const path = `${root}/selfsubjectrulesreviews`;
      const kind = 'SelfSubjectRulesReview';
      const { status } = await send<Rules>(path, kind, { namespace: 'team' }, { as: as('bob') });
      const named = status.resourceRules.flatMap(({ resources = [] }) => resources);
      for (const resource of ['configmaps', 'secrets', 'nodes', 'selfsubjectaccessreviews']) {
        assert.ok(named.includes(resource), resource);
      }
      assert.ok(status.nonResourceRules.some(({ nonResourceURLs }) => nonResourceURLs?.includes('/livez/*')));
      assert.equal(status.incomplete, false);
      assert.equal(status.evaluationError, `role.${rbacGroup} "ghost" not found`);
      const other = await send<Rules>(path, kind, { namespace: 'default' }, { as: as('bob') });
      assert.equal(
        other.status.resourceRules.some(({ resources }) => resources?.includes('configmaps')),
        false,
      );
    });
  });
}

describe('a review says what a request would meet', () => {
  interface Asked {
    readonly method: string;
    readonly path: string;
    readonly spec: object;
  }
  const resource = (verb: string, rest: object) => ({ resourceAttributes: { verb, version: 'v1', ...rest } });
  const verbs = [
    ['GET', 'get', true],
    ['GET', 'list', false],
    ['POST', 'create', false],
    ['PUT', 'update', true],
    ['PATCH', 'patch', true],
    ['DELETE', 'delete', true],
    ['DELETE', 'deletecollection', false],
  ] as const;

  const questions = (): readonly Asked[] => {
    const asked: Asked[] = [];
    for (const namespace of ['team', 'default', '']) {
      for (const [plain, of, subresource] of [
        ['configmaps', '', ''],
        ['secrets', '', ''],
        ['events', '', ''],
        ['leases', 'coordination.orch.io', ''],
        ['pods', '', 'status'],
        ['roles', rbacGroup, ''],
      ] as const) {
        const start = of === '' ? '/api/v1' : `/apis/${of}/v1`;
        const collection = `${start}${namespace === '' ? '' : `/namespaces/${namespace}`}/${plain}`;
        for (const [method, verb, isNamed] of verbs) {
          if (subresource !== '' && !isNamed) continue;
          for (const name of isNamed ? ['x', 'y'] : ['']) {
            const path = [collection, name, subresource].filter(Boolean).join('/');
            const where = { namespace, group: of, resource: plain, name, subresource };
            asked.push({
              method,
              path: `${path}${verb.startsWith('delete') ? '?dryRun=All' : ''}`,
              spec: resource(verb, where),
            });
          }
        }
      }
    }
    for (const path of ['/metrics', '/livez/ping', '/livez', '/readyz/ping', '/api', '/', '/logs']) {
      for (const method of ['GET', 'POST', 'HEAD', 'OPTIONS']) {
        asked.push({ method, path, spec: { nonResourceAttributes: { path, verb: method.toLowerCase() } } });
      }
    }
    return asked;
  };

  for (const name of ['bob', 'local', 'nobody']) {
    test(name, async () => {
      const wrong: string[] = [];
      const headers = { 'content-type': 'application/merge-patch+json' };
      let allowed = 0;
      for (const { method, path, spec } of questions()) {
        const sent =
          method === 'POST' || method === 'PUT' ? { body: '{' } : method === 'PATCH' ? { body: '{', headers } : {};
        const [review, real] = await Promise.all([
          server.post<Review>(`${root}/selfsubjectaccessreviews`, { spec }, { as: as(name) }),
          server.request(method, path, { ...sent, as: as(name) }),
        ]);
        const says = review.json.status.allowed === true;
        if (says) allowed++;
        if (says !== (real.status !== 403)) wrong.push(`${method} ${path}: ${real.status}, the review: ${review.text}`);
      }
      assert.deepEqual(wrong, []);
      assert.ok(allowed > 0);
    });
  }
});

describe('reviews are not more open than what they are about', () => {
  test('only who may ask about others is told about them', async () => {
    const body = { spec: { user: 'bob', resourceAttributes: get } };
    for (const [resource, namespace] of [
      ['subjectaccessreviews', ''],
      ['localsubjectaccessreviews', 'default'],
    ] as const) {
      const path = namespace === '' ? `${root}/${resource}` : `${root}/namespaces/${namespace}/${resource}`;
      for (const [by, shown] of [
        ['bob', as('bob')],
        ['system:anonymous', 'anonymous'],
      ] as const) {
        const place = { resource, namespace, group: 'authorization.orch.io' };
        const message = refusal({ by, verb: 'create', ...place });
        assert.deepEqual(await outcome(server, 'POST', path, { body, as: shown }), [403, message]);
      }
    }
  });

  test('nothing is stored, and nothing can be read', async () => {
    const path = `${root}/selfsubjectaccessreviews`;
    const body = { spec: { resourceAttributes: get } };
    for (const [method, at, expected] of [
      ['GET', path, 405],
      ['DELETE', path, 405],
      ['GET', `${path}/x`, 404],
      ['PUT', `${path}/x`, 404],
    ] as const) {
      assert.equal((await server.request(method, at, { body })).status, expected, `${method} ${at}`);
    }
    assert.equal((await server.post(`${path}?dryRun=All`, body)).status, 201);
  });
});
