import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { as, Folder, grant, outcome, pathRefusal, refusal, rule, user } from '../support/authorization.ts';
import { AuthorizationWebhook } from '../support/authorization-webhook.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** The authorizers that flags name, in their order (spec section 5.7). */

const configMaps = '/api/v1/namespaces/default/configmaps';
const nodes = '/api/v1/nodes';
const reviews = '/apis/authorization.orch.io/v1';

interface Chain {
  readonly server: OrchProcess;
  readonly ask: (name: string, method: string, path: string) => Promise<number>;
}

/** A server with these flags, for tests that come in one describe. */
function serverWith(held: AsyncDisposableStack, flags: () => readonly string[]): Chain {
  let started: OrchProcess;
  before(async () => {
    started = held.use(await OrchProcess.start({ flags: flags() }));
  });
  after(() => held.disposeAsync());
  return {
    get server() {
      return started;
    },
    ask: (name, method, path) =>
      outcome(started, method, path, { as: name === 'anonymous' ? 'anonymous' : as(name) }).then(([status]) => status),
  };
}

const users = { jane: ['dev'], joe: [], root: ['system:masters'] };

describe('AlwaysDeny', () => {
  const held = new AsyncDisposableStack();
  const folder = held.use(new Folder());
  const chain = serverWith(held, () => ['--authorization-mode=AlwaysDeny', folder.tokens(users)]);

  test('refuses everybody everything, and says so', async () => {
    const { server } = chain;
    for (const [shown, by] of [
      [as('jane'), 'jane'],
      ['anonymous', 'system:anonymous'],
    ] as const) {
      for (const path of ['/version', '/readyz', '/api', '/apis', '/openapi/v3', '/']) {
        const message = `${pathRefusal(by, 'get', path)}: Everything is forbidden.`;
        assert.deepEqual(await outcome(server, 'GET', path, { as: shown }), [403, message]);
      }
      const message = `${refusal({ by, verb: 'list', resource: 'nodes' })}: Everything is forbidden.`;
      assert.deepEqual(await outcome(server, 'GET', nodes, { as: shown }), [403, message]);
    }
  });

  test('but for the masters', async () => {
    assert.equal((await chain.server.get(nodes)).status, 200);
    assert.equal(await chain.ask('root', 'GET', nodes), 200);
  });
});

describe('AlwaysAllow', () => {
  const held = new AsyncDisposableStack();
  const folder = held.use(new Folder());
  const chain = serverWith(held, () => ['--authorization-mode=AlwaysAllow', folder.tokens(users)]);

  test('lets everybody who is known do everything', async () => {
    assert.equal(await chain.ask('jane', 'GET', nodes), 200);
    assert.equal(await chain.ask('jane', 'GET', '/metrics'), 200);
    assert.equal(await chain.ask('jane', 'GET', `${configMaps}/absent`), 404);
    const everything = { metadata: { name: 'all' }, rules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }] };
    const path = '/apis/rbac.authorization.orch.io/v1/clusterroles';
    const { status } = await chain.server.post(path, everything, { as: as('jane') });
    assert.equal(status, 201, 'escalate is allowed as well');
  });

  test('is nothing for people who are not known', async () => {
    assert.equal(await chain.ask('anonymous', 'GET', nodes), 401);
  });
});

describe('an order of modes', () => {
  const held = new AsyncDisposableStack();
  const folder = held.use(new Folder());
  const chain = serverWith(held, () => ['--authorization-mode=AlwaysDeny,RBAC', folder.tokens(users)]);

  test('AlwaysDeny has no opinion: those behind it are asked', async () => {
    assert.equal(await chain.ask('jane', 'GET', '/api'), 200);
    assert.equal(await chain.ask('jane', 'GET', nodes), 403);
    await grant(chain.server, 'nodes', [rule('list', 'nodes')], [user('jane')]);
    assert.equal(await chain.ask('jane', 'GET', nodes), 200);
    const message = `${refusal({ by: 'joe', verb: 'list', resource: 'nodes' })}: Everything is forbidden.`;
    assert.deepEqual(await outcome(chain.server, 'GET', nodes, { as: as('joe') }), [403, message]);
  });
});

