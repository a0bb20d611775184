import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { makeCertificate } from '../../src/pki/certificate-fixture.ts';
import { makeRequest, requestToPem } from '../../src/pki/certificate-request-fixture.ts';
import type { UserInfo } from '../../src/request/user-info.ts';
import { root, serverForSuite } from '../support/in-process-server.ts';

/**
 * The states of a CertificateSigningRequest (spec section 3.1): random updates by random users through every endpoint,
 * in every form, compared with a model of what each may do. `ORCH_REQUEST_SEQUENCES` makes it longer.
 */
const sequences = Number(process.env['ORCH_REQUEST_SEQUENCES'] ?? 300);

const group = 'certificates.orch.io';
const path = `/apis/${group}/v1/certificatesigningrequests`;
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const certificates = ['one', 'two'].map((name) => base64(makeCertificate({ name }).cert));
const request = base64(requestToPem(makeRequest()));

const endpoints = ['', 'approval', 'status'] as const;
const forms = ['put', 'merge', 'json', 'strategic', 'apply'] as const;
/** `bystander` may update everything, and neither approve nor sign. */
const actors = ['root', 'approver', 'signer', 'bystander'] as const;
const permanent = ['Approved', 'Denied', 'Failed'];
const decisions = ['Approved', 'Denied'];

type Endpoint = (typeof endpoints)[number];
type Form = (typeof forms)[number];
type Actor = (typeof actors)[number];

/** What one update does to the status that its user has read. */
type Change =
  | { readonly type: 'set'; readonly condition: string; readonly status: string }
  | { readonly type: 'remove'; readonly condition: string }
  | { readonly type: 'certificate'; readonly value: string | undefined };

interface Update {
  readonly endpoint: Endpoint;
  readonly form: Form;
  readonly actor: Actor;
  readonly changes: readonly Change[];
}

const condition = fc.constantFrom(...permanent, 'Ready');
const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('set' as const),
      condition,
      status: fc.constantFrom('True', 'True', 'True', 'False', 'Unknown'),
    }),
  },
  fc.record({ type: fc.constant('remove' as const), condition }),
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('certificate' as const),
      value: fc.constantFrom(...certificates, undefined, base64('junk')),
    }),
  },
);
const update: fc.Arbitrary<Update> = fc.record({
  endpoint: fc.constantFrom(...endpoints, 'approval' as const, 'status' as const),
  form: fc.constantFrom(...forms),
  actor: fc.constantFrom(...actors, 'root' as const),
  changes: fc.array(change, { minLength: 1, maxLength: 3 }),
});

/** The state of a request: the status of each condition, and the certificate. */
interface State {
  readonly conditions: ReadonlyMap<string, string>;
  readonly certificate: string | undefined;
}

const created: State = { conditions: new Map(), certificate: undefined };

/** What a user means by an update; `undefined` if the form cannot say it. Conditions stay in their places. */
function intended(before: State, { form, changes }: Update): State | undefined {
  const conditions = new Map<string, string | undefined>(before.conditions);
  let { certificate } = before;
  for (const each of changes) {
    // A manager that has applied nothing before removes nothing.
    const removes = each.type === 'remove' || (each.type === 'certificate' && each.value === undefined);
    if (form === 'apply' && removes) return undefined;
    if (each.type === 'certificate') certificate = each.value;
    else conditions.set(each.condition, each.type === 'set' ? each.status : undefined);
  }
  const kept = [...conditions].flatMap(([type, status]) => (status === undefined ? [] : [[type, status] as const]));
  return { conditions: new Map(kept), certificate };
}

type Verdict = { readonly type: 'refused' } | { readonly type: 'stored'; readonly state: State };
const refused: Verdict = { type: 'refused' };
const has = ({ conditions }: State, ...types: readonly string[]): boolean => types.some((type) => conditions.has(type));

/** The model. */
function expected(before: State, wanted: State, { endpoint, actor }: Update): Verdict {
  if (endpoint === '') return actor === 'root' || actor === 'bystander' ? { type: 'stored', state: before } : refused;
  return endpoint === 'approval' ? expectedOfApproval(before, wanted, actor) : expectedOfStatus(before, wanted, actor);
}

