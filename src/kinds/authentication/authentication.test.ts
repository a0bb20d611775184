import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { answerTo, jane, refusalOf } from '../answer-fixture.ts';
import type { AuthenticatedToken } from '../services.ts';
import { selfSubjectReviews } from './self-subject-review.ts';
import { tokenReview } from './token-review.ts';

const whole = { username: 'jane', uid: 'u-1', groups: ['dev'], extra: { scopes: ['a', 'b'] } };

describe('TokenReview (spec section 2.4)', () => {
  const apiAudiences = ['api-one', 'api-two'];
  /** Runs a review; returns its answer and the arguments that the authenticator received. */
  async function review(
    spec: Readonly<Record<string, unknown>>,
    found: AuthenticatedToken | undefined | Error,
    more: Readonly<Record<string, unknown>> = {},
  ) {
    const asked: unknown[] = [];
    const { object } = await answerTo(
      tokenReview(orch),
      { spec, ...more },
      {
        apiAudiences,
        authenticateToken: async (...question) => {
          asked.push(question);
          if (found instanceof Error) throw found;
          return found;
        },
      },
    );
    return { asked, object, status: object['status'] };
  }

  it('says whose a token is, and shows what was asked', async () => {
    const { object } = await review({ token: 't' }, { user: jane, audiences: ['api-one'] });
    assert.deepEqual(object, {
      kind: 'TokenReview',
      apiVersion: 'authentication.orch.io/v1',
      metadata: { creationTimestamp: null },
      spec: { token: 't' },
      status: { authenticated: true, user: whole, audiences: ['api-one'] },
    });
  });

  it('leaves out what is empty of a user', async () => {
    const nobody = { username: 'x', uid: '', groups: [], extra: {} };
    const { status } = await review({ token: 't' }, { user: nobody, audiences: ['api-one'] });
    assert.deepEqual(status, { authenticated: true, user: { username: 'x' }, audiences: ['api-one'] });
  });

  for (const [what, audiences, found, asked, expected] of [
    ['none asked for: those of the API server', undefined, ['api-two'], apiAudiences, ['api-two']],
    ['an empty list asks for none', [], ['api-two'], apiAudiences, ['api-two']],
    ['those that fit', ['x', 'vault'], ['vault'], ['x', 'vault'], ['vault']],
    ['in the order in which they were asked for', ['b', 'a'], ['a', 'b'], ['b', 'a'], ['b', 'a']],
    ['no more than was asked for', ['a'], ['a', 'c'], ['a'], ['a']],
    ['a token without audiences is for the API server', undefined, undefined, apiAudiences, apiAudiences],
    ['and for whom else it calls itself', ['x', 'api-two'], undefined, ['x', 'api-two'], ['api-two']],
  ] as const) {
    it(`audiences: ${what}`, async () => {
      const identity = { user: jane, ...(found && { audiences: found }) };
      const { status, asked: questions } = await review({ token: 't', audiences }, identity);
      assert.deepEqual(questions, [['t', asked]]);
      assert.deepEqual(status, { authenticated: true, user: whole, audiences: expected });
    });
  }

  for (const [what, audiences, found, error] of [
    ['a token that nobody knows', undefined, undefined, 'invalid bearer token'],
    ['a token without audiences, for somebody else', ['x'], { user: jane }, 'invalid bearer token'],
    [
      'a token that does not hold',
      undefined,
      new Error('the token has expired'),
      '[invalid bearer token, the token has expired]',
    ],
  ] as const) {
    it(`is nobody, with an error: ${what}`, async () => {
      const { status } = await review({ token: 't', audiences }, found);
      assert.deepEqual(status, { user: {}, error });
    });
  }

  it('what an authenticator accepts for audiences that were not asked for is a fault', async () => {
    const error = await refusalOf(review({ token: 't', audiences: ['x'] }, { user: jane, audiences: ['y'] }));
    assert.equal(error.code, 500);
  });

  it('without a token is a bad request', async () => {
    for (const spec of [{}, { token: '' }, { token: null }]) {
      const error = await refusalOf(review(spec, undefined));
      assert.deepEqual([error.code, error.message], [400, 'token is required for TokenReview in authentication']);
    }
  });

  it('does not heed a status that a client writes', async () => {
    const written = { authenticated: true, user: { username: 'root' }, error: 'x' };
    const { status } = await review({ token: 't' }, undefined, { status: written });
    assert.deepEqual(status, { user: {}, error: 'invalid bearer token' });
  });
});

describe('SelfSubjectReview (spec section 2.6)', () => {
  for (const kind of selfSubjectReviews(kubernetes)) {
    it(`${kind.version} says who asks, and nothing of what was sent`, async () => {
      const sent = { metadata: { name: 'x', labels: { a: 'b' } }, status: { userInfo: { username: 'root' } } };
      assert.deepEqual((await answerTo(kind, sent)).object, {
        kind: 'SelfSubjectReview',
        apiVersion: `authentication.k8s.io/${kind.version}`,
        metadata: { creationTimestamp: '2026-01-10T00:00:00Z' },
        status: { userInfo: whole },
      });
    });
  }

  for (const kind of selfSubjectReviews(orch)) {
    it(`${kind.version} does not give the user away to be changed`, async () => {
      const { object } = await answerTo(kind, {});
      const { userInfo } = object['status'] as { userInfo: { groups: string[]; extra: Record<string, string[]> } };
      userInfo.groups.push('more');
      userInfo.extra['scopes']?.push('c');
      assert.deepEqual([jane.groups, jane.extra], [['dev'], { scopes: ['a', 'b'] }]);
    });
  }
});
