import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noRules } from '../../../authz/rule-resolver.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { RegistryFixture } from '../../../registry/registry-fixture.ts';
import { groupAuthenticated, type UserInfo } from '../../../request/user-info.ts';
import { type KindServiceParts, kindServices } from './kind-services.ts';

const jane: UserInfo = { username: 'jane', uid: '', groups: ['dev'], extra: {} };

/** Services over a registry; authorizer and authenticators know nothing. */
const servicesOver = ({ resources }: RegistryFixture, parts: Partial<KindServiceParts> = {}) =>
  kindServices({
    authorizer: { authorize: () => ({ verdict: 'noOpinion', reason: '' }) },
    rules: { rulesFor: () => noRules },
    tokens: { authenticateToken: () => undefined },
    apiAudiences: ['api'],
    agents: { addressTypes: [], port: 0 },
    resources,
    componentHealth: async () => [],
    ...parts,
  })(new AbortController());

describe('services for kinds', () => {
  it('authenticate a token with the identity that a request would have', async () => {
    await using fixture = await RegistryFixture.open();
    const asked: unknown[][] = [];
    const services = servicesOver(fixture, {
      tokens: {
        authenticateToken: (...question) => {
          asked.push(question);
          return { user: jane, audiences: ['b'] };
        },
      },
    });
    const user = { ...jane, groups: ['dev', groupAuthenticated] };
    assert.deepEqual(await services.authenticateToken('t', ['a', 'b']), { user, audiences: ['b'] });
    assert.deepEqual(
      asked.map((question) => question.slice(0, 2)),
      [['t', ['a', 'b']]],
    );
    assert.equal(await servicesOver(fixture).authenticateToken('t', []), undefined);
  });

  it('reject for an invalid token, also if the authenticator throws synchronously', async () => {
    await using fixture = await RegistryFixture.open();
    const authenticateToken = () => {
      throw new Error('expired');
    };
    await assert.rejects(
      servicesOver(fixture, { tokens: { authenticateToken } }).authenticateToken('t', []),
      /expired/,
    );
  });

  it('find objects written just before, and only existing ones', async () => {
    await using fixture = await RegistryFixture.open();
    const services = servicesOver(fixture);
    await fixture.call('POST', '/api/v1/namespaces/n/secrets', { metadata: { name: 'a' } });
    await fixture.call('POST', '/api/v1/nodes', { metadata: { name: 'b' } });
    const name = (object: ApiObject | undefined) => object?.metadata.name;
    assert.equal(name(await services.object('secrets', 'n', 'a')), 'a');
    assert.equal(name(await services.object('nodes', '', 'b')), 'b');
    assert.equal(await services.object('secrets', 'm', 'a'), undefined);
    await assert.rejects(services.object('things', '', 'a'), { code: 500 });
  });

  it('refuse to issue tokens without a key', async () => {
    await using fixture = await RegistryFixture.open();
    const question = { expirationSeconds: 3600, audiences: ['api'], boundToPod: false };
    assert.throws(() => servicesOver(fixture).tokenLifetime(question), { code: 404 });
  });
});
