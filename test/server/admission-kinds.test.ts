import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { as, Folder, grant, make, outcome, rule, user } from '../support/authorization.ts';
import { OrchProcess, type RequestOptions } from '../support/orch-process.ts';

/** Webhook configurations and policies as objects: what clients send, and what they get back. */

const held = new AsyncDisposableStack();
const folder = held.use(new Folder());
let server: OrchProcess;

const group = 'admissionregistration.orch.io';
const path = (resource: string, name = ''): string => `/apis/${group}/v1/${resource}${name === '' ? '' : `/${name}`}`;
const object = (kind: string, name: string, rest: object) => ({
  apiVersion: `${group}/v1`,
  kind,
  metadata: { name },
  ...rest,
});
const merge = { 'content-type': 'application/merge-patch+json' };

const policies = 'validatingadmissionpolicies';
const bindings = 'validatingadmissionpolicybindings';
const rules = {
  resourceRules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
};
const policy = (name: string, spec: object = {}) =>
  object('ValidatingAdmissionPolicy', name, {
    spec: { matchConstraints: rules, validations: [{ expression: "object.data.a == '1'" }], ...spec },
  });
const binding = (name: string, spec: object) =>
  object('ValidatingAdmissionPolicyBinding', name, { spec: { validationActions: ['Audit'], ...spec } });

before(async () => {
  server = held.use(await OrchProcess.start({ flags: [folder.tokens({ ann: [], bob: [] })] }));
  const all = `${policies} ${bindings}`;
  const writes = rule('get create update patch', all, { group });
  await grant(server, 'ann', [writes], [user('ann')]);
  await grant(server, 'bob', [writes, rule('get', 'configmaps')], [user('bob')]);
});
after(() => held.disposeAsync());

const created = async (where: string, body: object): Promise<ApiObject> =>
  (await make(server, where, body)) as unknown as ApiObject;

const says = (name: string | undefined, method: string, where: string, options: RequestOptions) =>
  outcome(server, method, where, { ...options, ...(name !== undefined && { as: as(name) }) });

for (const [kind, resource] of [
  ['ValidatingWebhookConfiguration', 'validatingwebhookconfigurations'],
  ['MutatingWebhookConfiguration', 'mutatingwebhookconfigurations'],
] as const) {
  const webhook = {
    name: 'a.example.com',
    clientConfig: { service: { namespace: 'n', name: 's' } },
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  };

  describe(kind, () => {
    test('defaults, generation, and changes of one webhook by its name', async () => {
      const made = await created(
        path(resource),
        object(kind, 'one', { webhooks: [webhook, { ...webhook, name: 'b.example.com' }] }),
      );
      const [first] = made['webhooks'] as Record<string, unknown>[];
      assert.deepEqual(first, {
        ...webhook,
        clientConfig: { service: { namespace: 'n', name: 's', port: 443 } },
        failurePolicy: 'Fail',
        matchPolicy: 'Equivalent',
        namespaceSelector: {},
        objectSelector: {},
        timeoutSeconds: 10,
        ...(kind.startsWith('Mutating') && { reinvocationPolicy: 'Never' }),
      });
      assert.equal(made.metadata.generation, 1);
      const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
      const body = { webhooks: [{ name: 'b.example.com', timeoutSeconds: 3 }] };
      const { json } = await server.request('PATCH', path(resource, 'one'), { body, headers: strategic });
      const changed = json as ApiObject;
      assert.deepEqual(
        (changed['webhooks'] as { name: string; timeoutSeconds: number }[]).map(({ name, timeoutSeconds }) => [
          name,
          timeoutSeconds,
        ]),
        [
          ['a.example.com', 10],
          ['b.example.com', 3],
        ],
      );
      assert.equal(changed.metadata.generation, 2);
    });

    test('errors name the field, those of expressions too', async () => {
      const wrong = { ...webhook, timeoutSeconds: 31, matchConditions: [{ name: 'c', expression: 'object.x' }] };
      const [status, message] = await says(undefined, 'POST', path(resource), {
        body: object(kind, 'two', { webhooks: [wrong] }),
      });
      assert.equal(status, 422);
      assert.match(message ?? '', /webhooks\[0\]\.timeoutSeconds: Invalid value: 31: /);
      assert.match(
        message ?? '',
        /webhooks\[0\]\.matchConditions\[0\]\.expression: Invalid value: "object\.x": must evaluate to bool but got dyn/,
      );
    });
  });
}

describe('ValidatingAdmissionPolicy', () => {
  test('the status has an endpoint of its own', async () => {
    const made = await created(path(policies), { ...policy('status'), status: { observedGeneration: 9 } });
    assert.deepEqual([made['status'], made.metadata.generation], [{}, 1]);
    const body = {
      metadata: { labels: { a: 'b' } },
      spec: { failurePolicy: 'Ignore' },
      status: { observedGeneration: 1, typeChecking: {} },
    };
    const { json } = await server.request('PATCH', `${path(policies, 'status')}/status`, { body, headers: merge });
    const { spec, status, metadata } = json as ApiObject & { spec: { failurePolicy: string } };
    assert.deepEqual(
      [spec.failurePolicy, status, metadata.labels, metadata.generation],
      ['Fail', { observedGeneration: 1, typeChecking: {} }, undefined, 1],
    );
  });

  test('who writes a policy may read the objects of its paramKind', async () => {
    const spec = { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } };
    const [status, message] = await says('ann', 'POST', path(policies), { body: policy('ann', spec) });
    assert.equal(status, 422);
    assert.match(
      message ?? '',
      /spec\.paramKind: Forbidden: user .* must have "get" permission on all objects of the referenced paramKind \(kind=ConfigMap, apiVersion=v1\)$/,
    );
    assert.equal((await says('ann', 'POST', path(policies), { body: policy('ann') }))[0], 201);
    assert.equal((await says('ann', 'PATCH', path(policies, 'ann'), { body: { spec }, headers: merge }))[0], 422);
    assert.equal((await says('bob', 'POST', path(policies), { body: policy('bob', spec) }))[0], 201);
  });

  test('who writes a binding may read what its paramRef names, whatever the size of the object', async () => {
    const spec = {
      policyName: 'bound',
      paramRef: { name: 'x', namespace: 'default', parameterNotFoundAction: 'Deny' },
    };
    await make(server, path(policies), policy('bound', { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } }));
    const large = Array.from({ length: 20_000 }, (_, index) => `name-${index}`);
    const matchResources = { resourceRules: [{ ...rules.resourceRules[0], resourceNames: large }] };
    for (const [name, more] of [
      ['small', {}],
      ['large', { matchResources }],
    ] as const) {
      const body = binding(name, { ...spec, ...more });
      const [status, message] = await says('ann', 'POST', path(bindings), { body });
      assert.equal(status, 422);
      assert.match(
        message ?? '',
        /spec\.paramRef: Forbidden: user .* does not have "get" permission on the object referenced by paramRef$/,
      );
      assert.equal((await says('bob', 'POST', path(bindings), { body }))[0], 201);
    }
  });
});
