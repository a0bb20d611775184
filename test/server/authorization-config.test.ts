import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { as, Folder, grant, outcome, refusal, rule, user } from '../support/authorization.ts';
import { AuthorizationWebhook } from '../support/authorization-webhook.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** The chain of authorizers of a file, which may change while the server runs (spec section 5.7). */

const nodes = '/api/v1/nodes';
const configMaps = '/api/v1/namespaces/default/configmaps';

interface WebhookOptions {
  readonly failurePolicy?: 'NoOpinion' | 'Deny';
  readonly timeout?: string;
  readonly version?: 'v1' | 'v1beta1';
  readonly conditions?: readonly string[];
}

const hook = (
  name: string,
  file: string,
  { failurePolicy = 'NoOpinion', timeout = '8s', version = 'v1', conditions = [] }: WebhookOptions = {},
) => ({
  type: 'Webhook',
  name,
  webhook: {
    authorizedTTL: '1ms',
    unauthorizedTTL: '1ms',
    timeout,
    subjectAccessReviewVersion: version,
    matchConditionSubjectAccessReviewVersion: 'v1',
    failurePolicy,
    connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: file },
    matchConditions: conditions.map((expression) => ({ expression })),
  },
});

const rbac = { type: 'RBAC', name: 'rbac' };
const node = { type: 'Node', name: 'node' };

const configuration = (...authorizers: readonly object[]): string =>
  JSON.stringify({
    apiVersion: 'apiserver.config.orch.io/v1',
    kind: 'AuthorizationConfiguration',
    authorizers,
  });

