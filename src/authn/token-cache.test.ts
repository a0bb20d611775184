import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { Metrics } from '../base/metrics.ts';
import { systemRandom } from '../base/random.ts';
import { ManualClock } from '../base/time/clock.ts';
import type { TokenAuthenticator, TokenIdentity } from './authenticator.ts';
import { cachedTokens, type TokenCacheOptions, tokenCacheCounts } from './token-cache.ts';

const identity = (username: string, uid = ''): TokenIdentity => ({ user: { username, uid, groups: [], extra: {} } });

/** Tokens `known-…` are valid, `late-…` too but asynchronously, `bad-…` are errors, all others are unknown. */
function counting() {
  const asked: string[] = [];
  const inner: TokenAuthenticator = {
    authenticateToken(token, audiences) {
      asked.push([token, ...audiences].join('/'));
      if (token.startsWith('bad-')) throw new Error('bad');
      if (token.startsWith('late-bad-')) return Promise.reject(new Error('late and bad'));
      if (token.startsWith('late-no-')) return Promise.resolve(undefined);
      if (token.startsWith('late-')) return Promise.resolve(identity(token));
      return token.startsWith('known-') ? identity(token) : undefined;
    },
  };
  return { inner, asked };
}

function cache(more: Partial<TokenCacheOptions> = {}) {
  const clock = new ManualClock();
  const { inner, asked } = counting();
  const tokens = cachedTokens(inner, { clock, random: systemRandom, successMs: 1000, failureMs: 100, ...more });
  return { clock, asked, ask: (token: string, ...audiences: string[]) => tokens.authenticateToken(token, audiences) };
}

