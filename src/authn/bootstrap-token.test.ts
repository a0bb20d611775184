import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ManualClock } from '../base/time/clock.ts';
import { kubernetes } from '../dialect/kubernetes.ts';
import { orch } from '../dialect/orch.ts';
import type { ApiObject, ObjectMeta } from '../meta/api-object.ts';
import { bootstrapTokenAuthenticator } from './bootstrap-token.ts';

const now = Date.UTC(2026, 0, 1, 12);
const secretPart = '0123456789abcdef';
const token = `abcdef.${secretPart}`;

const good = {
  'token-id': 'abcdef',
  'token-secret': secretPart,
  'usage-bootstrap-authentication': 'true',
};

function secretOf(
  data: Readonly<Record<string, string | undefined>>,
  more: { readonly type?: string; readonly metadata?: ObjectMeta } = {},
): ApiObject {
  const entries = Object.entries({ ...good, ...data }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'bootstrap-token-abcdef', ...more.metadata },
    type: more.type ?? 'bootstrap.orch.io/token',
    data: Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(value).toString('base64')])),
  };
}

function authenticate(found: ApiObject | undefined, shown = token) {
  const asked: string[] = [];
  const authenticator = bootstrapTokenAuthenticator({
    dialect: orch,
    clock: new ManualClock(now),
    secret: (name) => {
      asked.push(name);
      return found;
    },
  });
  return { asked, answer: () => authenticator.authenticateToken(shown, []) };
}

const user = (...groups: readonly string[]) => ({
  user: { username: 'system:bootstrap:abcdef', uid: '', groups: [...groups, 'system:authenticated'], extra: {} },
});

describe('bootstrap tokens', () => {
  it('identify their user', async () => {
    const { asked, answer } = authenticate(secretOf({ description: 'the first node' }));
    assert.deepEqual(answer(), user('system:bootstrappers'));
    assert.deepEqual(asked, ['bootstrap-token-abcdef']);
    const late = bootstrapTokenAuthenticator({
      dialect: kubernetes,
      clock: new ManualClock(now),
      secret: async () => secretOf({}, { type: 'bootstrap.kubernetes.io/token' }),
    });
    assert.deepEqual(await late.authenticateToken(token, ['x']), user('system:bootstrappers'));
  });

  const long = 'x'.repeat(255);
  for (const [groups, expected] of [
    ['', ['system:bootstrappers']],
    ['system:bootstrappers:a', ['system:bootstrappers', 'system:bootstrappers:a']],
    [
      'system:bootstrappers:b:c-d,system:bootstrappers:a,system:bootstrappers:b:c-d',
      ['system:bootstrappers', 'system:bootstrappers:a', 'system:bootstrappers:b:c-d'],
    ],
    [`system:bootstrappers:${long}1`, ['system:bootstrappers', `system:bootstrappers:${long}1`]],
  ] as const) {
    it(`have the groups ${groups.slice(0, 60)}`, () => {
      assert.deepEqual(authenticate(secretOf({ 'auth-extra-groups': groups })).answer(), user(...expected));
    });
  }

  for (const groups of [
    'system:masters',
    'system:bootstrappers',
    'system:bootstrappers:',
    'system:bootstrappers:a,',
    'system:bootstrappers:a, system:bootstrappers:b',
    'system:bootstrappers:A',
    'system:bootstrappers:a-',
    'system:bootstrappers:a\n',
    'xsystem:bootstrappers:a',
    'system:bootstrappers:a,system:masters',
    `system:bootstrappers:${long}${long}`,
    ',',
  ]) {
    it(`do not hold with the groups ${JSON.stringify(groups.slice(0, 60))}`, () => {
      assert.throws(authenticate(secretOf({ 'auth-extra-groups': groups })).answer, /auth-extra-groups/);
    });
  }

  for (const [expiration, holds] of [
    [undefined, true],
    ['', true],
    ['2026-01-01T12:00:01Z', true],
    ['2026-01-01T12:00:00.5Z', true],
    ['2026-01-01T14:00:01+02:00', true],
    ['2026-01-01T12:00:00Z', false],
    ['2026-01-01T11:59:59Z', false],
    ['2026-01-01T13:59:59+02:00', false],
    ['2027-01-01', false],
    ['2027-01-01 12:00:00Z', false],
    ['2027-02-30T12:00:00Z', false],
    ['2027-01-01T12:00:00Z\n', false],
    ['never', false],
    ['1893456000', false],
  ] as const) {
    it(`that expire ${JSON.stringify(expiration)} ${holds ? 'hold' : 'do not'}`, () => {
      const { answer } = authenticate(secretOf({ expiration }));
      if (holds) assert.deepEqual(answer(), user('system:bootstrappers'));
      else assert.throws(answer, /has expired/);
    });
  }

  for (const [what, found, why] of [
    ['another type', secretOf({}, { type: 'Opaque' }), /type/],
    ['the type of the other dialect', secretOf({}, { type: 'bootstrap.kubernetes.io/token' }), /type/],
    ['a deletion under way', secretOf({}, { metadata: { deletionTimestamp: '2027-01-01T00:00:00Z' } }), /deleted/],
    ['another id', secretOf({ 'token-id': 'abcdeg' }), /token-id/],
    ['no id', secretOf({ 'token-id': undefined }), /token-id/],
    ['no usage', secretOf({ 'usage-bootstrap-authentication': undefined }), /not for authentication/],
    ['another usage', secretOf({ 'usage-bootstrap-authentication': 'True' }), /not for authentication/],
    [
      'a usage with a trailing line break',
      secretOf({ 'usage-bootstrap-authentication': 'true\n' }),
      /not for authentication/,
    ],
    [
      'only the usage of signing',
      secretOf({ 'usage-bootstrap-authentication': 'false', 'usage-bootstrap-signing': 'true' }),
      /not for authentication/,
    ],
  ] as const) {
    it(`do not hold with ${what}`, () => assert.throws(authenticate(found).answer, why));
  }
});