describe('match conditions and failures', () => {
  const held = new AsyncDisposableStack();
  const folder = held.use(new Folder());
  let open: AuthorizationWebhook;
  let strict: AuthorizationWebhook;
  let server: OrchProcess;
  const ask = async (name: string, method: string, path: string): Promise<number> =>
    (await outcome(server, method, path, { as: as(name) }))[0];

  before(async () => {
    [open, strict] = await Promise.all([AuthorizationWebhook.start(), AuthorizationWebhook.start()]);
    held.use(open);
    held.use(strict);
    const file = folder.write(
      'authorization.json',
      configuration(
        node,
        hook('first', open.connectionFile(), {
          timeout: '3s',
          version: 'v1beta1',
          conditions: [
            "has(request.resourceAttributes) && request.resourceAttributes.namespace == 'default'",
            "!('system:serviceaccounts' in request.groups)",
            "request.user != 'error' || request.extra['missing'][0] == 'x'",
          ],
        }),
        hook('second', strict.connectionFile(), {
          timeout: '3s',
          failurePolicy: 'Deny',
          conditions: [
            "has(request.resourceAttributes) && request.resourceAttributes.resource == 'nodes'",
            "request.user != 'error' || request.extra['missing'][0] == 'x'",
          ],
        }),
        rbac,
      ),
    );
    const users = { jane: [], joe: [], error: [] };
    server = held.use(await OrchProcess.start({ flags: [`--authorization-config=${file}`, folder.tokens(users)] }));
    await grant(server, 'reads', [rule('get list', 'nodes configmaps')], [user('jane'), user('error')]);
    // The garbage collector's questions would be counted among those of a test.
    const verbs = (): readonly unknown[] => strict.questions.map(({ spec }) => spec['resourceAttributes']?.['verb']);
    await until(() => verbs().includes('list') && verbs().includes('watch'), 'nodes are not followed');
  });
  after(() => held.disposeAsync());

  test('a webhook is asked where all of its conditions are true', async () => {
    assert.equal(await ask('jane', 'GET', configMaps), 200);
    assert.equal(open.of('jane').length, 1);
    assert.equal(open.of('jane')[0]?.apiVersion, 'authorization.orch.io/v1beta1');
    assert.equal(strict.of('jane').length, 0);
    assert.equal(await ask('jane', 'GET', nodes), 200);
    assert.equal(open.of('jane').length, 1);
    assert.equal(strict.of('jane').length, 1);
    assert.equal(await ask('jane', 'GET', '/api'), 200);
    assert.equal(open.of('jane').length + strict.of('jane').length, 2, 'no resource');
    assert.equal(open.of('system:serviceaccount:default:default').length, 0);
  });

  test('the first that decides, decides', async () => {
    open.verdict = () => ({ allowed: true });
    assert.equal(await ask('joe', 'GET', configMaps), 200);
    open.verdict = () => ({ denied: true, reason: 'first' });
    const place = { resource: 'configmaps', namespace: 'default' };
    assert.deepEqual(await outcome(server, 'GET', configMaps, { as: as('jane') }), [
      403,
      `${refusal({ by: 'jane', verb: 'list', ...place })}: first`,
    ]);
    open.verdict = () => ({});
  });

  test('a condition that fails: no opinion, or no', async () => {
    assert.equal(await ask('error', 'GET', configMaps), 200);
    assert.equal(open.of('error').length, 0);
    const sentence = refusal({ by: 'error', verb: 'list', resource: 'nodes' });
    assert.deepEqual(await outcome(server, 'GET', nodes, { as: as('error') }), [403, sentence]);
    assert.equal(strict.of('error').length, 0);
    const { json } = await server.post<{ status: Readonly<Record<string, unknown>> }>(
      '/apis/authorization.orch.io/v1/subjectaccessreviews',
      { spec: { user: 'error', resourceAttributes: { verb: 'list', resource: 'nodes' } } },
    );
    assert.deepEqual([json.status['allowed'], json.status['denied']], [false, true]);
    assert.match(String(json.status['evaluationError']), /^authorization webhook "second": match condition 1 failed: /);
  });

  test('a webhook that is slow, silent or confused: no opinion, or no', async () => {
    const confused = (_: unknown, response: { end(text: string): void }) => response.end('{');
    for (const [what, instead] of [
      ['slow', () => {}],
      ['confused', confused],
    ] as const) {
      open.instead = instead;
      strict.instead = instead;
      assert.equal(await ask('jane', 'GET', configMaps), 200, what);
      const sentence = refusal({ by: 'jane', verb: 'list', resource: 'nodes' });
      assert.deepEqual(await outcome(server, 'GET', nodes, { as: as('jane') }), [403, sentence], what);
    }
    assert.equal((await server.get(nodes)).status, 200, 'masters are not asked about');
    open.instead = undefined;
    strict.instead = undefined;
    assert.equal(await ask('jane', 'GET', nodes), 200);
    const { text } = await server.get('/metrics');
    for (const series of [
      /^apiserver_authorization_webhook_evaluations_total\{name="second",result="timeout"\} 1$/m,
      /^apiserver_authorization_webhook_evaluations_fail_open_total\{name="first",result="timeout"\} 1$/m,
      /^apiserver_authorization_match_condition_evaluation_errors_total\{type="Webhook",name="second"\} [1-9]/m,
      /^apiserver_authorization_match_condition_exclusions_total\{type="Webhook",name="first"\} [1-9]/m,
      /^apiserver_authorization_match_condition_evaluation_seconds_count\{type="Webhook",name="first"\} [1-9]/m,
    ]) {
      assert.match(text, series);
    }
    assert.doesNotMatch(text, /fail_open_total\{name="second"/);
  });

  test('a slow webhook keeps nobody waiting who is not asked about there', async () => {
    strict.instead = () => {};
    const slow = ask('jane', 'GET', nodes);
    let ended = false;
    void slow.then(() => {
      ended = true;
    });
    await until(() => strict.questions.length > 0, 'it is asked');
    assert.equal(await ask('jane', 'GET', configMaps), 200);
    assert.equal((await server.get('/readyz')).status, 200);
    assert.equal(ended, false);
    assert.equal(await slow, 403);
    strict.instead = undefined;
  });
});

describe('a file that changes', () => {
  const held = new AsyncDisposableStack();
  const folder = held.use(new Folder());
  const path = join(folder.path, 'authorization.json');
  let webhook: AuthorizationWebhook;
  let server: OrchProcess;
  let connection: string;
  let other: string;

  before(async () => {
    webhook = held.use(await AuthorizationWebhook.start());
    webhook.verdict = ({ spec }) => ({ allowed: spec.user === 'jane' });
    [connection, other] = [webhook.connectionFile('one'), webhook.connectionFile('two')];
    writeFileSync(path, configuration(hook('hook', connection), rbac));
    const users = { jane: [], joe: [] };
    server = held.use(await OrchProcess.start({ flags: [`--authorization-config=${path}`, folder.tokens(users)] }));
  });
  after(() => held.disposeAsync());

  const reloads = async (status: 'success' | 'failure'): Promise<number> => {
    const { text } = await server.get('/metrics');
    const name = 'apiserver_authorization_config_controller_automatic_reloads_total';
    return Number(
      new RegExp(`^${name}\\{status="${status}",apiserver_id_hash="[^"]*"\\} (\\d+)$`, 'm').exec(text)?.[1],
    );
  };
  const asked = async (): Promise<string | undefined> => {
    await outcome(server, 'GET', nodes, { as: as('jane') });
    return webhook.of('jane').at(-1)?.target;
  };

  test('is in use from one request to the next, and no request is disturbed by it', async () => {
    const answers = new Map<string, number>();
    let going = true;
    const load = async (name: string, method: string, target: string): Promise<void> => {
      while (going) {
        const status = await outcome(server, method, target, { as: as(name) }).then(
          ([code]) => String(code),
          (error) => String(error),
        );
        const key = `${name} ${status}`;
        answers.set(key, (answers.get(key) ?? 0) + 1);
      }
    };
    const running = Array.from({ length: 6 }, (_, index) => [
      load('jane', 'GET', index % 2 ? nodes : configMaps),
      load('joe', 'GET', nodes),
    ]).flat();
    try {
      assert.equal(await asked(), '/authorize?by=one');
      const late = Promise.withResolvers<void>();
      webhook.verdict = async ({ spec }) => {
        if (spec.nonResourceAttributes) await late.promise;
        return { allowed: spec.user === 'jane' };
      };
      const waiting = outcome(server, 'GET', '/metrics', { as: as('jane') });
      for (const [file, expected] of [
        [other, 'two'],
        [connection, 'one'],
      ] as const) {
        writeFileSync(`${path}.new`, configuration(hook('hook', file), rbac));
        renameSync(`${path}.new`, path);
        await until(async () => (await asked()) === `/authorize?by=${expected}`, `${expected} is asked`);
        late.resolve();
        assert.equal((await waiting)[0], 200, 'what was asked before is answered by whom it was asked of');
      }
      await until(() => (answers.get('jane 200') ?? 0) > 100, 'many are answered');
    } finally {
      going = false;
      await Promise.all(running);
    }
    assert.deepEqual([...answers.keys()].sort(), ['jane 200', 'joe 403'], JSON.stringify([...answers]));
    assert.equal(await reloads('success'), 3);
    assert.equal(await reloads('failure'), Number.NaN);
    await until(async () => (await webhook.fixture.open()) <= 4, 'connections of chains that are gone are closed');
  });

  test('that is wrong changes nothing, and is reported', async () => {
    const failures = async (): Promise<number> => (await reloads('failure')) || 0;
    for (const [what, content, problem] of [
      ['no YAML', '{', /authorization configuration is not reloaded/],
      ['RBAC is gone', configuration(hook('hook', connection)), /the types RBAC must stay/],
      ['Node comes', configuration(node, hook('hook', connection), rbac), /Node is not allowed/],
    ] as const) {
      const before = await failures();
      writeFileSync(path, content);
      await until(async () => (await failures()) > before, `${what} is noticed`);
      assert.equal((await outcome(server, 'GET', nodes, { as: as('jane') }))[0], 200, what);
      assert.equal((await outcome(server, 'GET', nodes, { as: as('joe') }))[0], 403, what);
      assert.match(server.log, problem);
    }
    const { text } = await server.get('/metrics');
    assert.match(
      text,
      /^apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds\{status="failure"/m,
    );
    writeFileSync(path, configuration(hook('hook', connection, { conditions: ["request.user == 'joe'"] }), rbac));
    await until(async () => (await outcome(server, 'GET', nodes, { as: as('jane') }))[0] === 403, 'mended');
    assert.equal((await outcome(server, 'GET', '/api', { as: as('jane') }))[0], 200, 'RBAC is asked still');
  });
});
