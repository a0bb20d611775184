import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemFiles } from '../base/files.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { Metrics } from '../base/metrics.ts';
import { systemRandom } from '../base/random.ts';
import { ManualClock } from '../base/time/clock.ts';
import { orch } from '../dialect/orch.ts';
import { abacAuthorizer } from './abac/abac-authorizer.ts';
import { authorizationMetrics } from './authorization-metrics.ts';
import type { Authorizer, Decision } from './authorizer.ts';
import { buildAuthorizers, type ChainParts } from './authorizer-chain.ts';
import type { AuthorizerSpec } from './configuration/authorizer-spec.ts';
import { makeUser, readQuestion } from './rbac/rbac-objects-fixture.ts';
import { ReloadableAuthorizer } from './reloadable-authorizer.ts';
import { noRules, type RuleResolver } from './rule-resolver.ts';
import { answer, ScriptedWebhook, settle } from './webhook/scripted-webhook-fixture.ts';

const jane = makeUser('jane', 'dev');
const root = makeUser('root', 'system:masters');
const pods = readQuestion('get pods team x');

const saying = (reason: string, verdict: Decision['verdict'] = 'noOpinion'): Authorizer & RuleResolver => ({
  authorize: () => ({ verdict, reason }),
  rulesFor: () => ({ ...noRules, errors: [reason] }),
});

interface World {
  readonly parts: ChainParts;
  readonly metrics: Metrics;
  readonly clock: ManualClock;
  readonly webhooks: ScriptedWebhook[];
  readonly logged: string[];
}

function world(script: ScriptedWebhook['script'], parts: Partial<ChainParts> = {}): World {
  const metrics = new Metrics();
  const clock = new ManualClock();
  const webhooks: ScriptedWebhook[] = [];
  const logged: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    error: (message, fields) => logged.push(`${message}: ${fields?.['error']}`),
  };
  return {
    metrics,
    clock,
    webhooks,
    logged,
    parts: {
      rbac: saying('rbac'),
      webhookSender: () => {
        const webhook = new ScriptedWebhook(script);
        webhooks.push(webhook);
        return webhook;
      },
      dialect: orch,
      clock,
      random: systemRandom,
      logger,
      metrics: authorizationMetrics(metrics),
      ...parts,
    },
  };
}

const hook = (name: string): AuthorizerSpec => ({
  type: 'Webhook',
  name,
  connection: { type: 'inCluster' },
  version: 'v1',
  timeoutMs: 1_000,
  authorizedTtlMs: 1_000,
  unauthorizedTtlMs: 1_000,
  failurePolicy: 'NoOpinion',
});

