import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { describeFieldError } from '../../meta/field-error.ts';
import { notFound, type StatusError } from '../../meta/status-error.ts';
import { answerContext, now, readBody, refusalOf } from '../answer-fixture.ts';
import type { TokenGrant, TokenLifetime, TokenLifetimeRequest } from '../authentication/token-grant.ts';
import type { ActionTarget } from '../kind.ts';
import { serviceAccountToken } from './service-account-token.ts';

const apiAudiences = ['api-one', 'api-two'];
type Sent = Readonly<Record<string, unknown>>;

const object = (name: string, uid: string, more: Sent = {}): ApiObject => ({
  kind: 'Any',
  apiVersion: 'v1',
  metadata: { name, uid },
  ...more,
});
const account = object('alice', 'uid-alice');
const objects: Readonly<Record<string, ApiObject>> = {
  'pods/tok/mine': object('mine', 'uid-mine', { spec: { serviceAccountName: 'alice' } }),
  'pods/tok/placed': object('placed', 'uid-placed', { spec: { serviceAccountName: 'alice', nodeName: 'node-1' } }),
  'pods/tok/lost': object('lost', 'uid-lost', { spec: { serviceAccountName: 'alice', nodeName: 'gone' } }),
  'pods/tok/bobs': object('bobs', 'uid-bobs', { spec: { serviceAccountName: 'bob' } }),
  'secrets/tok/secret': object('secret', 'uid-secret'),
  'secrets/other/foreign': object('foreign', 'uid-foreign'),
  'nodes//node-1': object('node-1', 'uid-node'),
};

interface Asked {
  readonly answer: ApiObject;
  readonly grants: readonly TokenGrant[];
  readonly questions: readonly TokenLifetimeRequest[];
  readonly warnings: readonly string[];
}

/** Requests a token as the registry does. `lifetime` is the lifetime that the server grants. */
async function ask(
  spec: Sent,
  more: Sent = {},
  lifetime: (seconds: number) => TokenLifetime = (seconds) => ({
    expirationSeconds: seconds,
    lifetimeSeconds: seconds,
  }),
): Promise<Asked> {
  const grants: TokenGrant[] = [];
  const questions: TokenLifetimeRequest[] = [];
  const action = serviceAccountToken(orch);
  const body = readBody(action.body.schema, { spec, ...more });
  body.metadata.namespace = 'tok';
  const context = answerContext({
    apiAudiences,
    object: async (...place) => objects[place.join('/')],
    tokenLifetime: (question) => {
      questions.push(question);
      return lifetime(question.expirationSeconds);
    },
    issueToken: (grant) => {
      grants.push(grant);
      return { token: 'signed', issuedAt: now / 1000 + 1 };
    },
  });
  await action.prepare?.(body, target, context);
  const errors = action.validate?.(body) ?? [];
  if (errors.length > 0) throw errors.map((error) => `${error.field}: ${describeFieldError(error)}`);
  const answer = (await action.create(body, target, context)) as ApiObject;
  return { answer, grants, questions, warnings: context.warnings };
}

const never = () => Promise.reject(new Error('the account is not changed'));
const target: ActionTarget = {
  namespace: 'tok',
  name: 'alice',
  read: async () => account,
  dryRun: false,
  update: never,
  delete: never,
  related: never,
  updateStatus: never,
};

const bound = (kind: string, name: string, more: Sent = {}): Sent => ({
  boundObjectRef: { kind, apiVersion: 'v1', name, ...more },
});

const refusal = (spec: Sent, more: Sent = {}): Promise<StatusError> => refusalOf(ask(spec, more));

