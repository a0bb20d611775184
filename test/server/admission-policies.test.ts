import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import type { Status } from '../../src/meta/status-error.ts';
import { ruleFor } from '../support/admission-webhook.ts';
import { definitionOf, definitionPath, versionOf } from '../support/custom-resources.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** ValidatingAdmissionPolicies, as those who write objects see them. */

type Fields = Readonly<Record<string, unknown>>;
const group = 'admissionregistration.orch.io/v1';
const policies = `/apis/${group}/validatingadmissionpolicies`;
const bindings = `/apis/${group}/validatingadmissionpolicybindings`;
const maps = '/api/v1/namespaces/default/configmaps';
const mergePatch = 'application/merge-patch+json';

const configMap = (name: string, data: Fields = { a: '1' }, metadata: Fields = {}): Fields => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', data },
  metadata: { name, ...metadata },
});

interface Answer {
  readonly status: number;
  readonly body: Status & { readonly message: string };
  readonly warnings: string;
}

describe('validating admission policies', () => {
  const made: string[] = [];
  const directory = mkdtempSync(join(tmpdir(), 'orch-policies-'));
  const auditLog = join(directory, 'audit.log');
  let server: OrchProcess;
  before(async () => {
    const file = join(directory, 'audit.yaml');
    const rules = [{ level: 'Metadata', resources: [{ group: '', resources: ['configmaps'] }] }, { level: 'None' }];
    writeFileSync(file, JSON.stringify({ apiVersion: 'audit.orch.io/v1', kind: 'Policy', rules }));
    server = await OrchProcess.start({ flags: [`--audit-policy-file=${file}`, `--audit-log-path=${auditLog}`] });
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true });
  });
  beforeEach(async () => {
    for (const path of made.splice(0)) await server.delete(path);
  });

  async function send(method: string, target: string, body?: unknown, type = 'application/json'): Promise<Answer> {
    const sent = body === undefined ? {} : { body, headers: { 'content-type': type } };
    const { status, json, headers } = await server.request<Answer['body']>(method, target, sent);
    return { status, body: json, warnings: [headers['warning'] ?? []].flat().join() };
  }
  const post = (object: Fields): Promise<Answer> => send('POST', `${maps}?dryRun=All`, object);

  async function create(path: string, object: Fields): Promise<void> {
    const { status, body } = await send('POST', path, object);
    assert.equal(status, 201, body.message);
    made.unshift(`${path}/${(object['metadata'] as Fields)['name']}`);
  }
  const constraints = { resourceRules: [ruleFor('*', 'configmaps')] };
  const policy = (name: string, spec: Fields): Promise<void> =>
    create(policies, {
      ...{ apiVersion: group, kind: 'ValidatingAdmissionPolicy', metadata: { name } },
      spec: { matchConstraints: constraints, ...spec },
    });
  const bind = (name: string, spec: Fields = {}, policyName = name): Promise<void> =>
    create(bindings, {
      ...{ apiVersion: group, kind: 'ValidatingAdmissionPolicyBinding', metadata: { name } },
      spec: { policyName, validationActions: ['Deny'], ...spec },
    });
  const denied = (name: string, message: string): string =>
    `configmaps "x" is forbidden: ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: ${message}`;

  describe('a refusal', () => {
    const rows: readonly (readonly [
      what: string,
      validation: Fields,
      code: number,
      reason: string,
      message: string,
    ])[] = [
      [
        'by the expression',
        { expression: ' object.data.a == "2" ' },
        422,
        'Invalid',
        'failed expression: object.data.a == "2"',
      ],
      ['by a message', { expression: 'false', message: ' no ' }, 422, 'Invalid', 'no'],
      ['with a reason', { expression: 'false', message: 'no', reason: 'Forbidden' }, 403, 'Forbidden', 'no'],
      [
        'with another reason',
        { expression: 'false', message: 'no', reason: 'RequestEntityTooLarge' },
        ...([413, 'RequestEntityTooLarge', 'no'] as const),
      ],
      [
        'by a message expression',
        { expression: 'false', message: 'no', messageExpression: "'a is ' + object.data.a" },
        ...([422, 'Invalid', 'a is 1'] as const),
      ],
      [
        'by the message where the expression for it fails',
        { expression: 'false', message: 'no', messageExpression: 'string(object.data.none)' },
        ...([422, 'Invalid', 'no'] as const),
      ],
      [
        'by the message where the expression for it gives lines',
        { expression: 'false', message: 'no', messageExpression: String.raw`'a\nb'` },
        ...([422, 'Invalid', 'no'] as const),
      ],
      [
        'by an expression that fails',
        { expression: 'object.data.none == "1"' },
        ...([422, 'Invalid', `expression 'object.data.none == "1"' resulted in error: no such key: none`] as const),
      ],
    ];
    for (const [what, validation, code, reason, message] of rows) {
      it(what, async () => {
        await policy('p', { validations: [{ expression: 'true' }, validation] });
        await bind('p');
        const { status, body } = await post(configMap('x'));
        assert.deepEqual([status, body.reason, body.message], [code, reason, denied('p', message)]);
        const cause = { message: `ValidatingAdmissionPolicy 'p' with binding 'p' denied request: ${message}` };
        assert.deepEqual(body.details, { name: 'x', kind: 'configmaps', causes: [cause] });
      });
    }
    it('names the first policy, in order of their names, and its first failure', async () => {
      await policy('b', { validations: [{ expression: 'false', message: 'b' }] });
      await bind('b');
      await policy('a', { validations: ['one', 'two'].map((message) => ({ expression: 'false', message })) });
      await bind('a');
      assert.equal((await post(configMap('x'))).body.message, denied('a', 'one'));
    });
  });

  it('sees the namespace as it was written last', async () => {
    await policy('p', {
      validations: [{ expression: "namespaceObject.metadata.labels[?'open'] == optional.of('yes')" }],
    });
    await bind('p');
    for (const [open, status] of [
      ['no', 422],
      ['yes', 201],
      ['no', 422],
      [null, 422],
      ['yes', 201],
    ] as const) {
      const labelled = await send(
        'PATCH',
        '/api/v1/namespaces/default',
        { metadata: { labels: { open } } },
        mergePatch,
      );
      assert.equal(labelled.status, 200);
      for (const _ of [1, 2]) assert.equal((await post(configMap('x'))).status, status, String(open));
    }
  });

  it('a policy without a binding, and a binding without a policy, do nothing', async () => {
    await policy('unbound', { validations: [{ expression: 'false' }] });
    await bind('loose', {}, 'none');
    assert.equal((await post(configMap('x'))).status, 201);
  });

  it('failurePolicy Ignore lets pass what cannot be evaluated, and refuses what breaks a rule', async () => {
    await policy('p', {
      failurePolicy: 'Ignore',
      validations: [{ expression: 'object.data.none == "1"' }, { expression: 'object.data.a == "1"' }],
    });
    await bind('p');
    assert.equal((await post(configMap('x'))).status, 201);
    assert.equal((await post(configMap('x', { a: '2' }))).status, 422);
  });

  it('warns and annotates instead, if the binding says so', async () => {
    await policy('p', {
      validations: [{ expression: 'true' }, { expression: 'false', message: 'careful' }],
      auditAnnotations: [
        { key: 'a', valueExpression: "'a is ' + object.data.a" },
        { key: 'none', valueExpression: 'null' },
      ],
    });
    await bind('p', { validationActions: ['Warn', 'Audit'] });
    const { status, warnings } = await post(configMap('annotated'));
    assert.equal(status, 201);
    assert.equal(warnings, `299 - "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': careful"`);
    const { readFileSync } = await import('node:fs');
    const failure = [
      { message: 'careful', policy: 'p', binding: 'p', expressionIndex: 1, validationActions: ['Warn', 'Audit'] },
    ];
    await until(() => readFileSync(auditLog, 'utf8').includes('"annotated"'), 'the event is written');
    const event =
      readFileSync(auditLog, 'utf8')
        .split('\n')
        .find((line) => line.includes('validation_failure')) ?? '{}';
    const { annotations } = JSON.parse(event);
    assert.equal(annotations['validation.policy.admission.orch.io/validation_failure'], JSON.stringify(failure));
    assert.equal(annotations['p/a'], 'a is 1');
    assert.equal('p/none' in annotations, false);
  });

  for (const action of ['Deny', 'Warn', 'Audit']) {
    for (const [failurePolicy, status] of [
      ['Fail', 422],
      ['Ignore', 201],
    ] as const) {
      it(`an annotation that fails refuses with ${action} and ${failurePolicy}: ${status === 422}`, async () => {
        const auditAnnotations = [{ key: 'e', valueExpression: 'string(object.data.absent)' }];
        await policy('p', { failurePolicy, auditAnnotations });
        await bind('p', { validationActions: [action] });
        const answer = await post(configMap('x'));
        assert.equal(answer.status, status, answer.body.message);
        assert.equal(answer.warnings, '');
      });
    }
  }

  it('variables are evaluated when they are needed', async () => {
    await policy('p', {
      variables: [
        { name: 'broken', expression: 'object.data.none' },
        { name: 'size', expression: 'object.data.size()' },
        { name: 'twice', expression: 'variables.size * 2' },
      ],
      validations: [{ expression: 'variables.twice == 2 || variables.broken == "1"' }],
    });
    await bind('p');
    assert.equal((await post(configMap('x'))).status, 201);
    const { body } = await post(configMap('x', { a: '1', b: '2' }));
    assert.match(body.message, /composited variable "broken" fails to evaluate: no such key: none/);
  });

  describe('params', () => {
    const uses = { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' }, failurePolicy: 'Fail' };
    const below = {
      expression: 'int(object.data.a) <= int(params.data.max)',
      messageExpression: "'at most ' + params.data.max",
    };
    const limit = (name: string, max: string, labels: Fields = {}): Promise<void> =>
      create(maps, configMap(name, { max, a: '0' }, { labels }));

    it('by name, each write of them counts for the next request', async () => {
      await policy('p', { ...uses, validations: [below] });
      await bind('p', { paramRef: { name: 'limit', namespace: 'default', parameterNotFoundAction: 'Deny' } });
      const missing = await post(configMap('x'));
      assert.match(missing.body.message, /failed to configure binding: no params found for policy binding with `Deny`/);
      for (const path of made.splice(0)) await server.delete(path);
      await limit('limit', '1');
      await policy('p', { ...uses, validations: [below] });
      await bind('p', { paramRef: { name: 'limit', namespace: 'default', parameterNotFoundAction: 'Deny' } });
      assert.equal((await post(configMap('x', { a: '1' }))).status, 201);
      const { body } = await post(configMap('x', { a: '2' }));
      assert.equal(body.message, denied('p', 'at most 1'));
      // The params are judged by themselves, too.
      assert.equal((await send('PATCH', `${maps}/limit`, { data: { max: '2' } }, mergePatch)).status, 200);
      assert.equal((await post(configMap('x', { a: '2' }))).status, 201);
    });

    it('by labels: each one selected counts, in the namespace of the request', async () => {
      await limit('one', '3', { limits: 'a' });
      await limit('two', '1', { limits: 'a' });
      await limit('three', '0', { limits: 'b' });
      await policy('p', { ...uses, validations: [below] });
      const selector = { matchLabels: { limits: 'a' } };
      await bind('p', { paramRef: { selector, parameterNotFoundAction: 'Allow' } });
      assert.equal((await post(configMap('x', { a: '1' }))).status, 201);
      assert.equal((await post(configMap('x', { a: '2' }))).body.message, denied('p', 'at most 1'));
    });

    it('that cannot be converted are a failure, which the failure policy decides about', async () => {
      const versions = [versionOf({}), versionOf({}, { name: 'v2', storage: false })];
      const definition = definitionOf({ group: 'unconverted.example.com', versions });
      const clientConfig = { url: 'https://127.0.0.1:9/convert' };
      const conversion = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } };
      const asked = { ...definition, spec: { ...definition.spec, conversion } };
      assert.equal((await send('POST', definitionPath(), asked)).status, 201);
      const widgets = '/apis/unconverted.example.com/v1/namespaces/default/widgets';
      await until(async () => (await send('GET', widgets)).status === 200, 'the kind is served');
      await create(widgets, { apiVersion: 'unconverted.example.com/v1', kind: 'Widget', metadata: { name: 'w' } });
      const paramKind = { apiVersion: 'unconverted.example.com/v2', kind: 'Widget' };
      const paramRef = { name: 'w', namespace: 'default', parameterNotFoundAction: 'Deny' };
      for (const [failurePolicy, status] of [
        ['Ignore', 201],
        ['Fail', 422],
      ] as const) {
        await policy(`p-${status}`, { paramKind, failurePolicy, validations: [{ expression: 'true' }] });
        await bind(`p-${status}`, { paramRef });
        const answer = await post(configMap('x'));
        assert.equal(answer.status, status, answer.body.message);
        if (status === 422) assert.match(answer.body.message, /failed to configure binding: conversion webhook for/);
      }
    });

    it('of a kind that nobody serves refuse what a policy is for, whatever its bindings are for', async () => {
      await policy('p', {
        paramKind: { apiVersion: 'foo.io/v1', kind: 'Nope' },
        validations: [{ expression: 'true' }],
      });
      const matchResources = { namespaceSelector: { matchLabels: { never: 'there' } } };
      for (const binding of [{}, { matchResources, paramRef: { name: 'x', parameterNotFoundAction: 'Allow' } }]) {
        await bind('p', binding);
        const { status, body } = await post(configMap('x'));
        assert.equal(status, 422);
        assert.match(
          body.message,
          /ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'foo.io\/v1, Kind=Nope'$/,
        );
        await server.delete(`${bindings}/p`);
      }
    });

    it('for a Namespace are looked for in it', async () => {
      await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'with-params' } });
      await create('/api/v1/namespaces/with-params/configmaps', configMap('here', { max: '3' }));
      const resourceRules = [ruleFor('UPDATE', 'namespaces')];
      const matchConstraints = { resourceRules };
      await policy('p', {
        ...uses,
        matchConstraints,
        validations: [{ expression: "params.data.max == '3' && namespaceObject == null" }],
      });
      await bind('p', { paramRef: { name: 'here', parameterNotFoundAction: 'Deny' } });
      const label = { metadata: { labels: { changed: 'yes' } } };
      const { status, body } = await send('PATCH', '/api/v1/namespaces/with-params', label, mergePatch);
      assert.equal(status, 200, body.message);
      assert.equal((await send('PATCH', '/api/v1/namespaces/default', label, mergePatch)).status, 422);
    });

    it('of a kind that is not served refuse, until it is served', async () => {
      const kind = { apiVersion: 'params.example.com/v1', kind: 'Widget' };
      await policy('p', { paramKind: kind, validations: [{ expression: 'params == null' }] });
      await bind('p', { paramRef: { name: 'w', namespace: 'default', parameterNotFoundAction: 'Allow' } });
      const { body } = await post(configMap('x'));
      assert.match(
        body.message,
        /failed to configure policy: failed to find resource referenced by paramKind: 'params\.example\.com\/v1, Kind=Widget'/,
      );
      assert.equal((await send('POST', definitionPath(), definitionOf({ group: 'params.example.com' }))).status, 201);
      await until(async () => (await post(configMap('x'))).status === 201, 'the kind is served');
    });
  });

  describe('what is judged', () => {
    const expectations: readonly (readonly [what: string, spec: Fields, binding: Fields, refused: boolean])[] = [
      ['everything that the rules name', {}, {}, true],
      ['not what an exception names', { excludeResourceRules: [ruleFor('CREATE', 'configmaps')] }, {}, false],
      ['objects of a name', { resourceRules: [{ ...ruleFor('*', 'configmaps'), resourceNames: ['x'] }] }, {}, true],
      [
        'not those of another name',
        { resourceRules: [{ ...ruleFor('*', 'configmaps'), resourceNames: ['y'] }] },
        {},
        false,
      ],
      [
        'all but those of a name',
        { excludeResourceRules: [{ ...ruleFor('*', 'configmaps'), resourceNames: ['x'] }] },
        ...([{}, false] as const),
      ],
      ['what the object selector selects', { objectSelector: { matchLabels: { l: '1' } } }, {}, true],
      ['not what it does not select', { objectSelector: { matchLabels: { l: '2' } } }, {}, false],
      [
        'what the selector of the namespace selects',
        { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'none' } } },
        ...([{}, false] as const),
      ],
      ['what the binding matches', {}, { matchResources: constraints }, true],
      ['not what it does not match', {}, { matchResources: { resourceRules: [ruleFor('*', 'secrets')] } }, false],
      ['not what it excludes', {}, { matchResources: { excludeResourceRules: [ruleFor('*', 'configmaps')] } }, false],
    ];
    for (const [what, spec, binding, refused] of expectations) {
      it(what, async () => {
        await policy('p', { matchConstraints: { ...constraints, ...spec }, validations: [{ expression: 'false' }] });
        await bind('p', binding);
        assert.equal((await post(configMap('x', {}, { labels: { l: '1' } }))).status, refused ? 422 : 201);
      });
    }

    it('what all conditions are true for; one that is false outweighs one that fails', async () => {
      const conditions = (...expressions: readonly string[]): Fields => ({
        matchConditions: expressions.map((expression, index) => ({ name: `c${index}`, expression })),
      });
      const validations = [{ expression: 'false' }];
      for (const [expressions, status] of [
        [["object.data.a == '1'", "request.operation == 'CREATE'"], 422],
        [["object.data.a == '2'"], 201],
        [["object.data.none == '1'", "object.data.a == '2'"], 201],
        [["object.data.none == '1'"], 422],
      ] as const) {
        await policy('p', { ...conditions(...expressions), validations });
        await bind('p');
        assert.equal((await post(configMap('x'))).status, status, expressions.join());
        for (const path of made.splice(0)) await server.delete(path);
      }
    });

    it('neither policies themselves nor reviews, but requests for tokens', async () => {
      const rules = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }];
      await policy('all', { matchConstraints: { resourceRules: rules }, validations: [{ expression: 'false' }] });
      await bind('all');
      const review = { spec: { nonResourceAttributes: { path: '/', verb: 'get' } } };
      assert.equal((await send('POST', '/apis/authorization.orch.io/v1/selfsubjectaccessreviews', review)).status, 201);
      const token = '/api/v1/namespaces/default/serviceaccounts/default/token';
      assert.equal((await send('POST', token, { spec: { audiences: ['x'] } })).status, 422);
      const label = { metadata: { labels: { a: 'b' } } };
      assert.equal((await send('PATCH', `${policies}/all`, label, mergePatch)).status, 200);
    });
  });

  it('namespaceObject and authorizer are there', async () => {
    const allowed = "authorizer.group('').resource('configmaps').namespace('default').check('create').allowed()";
    await policy('p', {
      validations: [{ expression: "namespaceObject.metadata.name == 'default'" }, { expression: allowed }],
    });
    await bind('p');
    assert.equal((await post(configMap('x'))).status, 201);
  });

  it('a policy that costs too much is a failure, and others are answered meanwhile', async () => {
    const list = '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]';
    const all = (depth: number): string => (depth === 0 ? 'true' : `${list}.all(x${depth}, ${all(depth - 1)})`);
    await policy('p', { validations: [{ expression: all(7) }] });
    await bind('p');
    const { status, body } = await post(configMap('x'));
    assert.equal(status, 422);
    assert.match(body.message, /operation cancelled: actual cost limit exceeded/);
  });
});