describe('who does not have the secret', () => {
  const unknown = /^there is no bootstrap token abcdef with that secret$/;
  const message = (found: ApiObject | undefined): string => {
    let text = '';
    assert.throws(authenticate(found).answer, (error) => {
      text = (error as Error).message;
      return true;
    });
    return text;
  };
  for (const [what, found] of [
    ['no Secret', undefined],
    ['another secret', secretOf({ 'token-secret': 'fedcba9876543210' })],
    ['a shorter one', secretOf({ 'token-secret': '0123456789abcde' })],
    ['a longer one', secretOf({ 'token-secret': `${secretPart}0` })],
    ['an empty one', secretOf({ 'token-secret': '' })],
    ['none', secretOf({ 'token-secret': undefined })],
    ['no data', { apiVersion: 'v1', kind: 'Secret', metadata: {}, type: 'bootstrap.orch.io/token' }],
    ['another secret of what has expired', secretOf({ 'token-secret': 'x', expiration: 'never' })],
    ['another secret of another type', secretOf({ 'token-secret': 'x' }, { type: 'Opaque' })],
  ] as const) {
    it(`is not told more: ${what}`, () => assert.match(message(found), unknown));
  }

  it('and errors never contain the secret', () => {
    for (const found of [undefined, secretOf({ expiration: 'never' }), secretOf({ 'auth-extra-groups': 'x' })]) {
      assert.ok(!message(found).includes(secretPart));
    }
  });
});

describe('other tokens cause no look-up', () => {
  for (const other of [
    '',
    'abcdef',
    'abcdef.',
    `.${secretPart}`,
    `abcdeF.${secretPart}`,
    `abcde.${secretPart}`,
    `abcdefg.${secretPart}`,
    `abcdef.${secretPart}0`,
    `abcdef.${secretPart.slice(1)}`,
    `abcdef.${secretPart}\n`,
    ` ${token}`,
    'eyJhbGciOiJub25lIn0.e30.',
    `../../.${secretPart}`,
  ]) {
    it(JSON.stringify(other), () => {
      const { asked, answer } = authenticate(secretOf({}), other);
      assert.equal(answer(), undefined);
      assert.deepEqual(asked, []);
    });
  }
});