/** The values of a metric by labels. */
function seriesOf(metrics: Metrics, name: string): Record<string, number> {
  const lines = metrics
    .render()
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`));
  return Object.fromEntries(
    lines.map((line) => {
      const [, labels = '', value = ''] = /\{(.*)\} (.*)$/.exec(line) ?? [];
      return [labels, Number(value)];
    }),
  );
}

describe('a chain', () => {
  it('allows masters first, then calls its authorizers in order and counts their decisions', async () => {
    const { parts, metrics, webhooks } = world(() => answer({ denied: true }), {
      node: saying('node'),
      abac: abacAuthorizer([]),
    });
    const specs: readonly AuthorizerSpec[] = [
      { type: 'RBAC', name: 'rbac' },
      { type: 'Node', name: 'node' },
      { type: 'ABAC', name: 'abac' },
      { type: 'AlwaysDeny', name: 'no' },
      hook('hook'),
      { type: 'AlwaysAllow', name: 'yes' },
    ];
    const chain = await buildAuthorizers(specs, parts);
    assert.deepEqual(chain.authorize(pods, root), { verdict: 'allow', reason: '' });
    assert.equal((await chain.authorize(pods, jane)).verdict, 'deny');
    assert.equal(webhooks[0]?.bodies.length, 1);
    assert.deepEqual(await chain.rulesFor(jane, 'team'), {
      resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: [] }],
      pathRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
      incomplete: true,
      errors: ['rbac', 'node', 'webhook authorizer does not support user rule resolution'],
    });
    const open = await buildAuthorizers([...specs.slice(0, 4), ...specs.slice(5)], parts);
    assert.equal((await open.authorize(pods, jane)).verdict, 'allow');
    assert.equal((await open.authorize(pods, jane)).verdict, 'allow');
    const expected = {
      'type="Webhook",name="hook",decision="denied"': 1,
      'type="AlwaysAllow",name="yes",decision="allowed"': 2,
    };
    assert.deepEqual(seriesOf(metrics, 'apiserver_authorization_decisions_total'), expected);
    assert.deepEqual(seriesOf(metrics, 'apiserver_authorization_decisions_total'), expected, 'counted once');
    open.close();
    assert.equal(webhooks[0]?.closed, 0);
    chain.close();
    assert.equal(webhooks[0]?.closed, 1);
  });

  it('without a decision has the reasons of all', async () => {
    const { parts } = world(() => answer({ reason: 'hook' }), { abac: abacAuthorizer([]) });
    const chain = await buildAuthorizers(
      [{ type: 'RBAC', name: 'r' }, { type: 'ABAC', name: 'a' }, { type: 'AlwaysDeny', name: 'd' }, hook('h')],
      parts,
    );
    assert.deepEqual(await chain.authorize(pods, jane), {
      verdict: 'noOpinion',
      reason: 'rbac\nNo policy matched.\nEverything is forbidden.\nhook',
    });
    chain.close();
  });

  for (const type of ['RBAC', 'Node', 'ABAC'] as const) {
    it(`cannot have ${type} if the server has not prepared it, and leaves nothing open`, async () => {
      const { parts, webhooks } = world(() => 'silence', { rbac: undefined });
      await assert.rejects(
        buildAuthorizers([hook('a'), { type, name: 'x' }], parts),
        new RegExp(`authorizer type ${type} is not allowed`),
      );
      assert.equal(webhooks[0]?.closed, 1);
    });
  }
});

const documentOf = (...authorizers: readonly object[]): Buffer =>
  Buffer.from(
    JSON.stringify({ apiVersion: 'apiserver.config.orch.io/v1', kind: 'AuthorizationConfiguration', authorizers }),
  );

const rbac = { type: 'RBAC', name: 'rbac' };
const hookOf = (name: string) => ({
  type: 'Webhook',
  name,
  webhook: {
    timeout: '1s',
    subjectAccessReviewVersion: 'v1',
    matchConditionSubjectAccessReviewVersion: 'v1',
    failurePolicy: 'Deny',
    connectionInfo: { type: 'InClusterConfig' },
  },
});

async function openReloadable(script: ScriptedWebhook['script'], content: Buffer, parts: Partial<ChainParts> = {}) {
  const made = world(script, parts);
  const authorizer = await ReloadableAuthorizer.open(
    {
      file: '/etc/authz.yaml',
      dialect: orch,
      files: systemFiles,
      loadCel: () => Promise.reject(new Error('no expressions here')),
      build: (specs) => buildAuthorizers(specs, made.parts),
      clock: made.clock,
      logger: made.parts.logger,
      metrics: made.metrics,
      serverId: 'server-1',
    },
    content,
  );
  return { ...made, authorizer };
}

/** Numbers of successful and failed reloads. */
const reloads = (metrics: Metrics): Record<string, number> =>
  Object.fromEntries(
    Object.entries(seriesOf(metrics, 'apiserver_authorization_config_controller_automatic_reloads_total')).map(
      ([labels, value]) => [/status="(\w+)"/.exec(labels)?.[1] ?? '', value],
    ),
  );

describe('a configuration that changes', () => {
  it('takes effect for the next request', async () => {
    const { authorizer, metrics, clock } = await openReloadable(() => 'silence', documentOf(rbac));
    assert.deepEqual(authorizer.authorize(pods, jane), { verdict: 'noOpinion', reason: 'rbac' });
    assert.deepEqual(reloads(metrics), { success: 1 });
    clock.advance(5_000);
    await authorizer.reload(documentOf(rbac, { type: 'AlwaysAllow', name: 'yes' }));
    assert.deepEqual(authorizer.authorize(pods, jane), { verdict: 'allow', reason: '' });
    assert.deepEqual(reloads(metrics), { success: 2 });
    const last = seriesOf(metrics, 'apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds');
    assert.deepEqual(Object.values(last), [clock.now() / 1000]);
    assert.match(Object.keys(last)[0] ?? '', /^status="success",apiserver_id_hash="sha256:[0-9a-f]{64}"$/);
    authorizer.close();
  });

  const bad: readonly (readonly [name: string, content: Buffer, problem: RegExp])[] = [
    ['no YAML', Buffer.from('{]'), /error/],
    ['a faulty document', documentOf(rbac, { type: 'RBAC' }), /authorizers\[1\].type: Duplicate value/],
    ['no document', Buffer.from(''), /expected an object of kind/],
    ['without a type present at startup', documentOf(hookOf('a')), /the types RBAC must stay/],
    [
      'with a type that was not prepared at startup',
      documentOf(rbac, { type: 'Node', name: 'node' }),
      /authorizer type Node is not allowed/,
    ],
    ['with a webhook that cannot be built', documentOf(rbac, hookOf('broken')), /no such connection/],
  ];
  for (const [name, content, problem] of bad) {
    it(`${name}: the previous one stays in use, and the failure is reported`, async () => {
      let builds = 0;
      const sender = new ScriptedWebhook(() => answer({ allowed: true }));
      const { authorizer, metrics, logged } = await openReloadable(() => 'silence', documentOf(rbac, hookOf('a')), {
        webhookSender: () => {
          builds += 1;
          if (builds > 1) throw new Error('no such connection');
          return sender;
        },
      });
      await authorizer.reload(content);
      assert.equal(logged.length, 1);
      assert.match(logged[0] ?? '', problem);
      assert.deepEqual(reloads(metrics), { success: 1, failure: 1 });
      assert.equal((await authorizer.authorize(pods, jane)).verdict, 'allow');
      assert.equal(sender.closed, 0);
      authorizer.close();
      assert.equal(sender.closed, 1);
    });
  }

  it('to an equivalent chain changes nothing', async () => {
    const { authorizer, metrics, webhooks } = await openReloadable(() => 'silence', documentOf(rbac, hookOf('a')));
    await authorizer.reload(Buffer.from(`# new\n${documentOf(rbac, hookOf('a'))}`));
    assert.equal(webhooks.length, 1);
    assert.deepEqual(reloads(metrics), { success: 1 });
    authorizer.close();
  });

  it('and cannot be read, is reported', async () => {
    const { authorizer, metrics, logged } = await openReloadable(() => 'silence', documentOf(rbac));
    authorizer.failed(new Error('ENOENT'));
    assert.match(logged[0] ?? '', /ENOENT/);
    assert.deepEqual(reloads(metrics), { success: 1, failure: 1 });
    authorizer.close();
  });

  it('is invalid at startup: startup fails and names the file', async () => {
    await assert.rejects(
      openReloadable(() => 'silence', documentOf({ type: 'RBAC' })),
      /^Error: \/etc\/authz\.yaml: authorizers\[0\]\.name: Required value$/,
    );
  });

  it('closes a chain after its last request', async () => {
    const gate = Promise.withResolvers<ReturnType<typeof answer>>();
    const { authorizer, webhooks } = await openReloadable(() => gate.promise, documentOf(rbac, hookOf('a')));
    const questions = [authorizer.authorize(pods, jane), authorizer.authorize(readQuestion('get /x'), jane)];
    await authorizer.reload(documentOf(rbac));
    assert.equal(authorizer.authorize(pods, jane) instanceof Promise, false);
    await settle();
    assert.equal(webhooks[0]?.closed, 0, 'two questions are under way');
    gate.resolve(answer({ allowed: true }));
    assert.deepEqual(
      (await Promise.all(questions)).map(({ verdict }) => verdict),
      ['allow', 'allow'],
    );
    await settle();
    assert.equal(webhooks[0]?.closed, 1);
    authorizer.close();
  });

  it('does not take effect after close', async () => {
    const sender = Promise.withResolvers<ScriptedWebhook>();
    const { authorizer } = await openReloadable(() => 'silence', documentOf(rbac), {
      webhookSender: () => sender.promise,
    });
    const reloaded = authorizer.reload(documentOf(rbac, hookOf('a')));
    await settle();
    authorizer.close();
    const late = new ScriptedWebhook(() => 'silence');
    sender.resolve(late);
    await reloaded;
    assert.equal(late.closed, 1);
  });

  it('decides every request during frequent reloads, each by one whole chain', async () => {
    // Chain n has two webhooks, a-n and b-n; a-n has no opinion. A mix of two chains would be visible.
    const built: string[] = [];
    const senders: ScriptedWebhook[] = [];
    const { authorizer } = await openReloadable(() => 'silence', documentOf(rbac, hookOf('a-0'), hookOf('b-0')), {
      webhookSender: (_connection, { name }) => {
        built.push(name);
        const sender = new ScriptedWebhook(
          () =>
            new Promise((resolve) => {
              const reason = sender.closed > 0 ? 'closed' : name;
              setImmediate(() => resolve(answer({ allowed: name.startsWith('b'), reason })));
            }),
        );
        senders.push(sender);
        return sender;
      },
    });
    const decisions: Promise<Decision>[] = [];
    const reloaded: Promise<void>[] = [];
    for (let round = 1; round <= 50; round++) {
      const content =
        round % 5 === 0 ? Buffer.from('{]') : documentOf(rbac, hookOf(`a-${round}`), hookOf(`b-${round}`));
      reloaded.push(authorizer.reload(content));
      for (let question = 0; question < 10; question++) {
        const path = readQuestion(`get /${round}/${question}`);
        decisions.push(Promise.resolve(authorizer.authorize(path, jane)));
        if (question % 4 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    }
    await Promise.all(reloaded);
    for (const decision of await Promise.all(decisions)) {
      assert.equal(decision.verdict, 'allow');
      assert.match(decision.reason, /^b-\d+$/);
      assert.equal(decision.evaluationError, undefined);
    }
    await settle();
    assert.equal(built.length, 2 * 41);
    assert.equal(senders.filter(({ closed }) => closed === 0).length, 2, 'only the last chain is open');
    assert.deepEqual(
      authorizer.specs.map(({ name }) => name),
      ['rbac', 'a-49', 'b-49'],
    );
    authorizer.close();
    assert.ok(senders.every(({ closed }) => closed === 1));
  });
});