function expectedOfApproval(before: State, wanted: State, actor: Actor): Verdict {
  if (actor !== 'root' && actor !== 'approver') return refused;
  const state = { ...wanted, certificate: before.certificate };
  return isBroken(before, state) ? refused : { type: 'stored', state };
}

function expectedOfStatus(before: State, wanted: State, actor: Actor): Verdict {
  if (actor === 'approver') return refused;
  const conditions = new Map(wanted.conditions);
  for (const type of decisions) {
    const stored = before.conditions.get(type);
    if ((stored === undefined) !== !conditions.has(type)) return refused;
    if (stored !== undefined) conditions.set(type, stored);
  }
  const state = { conditions, certificate: wanted.certificate };
  const changed = state.certificate !== before.certificate;
  if (changed && (before.certificate !== undefined || !certificates.includes(state.certificate ?? ''))) return refused;
  const signs = changed || !isDeepStrictEqual(state.conditions, before.conditions);
  if (isBroken(before, state) || (actor === 'bystander' && signs)) return refused;
  return { type: 'stored', state };
}

const isBroken = (before: State, after: State): boolean =>
  permanent.some(
    (type) => (has(before, type) && !has(after, type)) || (has(after, type) && after.conditions.get(type) !== 'True'),
  ) ||
  (has(after, 'Approved') && has(after, 'Denied')) ||
  (has(after, 'Denied', 'Failed') && after.certificate !== undefined);

interface StoredCondition {
  readonly type: string;
  readonly status: string;
  readonly lastUpdateTime?: string;
  readonly lastTransitionTime?: string;
}

interface StoredRequest {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly spec: unknown;
  readonly status: { readonly conditions?: readonly StoredCondition[]; readonly certificate?: string };
}

const stateOf = ({ status: { conditions = [], certificate } }: StoredRequest): State => ({
  conditions: new Map(conditions.map(({ type, status }) => [type, status])),
  certificate,
});

const userOf = (name: Actor): UserInfo =>
  name === 'root' ? root : { username: name, uid: '', groups: ['system:authenticated'], extra: {} };