describe('a cache of tokens', () => {
  for (const token of ['known-a', 'late-a']) {
    it(`remembers whose ${token} is for a while, and then answers at once`, async () => {
      const { clock, asked, ask } = cache();
      const first = await ask(token);
      clock.advance(999);
      assert.equal(ask(token), first);
      assert.equal(first?.user.username, token);
      assert.equal(asked.length, 1);
      clock.advance(1);
      assert.deepEqual(await ask(token), first);
      assert.equal(asked.length, 2);
    });
  }

  for (const token of ['nobody', 'late-no-body']) {
    it(`remembers for a shorter while that nobody knows ${token}`, async () => {
      const { clock, asked, ask } = cache();
      assert.equal(await ask(token), undefined);
      clock.advance(99);
      assert.equal(ask(token), undefined);
      assert.equal(asked.length, 1);
      clock.advance(1);
      assert.equal(await ask(token), undefined);
      assert.equal(asked.length, 2);
    });
  }

  it('authenticates again if the identity is no longer valid, and caches the new result', () => {
    const held = new Set<TokenIdentity>();
    const { asked, ask } = cache({ isValid: (each) => held.has(each) });
    const first = ask('known-a') as TokenIdentity;
    held.add(first);
    assert.equal(ask('known-a'), first);
    held.clear();
    const second = ask('known-a') as TokenIdentity;
    assert.notEqual(second, first);
    held.add(second);
    assert.equal(ask('known-a'), second);
    assert.equal(asked.length, 2);
  });

  it('does not cache errors', async () => {
    const { asked, ask } = cache();
    for (let time = 0; time < 2; time++) {
      assert.throws(() => ask('bad-a'), /^Error: bad$/);
      await assert.rejects(async () => ask('late-bad-a'), /late and bad/);
    }
    assert.equal(asked.length, 4);
  });

  it('shares one call among concurrent look-ups of the same token', async () => {
    const { asked, ask } = cache();
    const answers = await Promise.all([ask('late-a'), ask('late-a'), ask('late-b')]);
    assert.deepEqual(
      answers.map((answer) => answer?.user.username),
      ['late-a', 'late-a', 'late-b'],
    );
    const failures = await Promise.allSettled([ask('late-bad-a'), ask('late-bad-a')]);
    assert.deepEqual(
      failures.map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    assert.deepEqual(asked, ['late-a', 'late-b', 'late-bad-a']);
  });

  it('takes questions for different audiences apart, however they are cut', () => {
    const { asked, ask } = cache();
    const questions: readonly (readonly [string, ...string[]])[] = [
      ['known-a'],
      ['known-a', 'x'],
      ['known-a', 'x', 'y'],
      ['known-a', 'x,y'],
      ['known-a', '"x","y"'],
      ['["x"]known-a'],
      ['known-a', 'y', 'x'],
    ];
    for (const question of questions) ask(...question);
    assert.equal(asked.length, questions.length);
    for (const question of questions) ask(...question);
    assert.equal(asked.length, questions.length);
  });

  it('does not take tokens for one another that only look alike as bytes', () => {
    const { asked, ask } = cache();
    for (const token of ['known-\ufffd', 'known-\ud800', 'known-\udfff']) {
      assert.equal((ask(token) as TokenIdentity).user.username, token);
    }
    assert.equal(asked.length, 3);
  });

  it('keeps what came last, and known tokens apart from floods of unknown ones', () => {
    const { asked, ask } = cache({ entriesMax: 2 });
    for (const token of ['known-a', 'known-b', 'known-c']) ask(token);
    for (let count = 0; count < 10; count++) ask(`made-up-${count}`);
    asked.length = 0;
    for (const token of ['known-b', 'known-c', 'made-up-8', 'made-up-9']) ask(token);
    assert.deepEqual(asked, []);
    ask('made-up-7');
    ask('known-a');
    assert.deepEqual(asked, ['made-up-7', 'known-a']);
  });

  it('is bounded in the text that it keeps', () => {
    const asked: string[] = [];
    const large = 'x'.repeat(limits.tokenCacheTextMax / 4);
    const inner: TokenAuthenticator = {
      authenticateToken(token) {
        asked.push(token);
        return identity(token, large);
      },
    };
    const tokens = cachedTokens(inner, {
      clock: new ManualClock(),
      random: systemRandom,
      successMs: 1000,
      failureMs: 0,
    });
    for (const token of ['a', 'b', 'c', 'd', 'd', 'c', 'b']) tokens.authenticateToken(token, []);
    assert.deepEqual(asked, ['a', 'b', 'c', 'd']);
    tokens.authenticateToken('a', []);
    assert.deepEqual(asked, ['a', 'b', 'c', 'd', 'a']);
  });

  it('with a time of 0 caches nothing, but still shares concurrent calls', async () => {
    const { asked, ask } = cache({ successMs: 0, failureMs: 0 });
    await Promise.all([ask('late-a'), ask('late-a')]);
    await ask('late-a');
    ask('nobody');
    ask('nobody');
    assert.deepEqual(asked, ['late-a', 'late-a', 'nobody', 'nobody']);
  });

  it('counts', async () => {
    const metrics = new Metrics();
    const { ask } = cache({ counts: tokenCacheCounts(metrics) });
    await ask('late-a');
    await ask('late-a');
    const pending = ask('late-b');
    await assert.rejects(async () => ask('late-bad-a'));
    const shown = (): string[] => metrics.render().match(/^authentication(?!.*_(?:bucket|sum)\{).*$/gm) ?? [];
    await pending;
    const expected = [
      'authentication_token_cache_active_fetch_count{status="in_flight"} 0',
      'authentication_token_cache_fetch_total{status="ok"} 2',
      'authentication_token_cache_fetch_total{status="error"} 1',
      'authentication_token_cache_request_duration_seconds_count{status="hit"} 1',
      'authentication_token_cache_request_duration_seconds_count{status="miss"} 3',
      'authentication_token_cache_request_total{status="hit"} 1',
      'authentication_token_cache_request_total{status="miss"} 3',
    ];
    assert.deepEqual(shown(), expected);
    assert.deepEqual(shown(), expected);
  });
});