describe('ABAC', () => {
  const held = new AsyncDisposableStack();
  const folder = held.use(new Folder());
  const policy = (spec: object): string =>
    JSON.stringify({ apiVersion: 'abac.authorization.orch.io/v1beta1', kind: 'Policy', spec });
  const lines = [
    '# who may do what',
    policy({ user: 'jane', namespace: 'default', resource: 'configmaps', apiGroup: '' }),
    policy({ group: 'dev', namespace: '*', resource: 'nodes', apiGroup: '*', readonly: true }),
    policy({ user: 'joe', group: 'dev', namespace: '*', resource: '*', apiGroup: '*' }),
    '',
    policy({ user: '*', nonResourcePath: '/api*', readonly: true }),
    policy({ group: 'system:unauthenticated', nonResourcePath: '/version', readonly: true }),
  ];
  const chain = serverWith(held, () => [
    '--authorization-mode=ABAC',
    `--authorization-policy-file=${folder.write('policies.jsonl', lines.join('\n'))}`,
    folder.tokens(users),
  ]);

  test('allows what a line allows, and nothing else', async () => {
    for (const [name, method, path, expected] of [
      ['jane', 'GET', configMaps, 200],
      ['jane', 'GET', `${configMaps}/absent`, 404],
      ['jane', 'DELETE', `${configMaps}/absent`, 404],
      ['jane', 'DELETE', `${configMaps}?labelSelector=no%3Dne`, 200],
      ['jane', 'GET', '/api/v1/namespaces/other/configmaps', 403],
      ['jane', 'GET', '/api/v1/configmaps', 403],
      ['jane', 'GET', '/api/v1/namespaces/default/secrets', 403],
      ['jane', 'GET', nodes, 200],
      ['jane', 'GET', `${nodes}/absent/status`, 404],
      ['jane', 'DELETE', `${nodes}/absent`, 403],
      ['joe', 'GET', nodes, 403],
      ['joe', 'GET', configMaps, 403],
      ['joe', 'GET', '/apis', 200],
      ['joe', 'GET', '/version', 403],
      ['joe', 'POST', '/api', 403],
      ['anonymous', 'GET', '/apis', 403],
      ['anonymous', 'GET', '/version', 200],
      ['anonymous', 'GET', '/readyz', 403],
      ['root', 'DELETE', `${nodes}/absent`, 404],
    ] as const) {
      assert.equal(await chain.ask(name, method, path), expected, `${name} ${method} ${path}`);
    }
  });

  test('roles mean nothing then', async () => {
    await grant(chain.server, 'secrets', [rule('list', 'secrets')], [user('jane')]);
    assert.equal(await chain.ask('jane', 'GET', '/api/v1/namespaces/default/secrets'), 403);
  });
});

