import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemRandom } from '../../base/random.ts';
import { systemClock } from '../../base/time/clock.ts';
import { orch } from '../../dialect/orch.ts';
import { AdmissionConfigurations } from '../admission-configurations.ts';
import { attributesOf } from '../attributes-fixture.ts';
import { admissionChain } from '../chain.ts';
import { mutatingWebhooks } from './mutating-webhooks.ts';
import type { WebhookOutcome } from './webhook-outcome.ts';

/** How a call is counted whose webhook answers with a patch. */
async function outcomesOf(patch: readonly object[]): Promise<readonly WebhookOutcome[]> {
  const configurations = new AdmissionConfigurations();
  const webhook = {
    name: 'judge.example.com',
    rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }],
    clientConfig: { url: 'https://judge.example.com' },
    ...{ failurePolicy: 'Ignore', sideEffects: 'None', admissionReviewVersions: ['v1'] },
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
      const changes = { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') };
      const response = { uid: request.uid, allowed: true, ...changes };
      return { status: 200, body: Buffer.from(JSON.stringify({ apiVersion, kind, response })) };
    },
    upToDate: () => undefined,
    namespaceLabels: () => ({}),
    authorize: () => ({ verdict: 'noOpinion', reason: '' }),
    observed: (outcome) => outcomes.push(outcome),
    conditionsObserved() {},
  });
  const chain = admissionChain([plugin]);
  await Promise.try(() => chain.mutate(attributesOf({ object: { data: {} } }))).catch(() => {});
  return outcomes;
}

describe('a call is counted', () => {
  for (const [what, path, end] of [
    ['as allowed with its patch', '/data/a', 'allowed'],
    ['as an error of the server where its patch does not apply, which no policy ignores', '/none/a', 'broken'],
  ] as const) {
    it(what, async () => {
      const [outcome, ...more] = await outcomesOf([{ op: 'add', path, value: '1' }]);
      assert.deepEqual([outcome?.end, outcome?.problem, more.length], [end, undefined, 0]);
    });
  }
});
