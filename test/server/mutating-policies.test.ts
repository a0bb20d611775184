import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import type { Status } from '../../src/meta/status-error.ts';
import { AdmissionWebhook, ruleFor, webhookFor } from '../support/admission-webhook.ts';
import { definitionOf, definitionPath, versionOf } from '../support/custom-resources.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** MutatingAdmissionPolicies, as those who write objects see them. */

type Fields = Readonly<Record<string, unknown>>;
const group = 'admissionregistration.orch.io';
const version = `${group}/v1alpha1`;
const policies = `/apis/${version}/mutatingadmissionpolicies`;
const bindings = `/apis/${version}/mutatingadmissionpolicybindings`;
const webhooks = `/apis/${group}/v1/mutatingwebhookconfigurations`;
const maps = '/api/v1/namespaces/default/configmaps';
const pods = '/api/v1/namespaces/default/pods';
const pod: Fields = { metadata: { name: 'x' }, spec: { containers: [{ name: 'a', image: 'a' }] } };

const configMap = (data: Fields = { a: '1' }, metadata: Fields = {}): Fields => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', data },
  metadata: { name: 'x', ...metadata },
});

type Made = ApiObject & { readonly data?: Readonly<Record<string, string>> };
interface Answer {
  readonly status: number;
  readonly body: Made & Partial<Pick<Status, 'reason' | 'details' | 'code'>> & { readonly message: string };
}

const apply = (expression: string): Fields => ({ patchType: 'ApplyConfiguration', applyConfiguration: { expression } });
const patch = (expression: string): Fields => ({ patchType: 'JSONPatch', jsonPatch: { expression } });
/** Adds a label. */
const labels = (key: string, value = "'1'"): Fields =>
  apply(`Object{metadata: Object.metadata{labels: {'${key}': ${value}}}}`);

