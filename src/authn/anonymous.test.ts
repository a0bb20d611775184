import assert from 'node:assert/strict';
import { it } from 'node:test';
import { anonymousUser } from '../request/user-info.ts';
import { type AnonymousPolicy, anonymousPolicy, withAnonymous } from './anonymous.ts';
import { isUnauthorized, showing } from './credentials-fixture.ts';

const nobody = { authenticate: () => undefined };

/** Whether a request for the target is allowed without credentials. */
function served(policy: AnonymousPolicy | (() => AnonymousPolicy), target: string): boolean {
  try {
    assert.equal(withAnonymous(nobody, policy).authenticate(showing({ target })), anonymousUser);
    return true;
  } catch (error) {
    assert.ok(isUnauthorized(error));
    return false;
  }
}

const conditions = [{ path: '/healthz' }, { path: '/readyz' }];
for (const [what, policy, target, expected] of [
  ['all', 'allow', '/api', true],
  ['none', 'refuse', '/healthz', false],
  ['enabled', anonymousPolicy({ enabled: true }), '/api', true],
  ['enabled, with no conditions', anonymousPolicy({ enabled: true, conditions: [] }), '/api', true],
  ['disabled', anonymousPolicy({ enabled: false }), '/api', false],
  ['disabled, with conditions', anonymousPolicy({ enabled: false, conditions }), '/healthz', false],
  ['a path of the conditions', anonymousPolicy({ enabled: true, conditions }), '/readyz', true],
  ['the same with a query', anonymousPolicy({ enabled: true, conditions }), '/readyz?verbose=1', true],
  ['another path', anonymousPolicy({ enabled: true, conditions }), '/livez', false],
  ['a path below', anonymousPolicy({ enabled: true, conditions }), '/readyz/ping', false],
  ['a trailing slash', anonymousPolicy({ enabled: true, conditions }), '/readyz/', false],
  ['a path above', anonymousPolicy({ enabled: true, conditions }), '/', false],
  ['encoded', anonymousPolicy({ enabled: true, conditions }), '/ready%7a', false],
  ['with a way round', anonymousPolicy({ enabled: true, conditions }), '/api/../readyz', false],
] as const) {
  it(`anonymous requests: ${what}: ${target}`, () => assert.equal(served(policy, target), expected));
}

it('the policy may change', () => {
  let policy: AnonymousPolicy = 'refuse';
  const final = withAnonymous(nobody, () => policy);
  assert.throws(() => final.authenticate(showing({})), isUnauthorized);
  policy = 'allow';
  assert.equal(final.authenticate(showing({})), anonymousUser);
});

it('waits for an asynchronous authenticator', async () => {
  const late = { authenticate: async () => undefined };
  assert.equal(await withAnonymous(late, 'allow').authenticate(showing({})), anonymousUser);
  await assert.rejects(async () => withAnonymous(late, 'refuse').authenticate(showing({})), isUnauthorized);
});