describe('a token of a service account (spec section 2.3)', () => {
  it('has defaults, and is shown with what was granted', async () => {
    const { answer, grants, questions, warnings } = await ask({});
    assert.deepEqual(answer, {
      metadata: { name: 'alice', namespace: 'tok', creationTimestamp: '2026-01-10T00:00:00Z' },
      spec: { audiences: apiAudiences, expirationSeconds: 3600 },
      status: { token: 'signed', expirationTimestamp: '2026-01-10T01:00:01Z' },
    });
    const identity = { namespace: 'tok', name: 'alice', uid: 'uid-alice' };
    assert.deepEqual(grants, [{ account: identity, audiences: apiAudiences, lifetimeSeconds: 3600 }]);
    assert.deepEqual(questions, [{ expirationSeconds: 3600, audiences: apiAudiences, boundToPod: false }]);
    assert.deepEqual(warnings, []);
  });

  it('null counts as unset', async () => {
    const { answer } = await ask({ audiences: null, expirationSeconds: null, boundObjectRef: null });
    assert.deepEqual(answer['spec'], { audiences: apiAudiences, expirationSeconds: 3600 });
  });

  it('is for the audiences that were asked for', async () => {
    const { answer, grants } = await ask({ audiences: ['vault'], expirationSeconds: 600 });
    assert.deepEqual(answer['spec'], { audiences: ['vault'], expirationSeconds: 600 });
    assert.deepEqual(grants[0]?.audiences, ['vault']);
  });

  it('does not heed a status that a client writes', async () => {
    const { answer } = await ask({}, { status: { token: 'mine', expirationTimestamp: '2099-01-01T00:00:00Z' } });
    assert.deepEqual(answer['status'], { token: 'signed', expirationTimestamp: '2026-01-10T01:00:01Z' });
  });

  it('is shortened with a warning', async () => {
    const shortened = { expirationSeconds: 7200, lifetimeSeconds: 7200, warning: 'too long' };
    const { answer, grants, warnings } = await ask({ expirationSeconds: 86_400 }, {}, () => shortened);
    assert.deepEqual(answer['spec'], { audiences: apiAudiences, expirationSeconds: 7200 });
    assert.deepEqual(answer['status'], { token: 'signed', expirationTimestamp: '2026-01-10T02:00:01Z' });
    assert.deepEqual([grants[0]?.lifetimeSeconds, warnings], [7200, ['too long']]);
  });

  it('that lives longer than the client is told warns after what was told', async () => {
    const extended = { expirationSeconds: 3607, lifetimeSeconds: 31_536_000, warnAfterSeconds: 3607 };
    const { answer, grants, questions } = await ask(
      { ...bound('Pod', 'mine'), expirationSeconds: 3607 },
      {},
      () => extended,
    );
    assert.equal(questions[0]?.boundToPod, true);
    assert.deepEqual([grants[0]?.lifetimeSeconds, grants[0]?.warnAfterSeconds], [31_536_000, 3607]);
    assert.deepEqual(answer['status'], { token: 'signed', expirationTimestamp: '2026-01-10T01:00:08Z' });
  });

  for (const [seconds, why] of [
    [599, 'may not specify a duration less than 10 minutes'],
    [0, 'may not specify a duration less than 10 minutes'],
    [-5, 'may not specify a duration less than 10 minutes'],
    [2 ** 32 + 1, 'may not specify a duration larger than 2^32 seconds'],
    [2n ** 62n, 'may not specify a duration larger than 2^32 seconds'],
  ] as const) {
    it(`${seconds} seconds are refused`, async () => {
      await assert.rejects(ask({ expirationSeconds: seconds }), (errors) => {
        assert.deepEqual(errors, [`spec.expirationSeconds: Invalid value: ${Number(seconds)}: ${why}`]);
        return true;
      });
    });
  }
  for (const seconds of [600, 2 ** 32]) {
    it(`${seconds} seconds are granted`, async () => {
      assert.equal((await ask({ expirationSeconds: seconds })).grants[0]?.lifetimeSeconds, seconds);
    });
  }

  it('names the account that it is asked of', async () => {
    assert.equal((await ask({}, { metadata: { name: 'alice' } })).grants.length, 1);
    const error = await refusal({}, { metadata: { name: 'bob' } });
    assert.deepEqual([error.code, error.details?.causes?.map(({ field }) => field)], [422, ['metadata.name']]);
  });

  it('of an account that is not there is NotFound, whatever else is wrong', async () => {
    const missing = notFound({ group: '', resource: 'serviceaccounts' }, 'alice');
    const action = serviceAccountToken(orch);
    const body = readBody(action.body.schema, { spec: { expirationSeconds: 1 } });
    const nothing = { ...target, read: () => Promise.reject(missing) };
    const asked = Promise.resolve(action.prepare?.(body, nothing, answerContext({ apiAudiences })));
    assert.equal(await refusalOf(asked), missing);
  });
});