describe('the states of a certificate signing request', () => {
  const running = serverForSuite();
  let count = 0;

  const send = async (
    method: 'GET' | 'POST' | 'PUT' | 'PATCH',
    target: string,
    body: unknown,
    actor: Actor,
    type = 'json',
  ) => {
    const headers = { 'content-type': `application/${type}` };
    const sent = body === undefined ? { method, target } : { method, target, headers, body: JSON.stringify(body) };
    const response = await running.server.transportAs(userOf(actor)).send(sent);
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    return { status: response.status, json: JSON.parse(Buffer.concat(chunks).toString()) };
  };

  before(async () => {
    const resource = (name: string) => ({
      apiGroups: [group],
      resources: [`certificatesigningrequests${name}`],
      verbs: ['get', 'update', 'patch'],
    });
    const signers = (verb: string) => ({ apiGroups: [group], resources: ['signers'], verbs: [verb] });
    const rules = {
      approver: [resource('/approval'), signers('approve')],
      signer: [resource('/status'), signers('sign')],
      bystander: [resource(''), resource('/approval'), resource('/status')],
    };
    for (const [name, granted] of Object.entries(rules)) {
      const rbac = '/apis/rbac.authorization.orch.io/v1';
      const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.orch.io', name }];
      const roleRef = { apiGroup: 'rbac.authorization.orch.io', kind: 'ClusterRole', name };
      for (const [resource, body] of [
        ['clusterroles', { metadata: { name }, rules: granted }],
        ['clusterrolebindings', { metadata: { name }, subjects, roleRef }],
      ] as const) {
        assert.equal((await send('POST', `${rbac}/${resource}`, body, 'root')).status, 201);
      }
    }
  });

  /** The update as its form sends it, on top of what is stored. */
  const perform = (stored: StoredRequest, wanted: State, { endpoint, form, actor, changes }: Update) => {
    const target = `${path}/${stored.metadata.name}${endpoint && `/${endpoint}`}`;
    const old = new Map((stored.status.conditions ?? []).map((each) => [each.type, each]));
    const conditions = [...wanted.conditions].map(([type, status]) => ({ ...old.get(type), type, status }));
    const { certificate } = wanted;
    switch (form) {
      case 'put':
        return send(
          'PUT',
          target,
          { ...stored, status: { conditions, ...(certificate !== undefined && { certificate }) } },
          actor,
        );
      case 'merge':
        return send(
          'PATCH',
          target,
          { status: { conditions, certificate: certificate ?? null } },
          actor,
          'merge-patch+json',
        );
      case 'json':
        return send(
          'PATCH',
          target,
          [
            {
              op: 'replace',
              path: '/status',
              value: { conditions, ...(certificate !== undefined && { certificate }) },
            },
          ],
          actor,
          'json-patch+json',
        );
      case 'strategic': {
        const removed = [...old.keys()]
          .filter((type) => !wanted.conditions.has(type))
          .map((type) => ({ $patch: 'delete', type }));
        return send(
          'PATCH',
          target,
          { status: { conditions: [...conditions, ...removed], certificate: certificate ?? null } },
          actor,
          'strategic-merge-patch+json',
        );
      }
      case 'apply': {
        const set = new Set(changes.flatMap((each) => (each.type === 'set' ? [each.condition] : [])));
        const signs = changes.some(({ type }) => type === 'certificate');
        const status = {
          conditions: conditions.filter(({ type }) => set.has(type)).map(({ type, status }) => ({ type, status })),
          ...(signs && certificate !== undefined && { certificate }),
        };
        const config = {
          apiVersion: `${group}/v1`,
          kind: 'CertificateSigningRequest',
          metadata: { name: stored.metadata.name },
          status,
        };
        return send('PATCH', `${target}?force=true&fieldManager=m${count++}`, config, actor, 'apply-patch+yaml');
      }
    }
  };

  it('are those of the model, whatever is sent', async () => {
    let [stored, refusals] = [0, 0];
    await fc.assert(
      fc.asyncProperty(fc.array(update, { minLength: 1, maxLength: 12 }), async (updates) => {
        const name = `r${count++}`;
        const spec = { request, signerName: 'example.com/one', usages: ['client auth'] };
        const made = await send('POST', path, { metadata: { name }, spec }, 'root');
        assert.equal(made.status, 201, made.json.message);
        let state = created;
        for (const each of updates) {
          const { json: now } = (await send('GET', `${path}/${name}`, undefined, 'root')) as {
            readonly json: StoredRequest;
          };
          const wanted = intended(state, each);
          if (!wanted) continue;
          const answer = await perform(now, wanted, each);
          const verdict = expected(state, wanted, each);
          if (verdict.type === 'stored') {
            assert.equal(answer.status, 200, answer.json.message);
            state = verdict.state;
            stored++;
          } else {
            assert.ok([403, 422].includes(answer.status), `${answer.status}: expected a refusal`);
            refusals++;
          }
          const { json: after } = (await send('GET', `${path}/${name}`, undefined, 'root')) as {
            readonly json: StoredRequest;
          };
          assert.deepEqual(stateOf(after), state);
          checkAllowed(now, after);
        }
      }),
      { numRuns: sequences },
    );
    assert.ok(
      stored > sequences / 2 && refusals > sequences / 2,
      `${stored} stored, ${refusals} refused: too few to say much`,
    );
  });
});

/** The rules of the specification, said apart from the model. */
function checkAllowed(before: StoredRequest, after: StoredRequest): void {
  const conditions = after.status.conditions ?? [];
  const types = conditions.map(({ type }) => type);
  assert.equal(new Set(types).size, types.length, 'a condition is there twice');
  assert.ok(!(types.includes('Approved') && types.includes('Denied')), 'approved and denied');
  assert.ok(!after.status.certificate || !(types.includes('Denied') || types.includes('Failed')), 'refused and issued');
  for (const { type, status, lastUpdateTime, lastTransitionTime } of conditions) {
    assert.ok(status === 'True' || !permanent.includes(type), `${type} is ${status}`);
    assert.ok(lastUpdateTime && lastTransitionTime, `${type} has no times`);
  }
  for (const { type } of before.status.conditions ?? []) {
    assert.ok(types.includes(type) || !permanent.includes(type), `${type} was removed`);
  }
  assert.ok(
    !before.status.certificate || before.status.certificate === after.status.certificate,
    'another certificate',
  );
  assert.deepEqual(after.spec, before.spec);
}
