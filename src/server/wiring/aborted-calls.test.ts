import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TokenAuthenticator } from '../../authn/authenticator.ts';
import { bearerAuthenticator, tokenUnion } from '../../authn/bearer.ts';
import { showing } from '../../authn/credentials-fixture.ts';
import { cachedTokens } from '../../authn/token-cache.ts';
import { webhookTokenAuthenticator } from '../../authn/webhook/webhook-token.ts';
import { authorizationMetrics } from '../../authz/authorization-metrics.ts';
import type { Authorizer } from '../../authz/authorizer.ts';
import { buildAuthorizers } from '../../authz/authorizer-chain.ts';
import { unionAuthorizer } from '../../authz/union.ts';
import type { Caller } from '../../base/caller.ts';
import type { Logger } from '../../base/logger.ts';
import { Metrics } from '../../base/metrics.ts';
import { seededRandom } from '../../base/random.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { orch } from '../../dialect/orch.ts';
import type { KindServices } from '../../kinds/services.ts';
import { RegistryFixture } from '../../registry/registry-fixture.ts';
import { kindServices } from './access/kind-services.ts';

const complain = (message: string): never => assert.fail(`logged: ${message}`);
const logger: Logger = { error: complain, warn: complain, info() {}, debug() {} };

/** Services that never answer, recording the signals of the calls. */
class SilentWorld {
  readonly clock = new ManualClock();
  readonly random = seededRandom(1);
  readonly metrics = new Metrics();
  readonly asked: AbortSignal[] = [];

  readonly silence = (signal: AbortSignal): Promise<never> => {
    this.asked.push(signal);
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  };

  tokens(): TokenAuthenticator {
    const { clock, random } = this;
    const ask = (_body: string, { signal }: Caller) => this.silence(signal);
    const webhook = { ask, version: 'v1', dialect: orch, ownAudiences: ['api'], clock, random, logger } as const;
    const cached = cachedTokens(webhookTokenAuthenticator(webhook), { clock, random, successMs: 1, failureMs: 1 });
    // The next authenticator, which would be called if the request still waited.
    return tokenUnion([cached, { authenticateToken: () => assert.fail('asked for nobody') }], ['api']);
  }

  async servicesFor(fixture: RegistryFixture): Promise<(request: AbortController) => KindServices> {
    const { clock, random } = this;
    const authorizer = await buildAuthorizers(
      [
        {
          type: 'Webhook',
          name: 'hook',
          connection: { type: 'inCluster' },
          version: 'v1',
          timeoutMs: 60_000,
          authorizedTtlMs: 1,
          unauthorizedTtlMs: 1,
          failurePolicy: 'NoOpinion',
        },
      ],
      {
        ...{ dialect: orch, clock, random, logger, metrics: authorizationMetrics(this.metrics) },
        webhookSender: () => ({ send: (_body, caller) => this.silence(caller?.signal as AbortSignal), close() {} }),
      },
    );
    const { cache, resources } = fixture;
    Object.assign(cache, { isFresh: () => false, fresh: (signal: AbortSignal) => this.silence(signal) });
    return kindServices({
      ...{ authorizer, rules: authorizer, tokens: this.tokens(), apiAudiences: ['api'], resources },
      componentHealth: async () => [],
      agents: { addressTypes: [], port: 0 },
    });
  }
}

const jane = { username: 'jane', uid: '', groups: [], extra: {} };
const services: Readonly<Record<string, (services: KindServices) => unknown>> = {
  authenticateToken: (asked) => asked.authenticateToken('t', ['api']),
  authorize: (asked) => asked.authorize(jane, { type: 'path', verb: 'get', path: '/x' }),
  object: (asked) => asked.object('secrets', 'n', 'a'),
};

describe('outgoing calls of a review end with the request', () => {
  for (const [name, ask] of Object.entries(services)) {
    it(name, async () => {
      await using fixture = await RegistryFixture.open();
      const world = new SilentWorld();
      const servicesFor = await world.servicesFor(fixture);
      const request = new AbortController();
      const asked = Promise.resolve(ask(servicesFor(request)));
      const gone = new Error('the client is gone');
      request.abort(gone);
      await assert.rejects(asked, gone);
      assert.deepEqual(
        world.asked.map(({ aborted }) => aborted),
        [true],
      );
      await new Promise(setImmediate);
      assert.equal(world.clock.pending, 0, 'a timer is left');
    });
  }

  for (const name of ['authenticateToken', 'authorize'] as const) {
    it(`${name}: but not while another request shares the call`, async () => {
      await using fixture = await RegistryFixture.open();
      const world = new SilentWorld();
      const servicesFor = await world.servicesFor(fixture);
      const [first, second] = [new AbortController(), new AbortController()];
      const [a, b] = [first, second].map((request) => Promise.resolve(services[name]?.(servicesFor(request))));
      const [gone, late] = [new Error('gone'), new Error('late')];
      first.abort(gone);
      await assert.rejects(a as Promise<unknown>, gone);
      assert.deepEqual(
        world.asked.map(({ aborted }) => aborted),
        [false],
      );
      second.abort(late);
      await assert.rejects(b as Promise<unknown>, late);
      assert.deepEqual(
        world.asked.map(({ aborted }) => aborted),
        [true],
      );
    });
  }
});

describe('a synchronous decision', () => {
  /** A request whose signal is not created yet, which costs more than many answers. */
  const request: Caller = {
    get signal(): AbortSignal {
      return assert.fail('a signal is made');
    },
  };
  const { clock, random } = new SilentWorld();
  const known = { authenticateToken: (token: string) => (token === 't' ? { user: jane } : undefined) };
  const cached = cachedTokens(known, { clock, random, successMs: 1_000, failureMs: 1_000 });
  const allowing: Authorizer = { authorize: () => ({ verdict: 'allow', reason: '' }) };
  const declining: Authorizer = { authorize: () => ({ verdict: 'noOpinion', reason: '' }) };
  const attributes = { type: 'path', verb: 'get', path: '/x' } as const;
  const shown = Object.defineProperty(showing({ token: 't' }), 'signal', { get: () => request.signal });
  for (const [what, ask] of [
    ['a known token', () => tokenUnion([cached], ['api']).authenticateToken('t', ['api'], request)],
    ['a token that nobody knows', () => tokenUnion([cached], ['api']).authenticateToken('u', ['api'], request) ?? true],
    ['a bearer token', () => bearerAuthenticator(tokenUnion([cached], ['api']), ['api']).authenticate(shown)],
    ['a decision', () => unionAuthorizer([declining, allowing]).authorize(attributes, jane, request)],
  ] as const) {
    it(`${what}: needs no signal`, () => {
      for (let time = 0; time < 2; time++) {
        const answer: unknown = ask();
        assert.ok(answer && !(answer instanceof Promise));
      }
    });
  }
});
