import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TokenLifetime, TokenLifetimeRequest } from '../../kinds/authentication/token-grant.ts';
import { type LifetimeOptions, tokenLifetime } from './lifetime.ts';

const plain = (seconds: number): TokenLifetime => ({ expirationSeconds: seconds, lifetimeSeconds: seconds });
const extended: TokenLifetime = { expirationSeconds: 3607, lifetimeSeconds: 31_536_000, warnAfterSeconds: 3607 };
const injected: TokenLifetimeRequest = { expirationSeconds: 3607, audiences: ['api'], boundToPod: true };
const usual: LifetimeOptions = {
  maxExpirationSeconds: undefined,
  extendExpiration: true,
  apiAudiences: ['api', 'api-two'],
};

const cases: readonly (readonly [string, Partial<TokenLifetimeRequest>, Partial<LifetimeOptions>, TokenLifetime])[] = [
  ['as asked for', { expirationSeconds: 600 }, {}, plain(600)],
  ['without a maximum', { expirationSeconds: 2 ** 32 }, {}, plain(2 ** 32)],
  ['at the maximum', { expirationSeconds: 7200 }, { maxExpirationSeconds: 7200 }, plain(7200)],
  [
    'past the maximum',
    { expirationSeconds: 7201 },
    { maxExpirationSeconds: 7200 },
    { ...plain(7200), warning: 'requested expiration of 7201 seconds shortened to 7200 seconds' },
  ],
  ['an injected token', {}, {}, extended],
  ['the same for some of the API audiences', { audiences: ['api-two'] }, {}, extended],
  ['an injected token with a maximum below a year', {}, { maxExpirationSeconds: 7200 }, extended],
  ['switched off', {}, { extendExpiration: false }, plain(3607)],
  ['a second more', { expirationSeconds: 3608 }, {}, plain(3608)],
  ['not for a pod', { boundToPod: false }, {}, plain(3607)],
  ['for others', { audiences: ['vault'] }, {}, plain(3607)],
  ['for other audiences too', { audiences: ['api', 'vault'] }, {}, plain(3607)],
  [
    'shortened to below the extended request',
    {},
    { maxExpirationSeconds: 3600 },
    { ...plain(3600), warning: 'requested expiration of 3607 seconds shortened to 3600 seconds' },
  ],
  [
    'shortened to what is extended',
    { expirationSeconds: 9000 },
    { maxExpirationSeconds: 3607 },
    { ...extended, warning: 'requested expiration of 9000 seconds shortened to 3607 seconds' },
  ],
];

for (const [name, request, options, want] of cases) {
  test(`lifetime: ${name}`, () => {
    assert.deepEqual(tokenLifetime({ ...injected, ...request }, { ...usual, ...options }), want);
  });
}