describe('Webhook', () => {
  const held = new AsyncDisposableStack();
  const folder = held.use(new Folder());
  let webhook: AuthorizationWebhook;
  before(async () => {
    webhook = held.use(await AuthorizationWebhook.start());
  });
  const chain = serverWith(held, () => [...webhook.flagsBeforeRbac(), folder.tokens({ ...users, extra: [] })]);
  const asked = async (run: () => Promise<unknown>): Promise<readonly unknown[]> => {
    webhook.questions.length = 0;
    await run();
    return webhook.questions.filter(({ spec }) => !spec.user.startsWith('system:')).map(({ spec }) => spec);
  };

  test('is asked by v1beta1 unless told otherwise, with the certificate, at exactly the address', async () => {
    webhook.verdict = () => ({ allowed: true });
    webhook.questions.length = 0;
    assert.equal(await chain.ask('jane', 'GET', `${configMaps}/absent`), 404);
    const [question] = webhook.of('jane');
    assert.deepEqual([question?.apiVersion, question?.kind], ['authorization.orch.io/v1beta1', 'SubjectAccessReview']);
    assert.equal(question?.target, '/authorize?by=authorization.kubeconfig');
    assert.equal(question?.certificate, 'orch-asks');
    assert.equal(question?.headers['authorization'], undefined);
    assert.deepEqual(question?.spec, {
      resourceAttributes: {
        namespace: 'default',
        verb: 'get',
        version: 'v1',
        resource: 'configmaps',
        name: 'absent',
      },
      user: 'jane',
      group: ['dev', 'system:authenticated'],
    });
  });

  test('is told everything that is known of the request', async () => {
    webhook.verdict = () => ({ allowed: true });
    const group = ['dev', 'system:authenticated'];
    const selectors = '?fieldSelector=metadata.name%3Da&labelSelector=b+in+(c,d),!e';
    assert.deepEqual(await asked(() => chain.ask('jane', 'GET', '/openapi/v2')), [
      { nonResourceAttributes: { path: '/openapi/v2', verb: 'get' }, user: 'jane', group },
    ]);
    assert.deepEqual(await asked(() => chain.ask('jane', 'DELETE', `${configMaps}${selectors}`)), [
      {
        resourceAttributes: {
          namespace: 'default',
          verb: 'deletecollection',
          version: 'v1',
          resource: 'configmaps',
          fieldSelector: { requirements: [{ key: 'metadata.name', operator: 'In', values: ['a'] }] },
          labelSelector: {
            requirements: [
              { key: 'b', operator: 'In', values: ['c', 'd'] },
              { key: 'e', operator: 'DoesNotExist' },
            ],
          },
        },
        user: 'jane',
        group,
      },
    ]);
    assert.deepEqual(await asked(() => chain.ask('jane', 'GET', `${nodes}/n/status`)), [
      {
        resourceAttributes: { verb: 'get', version: 'v1', resource: 'nodes', subresource: 'status', name: 'n' },
        user: 'jane',
        group,
      },
    ]);
  });

  test('is not asked about masters', async () => {
    webhook.verdict = () => ({ denied: true });
    webhook.questions.length = 0;
    assert.equal(await chain.ask('root', 'GET', nodes), 200);
    assert.equal((await chain.server.get(nodes)).status, 200);
    assert.deepEqual([...webhook.of('root'), ...webhook.of('orch-admin')], []);
  });

  test('decides: allowed, denied with its reason, or those behind it', async () => {
    const { server } = chain;
    const sentence = refusal({ by: 'jane', verb: 'list', resource: 'nodes' });
    const ask = () => outcome(server, 'GET', nodes, { as: as('jane') });
    webhook.verdict = () => ({ allowed: true, reason: 'as you like' });
    assert.equal((await ask())[0], 200);
    webhook.verdict = () => ({ allowed: false, reason: 'who is that?' });
    assert.deepEqual(await ask(), [403, `${sentence}: who is that?`]);
    await grant(server, 'nodes', [rule('list', 'nodes')], [user('jane')]);
    assert.equal((await ask())[0], 200, 'RBAC is asked');
    webhook.verdict = () => ({ denied: true, reason: 'never' });
    assert.deepEqual(await ask(), [403, `${sentence}: never`]);
  });

  test('that lies, redirects or breaks has no opinion, and clients do not learn where it is', async () => {
    const { server } = chain;
    let elsewhere = 0;
    const other = held.use(await AuthorizationWebhook.start());
    other.verdict = () => {
      elsewhere++;
      return { allowed: true };
    };
    const target = `https://127.0.0.1:${other.port}/authorize`;
    const json = (status: object, more: object = {}): string =>
      JSON.stringify({ apiVersion: 'authorization.orch.io/v1beta1', kind: 'SubjectAccessReview', status, ...more });
    type Reply = NonNullable<AuthorizationWebhook['instead']>;
    const body =
      (text: string, code = 200): Reply =>
      (_, response) => {
        response.statusCode = code;
        response.end(text);
      };
    const rows: Readonly<Record<string, Reply>> = {
      'a redirect': (_, response) => response.writeHead(307, { location: target }).end(),
      'a permanent redirect': (_, response) =>
        response.writeHead(308, { location: target }).end(json({ allowed: true })),
      'a redirect by GET': (_, response) => response.writeHead(303, { location: target }).end(),
      'an error that looks like an answer': body(json({ allowed: true }), 403),
      'an error without more': body('', 502),
      'no JSON': body('allowed: true'),
      'half of it': body(json({ allowed: true }).slice(0, -5)),
      'another kind': body(json({ allowed: true }, { kind: 'TokenReview' })),
      'another version': body(json({ allowed: true }, { apiVersion: 'authorization.orch.io/v1' })),
      'a text for a truth': body(json({ allowed: 'true' })),
      'a status twice': body(json({ allowed: true }).replace('"status"', '"status":{"denied":true},"status"')),
      'a list': body('[]'),
      'too much': body(json({ allowed: true, reason: 'x'.repeat(2 << 20) })),
    };
    await server.delete('/apis/rbac.authorization.orch.io/v1/clusterrolebindings/nodes');
    const sentence = refusal({ by: 'jane', verb: 'list', resource: 'nodes' });
    for (const [what, instead] of Object.entries(rows)) {
      webhook.instead = instead;
      assert.deepEqual(await outcome(server, 'GET', nodes, { as: as('jane') }), [403, sentence], what);
      assert.equal((await outcome(server, 'GET', '/api', { as: as('jane') }))[0], 200, `${what}: RBAC is asked`);
    }
    webhook.instead = undefined;
    assert.equal(elsewhere, 0, 'the other one was asked');
  });

  test('says both: that is no', async () => {
    webhook.verdict = () => ({ allowed: true, denied: true });
    assert.equal(await chain.ask('jane', 'GET', '/api'), 403);
  });

  test('its failures are seen in reviews, metrics and the log', async () => {
    const { server } = chain;
    webhook.instead = (_, response) => response.writeHead(418).end();
    const review = async (path: string, spec: object) => {
      const { json } = await server.post<{ status: Readonly<Record<string, unknown>> }>(`${reviews}/${path}`, { spec });
      return json.status;
    };
    assert.deepEqual(await review('subjectaccessreviews', { user: 'jane', nonResourceAttributes: { path: '/x' } }), {
      allowed: false,
      evaluationError: 'authorization webhook "default": it answered with status 418',
    });
    webhook.instead = undefined;
    webhook.verdict = () => ({ allowed: false, reason: 'why not', evaluationError: 'half of it is missing' });
    assert.deepEqual(await review('subjectaccessreviews', { user: 'jane', nonResourceAttributes: { path: '/x' } }), {
      allowed: false,
      reason: 'why not',
      evaluationError: 'half of it is missing',
    });
    const rules = await review('selfsubjectrulesreviews', { namespace: 'default' });
    assert.equal(rules['incomplete'], true);
    assert.equal(rules['evaluationError'], 'webhook authorizer does not support user rule resolution');
    const { text } = await server.get('/metrics');
    for (const series of [
      /^apiserver_authorization_decisions_total\{type="Webhook",name="default",decision="allowed"\} [1-9]/m,
      /^apiserver_authorization_decisions_total\{type="Webhook",name="default",decision="denied"\} [1-9]/m,
      /^apiserver_authorization_decisions_total\{type="RBAC",name="rbac",decision="allowed"\} [1-9]/m,
      /^apiserver_authorization_webhook_evaluations_total\{name="default",result="success"\} [1-9]/m,
      /^apiserver_authorization_webhook_evaluations_total\{name="default",result="error"\} [1-9]/m,
      /^apiserver_authorization_webhook_evaluations_fail_open_total\{name="default",result="error"\} [1-9]/m,
      /^apiserver_authorization_webhook_duration_seconds_count\{name="default",result="success"\} [1-9]/m,
    ]) {
      assert.match(text, series);
    }
    assert.match(server.log, /an authorization webhook fails/);
  });

  test('is asked again by the next request, after it was away', async () => {
    const { server } = chain;
    webhook.verdict = () => ({ allowed: true });
    webhook.instead = (_, response) => response.destroy();
    const waiting = outcome(server, 'GET', nodes, { as: as('joe') });
    await until(() => webhook.of('joe').length > 0, 'it is asked');
    webhook.instead = undefined;
    assert.equal((await waiting)[0], 200, 'a connection that breaks is tried again');
    assert.equal(await chain.ask('joe', 'GET', nodes), 200);
  });
});