describe('what a token is bound to', () => {
  for (const [what, spec, binding] of [
    ['a pod', bound('Pod', 'mine'), { kind: 'pod', name: 'mine', uid: 'uid-mine' }],
    ['a pod with its uid', bound('Pod', 'mine', { uid: 'uid-mine' }), { kind: 'pod', name: 'mine', uid: 'uid-mine' }],
    [
      'a pod without an API version',
      bound('Pod', 'mine', { apiVersion: '' }),
      { kind: 'pod', name: 'mine', uid: 'uid-mine' },
    ],
    [
      'a pod on a node',
      bound('Pod', 'placed'),
      { kind: 'pod', name: 'placed', uid: 'uid-placed', node: { name: 'node-1', uid: 'uid-node' } },
    ],
    [
      'a pod on a node that is gone',
      bound('Pod', 'lost'),
      { kind: 'pod', name: 'lost', uid: 'uid-lost', node: { name: 'gone' } },
    ],
    ['a secret', bound('Secret', 'secret'), { kind: 'secret', name: 'secret', uid: 'uid-secret' }],
    ['a node', bound('Node', 'node-1'), { kind: 'node', name: 'node-1', uid: 'uid-node' }],
  ] as const) {
    it(what, async () => assert.deepEqual((await ask(spec)).grants[0]?.binding, binding));
  }

  const anotherUid =
    'the UID in the bound object reference (u) does not match the UID in record. The object might have been deleted and then recreated';
  for (const [what, spec, code, message] of [
    ['a pod that is not there', bound('Pod', 'nope'), 404, 'pods "nope" not found'],
    ['a secret that is not there', bound('Secret', 'nope'), 404, 'secrets "nope" not found'],
    ['a secret of another namespace', bound('Secret', 'foreign'), 404, 'secrets "foreign" not found'],
    ['a node that is not there', bound('Node', 'nope'), 404, 'nodes "nope" not found'],
    [
      'a pod with another uid',
      bound('Pod', 'mine', { uid: 'u' }),
      409,
      `Operation cannot be fulfilled on Pod "mine": ${anotherUid}`,
    ],
    ['a secret with another uid', bound('Secret', 'secret', { uid: 'u' }), 409, /Secret "secret"/],
    ['a node with another uid', bound('Node', 'node-1', { uid: 'u' }), 409, /Node "node-1"/],
    [
      'a pod of another account',
      bound('Pod', 'bobs', { uid: 'u' }),
      400,
      'cannot bind token for serviceaccount "alice" to pod running with different serviceaccount name.',
    ],
    ['a config map', bound('ConfigMap', 'x'), 400, 'cannot bind token to object of type /v1, Kind=ConfigMap'],
    [
      'a pod of another group',
      bound('Pod', 'mine', { apiVersion: 'apps/v1' }),
      400,
      'cannot bind token to object of type apps/v1, Kind=Pod',
    ],
    ['nothing', { boundObjectRef: {} }, 400, 'cannot bind token to object of type /, Kind='],
    ['a pod without a name', bound('Pod', ''), 400, /name of the object is required/],
    ['a pod whose name leads elsewhere', bound('Pod', '../other/x'), 400, /may not contain '\/'/],
  ] as const) {
    it(`${what}: ${code}`, async () => {
      const error = await refusal(spec);
      assert.equal(error.code, code);
      if (typeof message === 'string') assert.equal(error.message, message);
      else assert.match(error.message, message);
    });
  }
});
