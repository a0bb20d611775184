import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemRandom } from '../../base/random.ts';
import { systemClock } from '../../base/time/clock.ts';
import { orch } from '../../dialect/orch.ts';
import type { StatusError } from '../../meta/status-error.ts';
import { AdmissionConfigurations } from '../admission-configurations.ts';
import { attributesOf } from '../attributes-fixture.ts';
import { admissionChain } from '../chain.ts';
import { mutatingWebhooks } from './mutating-webhooks.ts';
import type { WebhookOutcome } from './webhook-outcome.ts';

interface Answered {
  /** Of the answer. */
  readonly patch: string;
  readonly patchType?: string;
  readonly allowed?: boolean;
  readonly failurePolicy?: 'Fail' | 'Ignore';
  readonly operation?: 'create' | 'delete';
}

/** What becomes of a write about which a webhook answers so: its object, or the error that its client gets. */
async function judged({
  patch,
  patchType = 'JSONPatch',
  allowed = true,
  failurePolicy = 'Ignore',
  operation,
}: Answered) {
  const configurations = new AdmissionConfigurations();
  const webhook = {
    name: 'judge.example.com',
    rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }],
    clientConfig: { url: 'https://judge.example.com' },
    ...{ failurePolicy, sideEffects: 'None', admissionReviewVersions: ['v1'] },
  };
  configurations.put('mutatingwebhookconfigurations', {
    ...{ apiVersion: 'admissionregistration.orch.io/v1', kind: 'MutatingWebhookConfiguration' },
    metadata: { name: 'judge' },
    webhooks: [webhook],
  });
  const outcomes: WebhookOutcome[] = [];
  const plugin = mutatingWebhooks({
    ...{ dialect: orch, random: systemRandom, clock: systemClock, configurations },
    async send(_client, body) {
      const { apiVersion, kind, request } = JSON.parse(body.toString());
      const response = { uid: request.uid, allowed, patchType, patch: Buffer.from(patch).toString('base64') };
      return { status: 200, body: Buffer.from(JSON.stringify({ apiVersion, kind, response })) };
    },
    upToDate: () => undefined,
    namespaceLabels: () => ({}),
    authorize: () => ({ verdict: 'noOpinion', reason: '' }),
    observed: (outcome) => outcomes.push(outcome),
    conditionsObserved() {},
  });
  const attributes = attributesOf({ object: { data: {} }, ...(operation && { operation }) });
  const error = await Promise.try(() => admissionChain([plugin]).mutate(attributes)).then(
    () => undefined,
    (thrown: StatusError) => thrown,
  );
  const [outcome, ...more] = outcomes;
  assert.equal(more.length, 0);
  return { error, outcome, data: attributes.object?.['data'] };
}

const operations = (...list: readonly unknown[]): string => JSON.stringify(list);

describe('a patch that is wrong is an error of the server, whatever the failure policy', () => {
  const rows: readonly (readonly [what: string, answered: Answered, why: RegExp])[] = [
    ['no JSON', { patch: '{nope' }, /./],
    ['no list', { patch: '{"a":1}' }, /^error decoding patch: expected an array/],
    ['an item that is no operation', { patch: operations(null) }, /\[0\]: expected an object, got null$/],
    [
      'an unknown operation',
      { patch: operations({ op: 'foo', path: '/data' }) },
      /\[0\]\.op: Unsupported value: "foo"/,
    ],
    ['no path', { patch: operations({ op: 'add', value: {} }) }, /\[0\]\.path: Required value$/],
    ['a list that is too long', { patch: operations(...Array(10_001).fill({})) }, / 10000, got 10001$/],
    [
      'a path that does not exist',
      { patch: operations({ op: 'add', path: '/none/a', value: 1 }) },
      /^add operation does not apply: doc is missing path: "\/none\/a": missing value$/,
    ],
    [
      'a test that fails',
      { patch: operations({ op: 'test', path: '/data', value: 1 }) },
      /^testing value \/data failed: test failed$/,
    ],
    ['no JSON, of an unknown type', { patch: '{nope', patchType: 'Merge' }, /./],
    [
      'a deletion, which has no object',
      { patch: operations({ op: 'add', path: '/data', value: {} }), patchType: 'Merge', operation: 'delete' },
      /^admission webhook "judge\.example\.com" attempted to modify the object, which is not supported for this/,
    ],
  ];
  for (const [what, answered, why] of rows) {
    for (const failurePolicy of ['Fail', 'Ignore'] as const) {
      it(`${what}: ${failurePolicy}`, async () => {
        const { error, outcome } = await judged({ ...answered, failurePolicy });
        const prefix = 'Internal error occurred: ';
        assert.deepEqual([error?.code, error?.reason], [500, 'InternalError']);
        assert.equal(error?.message.slice(0, prefix.length), prefix);
        assert.match(error?.message.slice(prefix.length), why);
        assert.deepEqual([outcome?.end, outcome?.code, outcome?.problem], ['broken', 0, undefined]);
      });
    }
  }
});

describe('a patch of an unknown type is a failed call', () => {
  const answered = { patch: operations({ op: 'add', path: '/data', value: {} }), patchType: 'Merge' };
  for (const [failurePolicy, end] of [
    ['Fail', 'failed'],
    ['Ignore', 'ignored'],
  ] as const) {
    it(failurePolicy, async () => {
      const { error, outcome } = await judged({ ...answered, failurePolicy });
      const why = 'failed calling webhook "judge.example.com": unsupported patch type "Merge"';
      assert.equal(error?.message, failurePolicy === 'Fail' ? `Internal error occurred: ${why}` : undefined);
      assert.deepEqual([outcome?.end, outcome?.code, outcome?.problem], [end, 400, why]);
    });
  }
});

describe('a patch that is applied', () => {
  for (const [what, patch, data] of [
    ['adds', operations({ op: 'add', path: '/data/a', value: '1' }), { a: '1' }],
    ['adds null, where it has no value', operations({ op: 'add', path: '/data' }), null],
    ['is null', 'null', {}],
    ['is empty', '[]', {}],
  ] as const) {
    it(what, async () => {
      const { error, outcome, data: after } = await judged({ patch });
      assert.deepEqual([error, outcome?.end, outcome?.code, after], [undefined, 'allowed', 200, data]);
    });
  }
});

it('a refusal is one, whatever patch comes with it', async () => {
  const { error, outcome } = await judged({ allowed: false, patch: '{nope', patchType: 'Merge' });
  assert.match(`${error?.message}`, /^admission webhook "judge\.example\.com" denied the request without explanation$/);
  assert.deepEqual([outcome?.end, outcome?.code], ['refused', 400]);
});