describe('Webhook by v1, with answers that are kept', () => {
  const held = new AsyncDisposableStack();
  const folder = held.use(new Folder());
  let webhook: AuthorizationWebhook;
  before(async () => {
    webhook = held.use(await AuthorizationWebhook.start());
  });
  const chain = serverWith(held, () => [
    '--authorization-mode=RBAC,Webhook',
    `--authorization-webhook-config-file=${webhook.connectionFile()}`,
    '--authorization-webhook-version=v1',
    folder.tokens(users),
  ]);

  test('is asked only about what those before it do not decide', async () => {
    assert.equal(await chain.ask('jane', 'GET', '/api'), 200);
    assert.deepEqual(webhook.of('jane'), []);
    assert.equal(await chain.ask('jane', 'GET', nodes), 403);
    const [question] = webhook.of('jane');
    assert.equal(question?.apiVersion, 'authorization.orch.io/v1');
    assert.deepEqual(question?.spec['groups'], ['dev', 'system:authenticated']);
    assert.equal(question?.spec['group'], undefined);
  });

  test('answers are kept for each question, refusals too', async () => {
    webhook.verdict = ({ spec }) => ({ allowed: spec.user === 'joe' });
    webhook.questions.length = 0;
    for (let round = 0; round < 5; round++) {
      assert.equal(await chain.ask('joe', 'GET', nodes), 200);
      assert.equal(await chain.ask('jane', 'GET', `${nodes}/x`), 403);
    }
    assert.equal(webhook.of('joe').length, 1);
    assert.equal(webhook.of('jane').length, 1);
    assert.equal(await chain.ask('joe', 'GET', `${nodes}?labelSelector=a%3Db`), 200);
    assert.equal(webhook.of('joe').length, 2, 'another selector is another question');
    const at = { resourceAttributes: { verb: 'list', version: 'v1', resource: 'nodes' } };
    const review = async (spec: object) =>
      (
        await chain.server.post<{ status: { allowed: boolean } }>(`${reviews}/subjectaccessreviews`, {
          spec: { ...at, ...spec },
        })
      ).json.status.allowed;
    assert.equal(await review({ user: 'joe', groups: ['system:authenticated'], uid: 'another' }), true);
    assert.equal(webhook.of('joe').length, 3, 'another uid is another user');
  });

  test('many who ask the same at once are one question', async () => {
    webhook.questions.length = 0;
    webhook.verdict = () => ({ allowed: true });
    const path = '/api/v1/namespaces/default/secrets';
    const asked = Array.from({ length: 40 }, () => chain.ask('joe', 'GET', path));
    assert.deepEqual(new Set(await Promise.all(asked)), new Set([200]));
    assert.equal(webhook.of('joe').length, 1);
  });

  test('that does not answer: nothing that the others do not allow', async () => {
    webhook.instead = (_, response) => response.writeHead(503).end();
    const message = refusal({ by: 'jane', verb: 'delete', resource: 'nodes', name: 'n' });
    assert.deepEqual(await outcome(chain.server, 'DELETE', `${nodes}/n`, { as: as('jane') }), [403, message]);
    assert.equal(await chain.ask('jane', 'GET', '/api'), 200);
    assert.equal(await chain.ask('joe', 'GET', nodes), 200, 'what was answered holds');
    await until(() => /an authorization webhook fails/.test(chain.server.log), 'the log has it');
  });
});