describe('mutating admission policies', () => {
  const made: string[] = [];
  let server: OrchProcess;
  before(async () => {
    const flags = ['--feature-gates=MutatingAdmissionPolicy=true', `--runtime-config=${version}=true`];
    server = await OrchProcess.start({ flags });
  });
  after(() => server[Symbol.asyncDispose]());
  beforeEach(async () => {
    for (const path of made.splice(0)) await server.delete(path);
  });

  async function send(method: string, target: string, body?: unknown, type = 'application/json'): Promise<Answer> {
    const sent = body === undefined ? {} : { body, headers: { 'content-type': type } };
    const { status, json } = await server.request<Answer['body']>(method, target, sent);
    return { status, body: json };
  }
  const post = (object: Fields = configMap(), path = maps): Promise<Answer> =>
    send('POST', `${path}?dryRun=All`, object);

  async function create(path: string, object: Fields): Promise<void> {
    const { status, body } = await send('POST', path, object);
    assert.equal(status, 201, body.message);
    made.unshift(`${path}/${(object['metadata'] as Fields)['name']}`);
  }
  const policy = (name: string, mutations: readonly Fields[], spec: Fields = {}): Promise<void> =>
    create(policies, {
      ...{ apiVersion: version, kind: 'MutatingAdmissionPolicy', metadata: { name } },
      spec: {
        matchConstraints: { resourceRules: [ruleFor('CREATE UPDATE', 'configmaps')] },
        ...{ mutations, reinvocationPolicy: 'Never', ...spec },
      },
    });
  const bind = (name: string, spec: Fields = {}, policyName = name): Promise<void> =>
    create(bindings, {
      ...{ apiVersion: version, kind: 'MutatingAdmissionPolicyBinding', metadata: { name } },
      spec: { policyName, ...spec },
    });
  async function inForce(name: string, mutations: readonly Fields[], spec: Fields = {}): Promise<void> {
    await policy(name, mutations, spec);
    await bind(name);
  }

  describe('a change', () => {
    const rows: readonly (readonly [what: string, mutations: readonly Fields[], expected: Fields, spec?: Fields])[] = [
      ['is merged', [labels('l')], { data: { a: '1' }, labels: { own: '', l: '1' } }],
      [
        'sees the object',
        [apply("Object{data: {'b': object.data.a + '!'}}")],
        { data: { a: '1', b: '1!' }, labels: { own: '' } },
      ],
      [
        'sees what the one before it made',
        [labels('l', 'object.data.a'), apply("Object{data: {'a': object.metadata.labels.l + '2'}}")],
        { data: { a: '12' }, labels: { own: '', l: '1' } },
      ],
      [
        'uses variables, evaluated anew for each',
        [apply("Object{data: {'a': variables.next}}"), apply("Object{data: {'b': variables.next}}")],
        { data: { a: '1+', b: '1++' }, labels: { own: '' } },
        { variables: [{ name: 'next', expression: "object.data.a + '+'" }] },
      ],
      [
        'is a JSON patch',
        [
          patch(
            "[JSONPatch{op: 'test', path: '/data/a', value: '1'}, JSONPatch{op: 'replace', path: '/data/a', value: '2'}]",
          ),
        ],
        { data: { a: '2' }, labels: { own: '' } },
      ],
      [
        'is a JSON patch with a key that needs escapes',
        [patch("[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('e.com/l'), value: '1'}]")],
        { data: { a: '1' }, labels: { own: '', 'e.com/l': '1' } },
      ],
      [
        'is not made if a test does not hold',
        [
          patch(
            "[JSONPatch{op: 'replace', path: '/data/a', value: '2'}, JSONPatch{op: 'test', path: '/data/a', value: '1'}]",
          ),
        ],
        { data: { a: '1' }, labels: { own: '' } },
      ],
      [
        'is not made if a condition is false',
        [labels('l')],
        { data: { a: '1' }, labels: { own: '' } },
        { matchConditions: [{ name: 'no', expression: "object.data.a == '2'" }] },
      ],
    ];
    for (const [what, mutations, expected, spec] of rows) {
      for (const [size, data] of Object.entries({ small: {}, large: { big: 'x'.repeat(300_000) } })) {
        it(`${what} (${size} object)`, async () => {
          await inForce('p', mutations, spec);
          const { status, body } = await post(configMap({ a: '1', ...data }, { labels: { own: '' } }));
          assert.equal(status, 201, body.message);
          const { big: _, ...rest } = body.data ?? {};
          assert.deepEqual({ data: rest, labels: body.metadata.labels }, expected);
        });
      }
    }

    it('merges lists by their keys, and gets defaults', async () => {
      const sidecar = "Object.spec.containers{name: 'b', image: 'b'}";
      const matchConstraints = { resourceRules: [ruleFor('CREATE', 'pods')] };
      await inForce('p', [apply(`Object{spec: Object.spec{containers: [${sidecar}]}}`)], { matchConstraints });
      const { status, body } = await post(pod, pods);
      assert.equal(status, 201, body.message);
      const { containers } = body['spec'] as { readonly containers: readonly Fields[] };
      assert.deepEqual(
        containers.map(({ name, image, imagePullPolicy }) => [name, image, imagePullPolicy]),
        [
          ['a', 'a', 'Always'],
          ['b', 'b', 'Always'],
        ],
      );
    });

    it('is made in the version that a rule names, of custom resources too', async () => {
      const versions = ['v1', 'v2'].map((name) =>
        versionOf(
          { list: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' } },
          { name, storage: name === 'v2' },
        ),
      );
      const definition = definitionOf({ group: 'mutated.example', versions });
      await create(definitionPath(), definition);
      const path = '/apis/mutated.example/v2/namespaces/default/widgets';
      await until(async () => (await send('GET', path)).status === 200, 'the kind is served');
      const change = "Object{list: [object.apiVersion.replace('mutated.example/', '')]}";
      const rule = ruleFor('CREATE', 'widgets', { apiGroups: ['mutated.example'], apiVersions: ['v1'] });
      await inForce('p', [apply(change)], { matchConstraints: { resourceRules: [rule] } });
      const { status, body } = await post(
        { apiVersion: 'mutated.example/v2', kind: 'Widget', metadata: { name: 'x' }, list: ['own'] },
        path,
      );
      assert.equal(status, 201, body.message);
      assert.deepEqual([body.apiVersion, body['list']], ['mutated.example/v2', ['own', 'v1']]);
    });

    it('belongs to no manager', async () => {
      await inForce('p', [labels('l')]);
      const path = `${maps}/owned`;
      made.push(path);
      const sent = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'owned' }, data: { a: '1' } };
      const { status, body } = await send('PATCH', `${path}?fieldManager=m`, sent, 'application/apply-patch+yaml');
      assert.equal(status, 201, body.message);
      assert.deepEqual(body.metadata.labels, { l: '1' });
      const owned = (body.metadata.managedFields ?? []).map(({ manager, fieldsV1 }) => [manager, fieldsV1]);
      assert.deepEqual(owned, [['m', { 'f:data': { 'f:a': {} } }]]);
    });

    it('is made on updates, not on deletions, and not of policies', async () => {
      const everything = { operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] };
      await inForce('p', [labels('l')], { matchConstraints: { resourceRules: [everything] } });
      made.push(`${maps}/x`);
      await send('POST', maps, configMap());
      const { body } = await send('PUT', `${maps}/x`, configMap({ a: '2' }));
      assert.deepEqual([body.data, body.metadata.labels], [{ a: '2' }, { l: '1' }]);
      assert.equal((await send('DELETE', `${maps}/x`)).status, 200);
      assert.equal((await send('GET', `${policies}/p`)).body.metadata.labels, undefined);
    });
  });

  describe('a failure', () => {
    const rows: readonly (readonly [what: string, mutation: Fields, message: string])[] = [
      [
        'of an expression',
        labels('l', 'object.data.none'),
        `expression '${(labels('l', 'object.data.none')['applyConfiguration'] as Fields)['expression']}' resulted in error: no such key: none`,
      ],
      [
        'of a merge that names no field',
        apply("Object{speck: Object.speck{a: '1'}}"),
        'error applying patch: failed to convert patch object to typed object: .speck: field not declared in schema',
      ],
      [
        'of a merge with a wrong type',
        apply("Object{metadata: Object.metadata{labels: ['a']}}"),
        'error applying patch: failed to convert patch object to typed object: .metadata.labels: expected object, got array',
      ],
      [
        'of a patch that does not apply',
        patch("[JSONPatch{op: 'remove', path: '/data/none'}]"),
        "JSON Patch: error in remove for path: '/data/none': Unable to remove nonexistent key",
      ],
      ['of an unknown operation', patch("[JSONPatch{op: 'no', path: '/data'}]"), 'JSON Patch: '],
    ];
    for (const [what, mutation, message] of rows) {
      it(`${what} refuses the request`, async () => {
        await inForce('p', [mutation]);
        const { status, body } = await post();
        assert.deepEqual([status, body.reason], [403, 'Invalid']);
        const full = `policy 'p' with binding 'p' denied request: ${message}`;
        assert.equal(body.message?.slice(0, full.length), full);
        assert.deepEqual(body.details, { name: 'x', kind: 'configmaps', causes: [{ message: body.message }] });
      });

      it(`${what} lets it pass with failurePolicy Ignore, and takes nothing back`, async () => {
        await inForce('p', [labels('before'), mutation, labels('after')], { failurePolicy: 'Ignore' });
        const { status, body } = await post();
        assert.equal(status, 201, body.message);
        assert.deepEqual(body.metadata.labels, { before: '1', after: '1' });
      });
    }

    it('of several policies: the first is told, all are causes', async () => {
      for (const name of ['b', 'a'])
        await inForce(name, [patch(`[JSONPatch{op: 'remove', path: '/data/${name}${name}'}]`)]);
      const { body } = await post();
      assert.match(body.message, /^policy 'a' with binding 'a' denied request: JSON Patch: .*aa/);
      assert.equal(body.details?.causes?.length, 2);
    });

    it('is a condition that cannot be evaluated', async () => {
      await inForce('p', [labels('l')], { matchConditions: [{ name: 'c', expression: "object.data.none == '1'" }] });
      const { status, body } = await post();
      assert.equal(status, 403);
      assert.match(body.message, /^policy 'p' with binding 'p' denied request: .*no such key: none$/);
    });

    it('is a merge of an atomic container', async () => {
      const container = "Object.spec.containers{name: 'a', args: ['x']}";
      const matchConstraints = { resourceRules: [ruleFor('CREATE', 'pods')] };
      await inForce('p', [apply(`Object{spec: Object.spec{containers: [${container}]}}`)], { matchConstraints });
      const { body } = await post(pod, pods);
      const why = 'invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.containers[0].args';
      assert.equal(body.message, `policy 'p' with binding 'p' denied request: error applying patch: ${why}`);
    });
  });

  describe('params', () => {
    const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
    const excludeResourceRules = [{ ...ruleFor('*', 'configmaps'), resourceNames: ['one', 'two'] }];
    const matchConstraints = { resourceRules: [ruleFor('CREATE', 'configmaps')], excludeResourceRules };
    const param = (name: string, key: string): Promise<void> =>
      create(maps, { metadata: { name, labels: { params: '' } }, data: { key } });

    it('are evaluated one after the other', async () => {
      await param('one', 'k1');
      await param('two', 'k2');
      await policy('p', [apply('Object{data: {params.data.key: params.metadata.name}}')], {
        paramKind,
        matchConstraints,
      });
      await bind('p', { paramRef: { selector: { matchLabels: { params: '' } }, parameterNotFoundAction: 'Deny' } });
      const { body } = await post();
      assert.deepEqual(body.data, { a: '1', k1: 'one', k2: 'two' });
    });

    it('that are missing refuse the request, or leave it as it is', async () => {
      await policy('p', [labels('l')], { paramKind, matchConstraints });
      await bind('p', { paramRef: { name: 'none', parameterNotFoundAction: 'Deny' } });
      const { status, body } = await post();
      const why = 'no params found for policy binding with `Deny` parameterNotFoundAction';
      assert.deepEqual(
        [status, body.reason, body.message],
        [403, 'Forbidden', `policy 'p' with binding 'p' denied request: failed to configure binding: ${why}`],
      );
      await server.delete(made.shift() ?? '');
      await bind('p', { paramRef: { name: 'none', parameterNotFoundAction: 'Allow' } });
      assert.equal((await post()).body.metadata.labels, undefined);
    });
  });

  describe('order', () => {
    /** Appends a letter to what is there. */
    const appends = (letter: string): readonly Fields[] => [apply(`Object{data: {'a': object.data.a + '${letter}'}}`)];

    it('is that of names; a policy that is evaluated again if needed is, once, if others changed the object after it', async () => {
      await inForce('b', appends('b'), { reinvocationPolicy: 'Never' });
      await inForce('a', appends('a'), { reinvocationPolicy: 'IfNeeded' });
      await inForce('c', appends('c'), { reinvocationPolicy: 'IfNeeded' });
      const { body } = await post(configMap({ a: '' }));
      // The last of them is evaluated again because the first is.
      assert.equal(body.data?.['a'], 'abcac');
    });

    it('has webhooks behind policies; what they change, policies see if needed', async () => {
      await using webhook = await AdmissionWebhook.start();
      const operations = JSON.stringify([{ op: 'add', path: '/data/w', value: 'w' }]);
      webhook.judge = () => ({
        ...{ allowed: true, patchType: 'JSONPatch' },
        patch: Buffer.from(operations).toString('base64'),
      });
      await create(webhooks, { metadata: { name: 'w' }, webhooks: [webhookFor(webhook)] });
      const sees = [apply("Object{data: {'seen': string('w' in object.data)}}")];
      await inForce('p', sees, { reinvocationPolicy: 'IfNeeded' });
      const { body } = await post();
      assert.deepEqual(body.data, { a: '1', w: 'w', seen: 'true' });
      assert.deepEqual(
        webhook.asked.map(({ request }) => (request.object as Made).data?.['seen']),
        ['false'],
      );
    });
  });

  it('a policy without a binding does nothing; a binding may limit it', async () => {
    await policy('unbound', [labels('unbound')]);
    await policy('p', [labels('l')]);
    const matchResources = { objectSelector: { matchLabels: { wanted: '' } } };
    await bind('p', { matchResources });
    assert.equal((await post()).body.metadata.labels, undefined);
    assert.deepEqual((await post(configMap({}, { labels: { wanted: '' } }))).body.metadata.labels, {
      wanted: '',
      l: '1',
    });
  });
});
