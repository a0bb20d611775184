import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemRandom } from '../../base/random.ts';
import { systemClock } from '../../base/time/clock.ts';
import { orch } from '../../dialect/orch.ts';
import { StatusError } from '../../meta/status-error.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import { AdmissionConfigurations } from '../admission-configurations.ts';
import { attributesOf } from '../attributes-fixture.ts';
import type { SendReview } from './call-webhook.ts';
import { validatingWebhooks } from './validating-webhooks.ts';
import type { WebhookOutcome } from './webhook-outcome.ts';

/** What becomes of a request when a webhook with failurePolicy Ignore cannot be asked. */
function judge(send: SendReview) {
  const configurations = new AdmissionConfigurations();
  const rules = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }];
  const clientConfig = { url: 'https://judge.example.com' };
  configurations.put('validatingwebhookconfigurations', {
    ...{ apiVersion: 'admissionregistration.orch.io/v1', kind: 'ValidatingWebhookConfiguration' },
    metadata: { name: 'judge' },
    webhooks: [
      { name: 'judge.example.com', rules, clientConfig, failurePolicy: 'Ignore', admissionReviewVersions: ['v1'] },
    ],
  });
  const outcomes: WebhookOutcome['end'][] = [];
  const plugin = validatingWebhooks({
    ...{ dialect: orch, random: systemRandom, clock: systemClock, configurations, send },
    upToDate: () => undefined,
    namespaceLabels: () => ({}),
    authorize: () => ({ verdict: 'noOpinion', reason: '' }),
    observed: ({ end }) => outcomes.push(end),
    conditionsObserved() {},
  });
  return {
    outcomes,
    judged: async (more: Partial<AdmissionAttributes> = {}) =>
      plugin.validate?.({ ...attributesOf({ namespace: 'n' }), ...more }),
  };
}

describe('a webhook whose failures are ignored', () => {
  it('lets a request pass if it cannot be reached', async () => {
    const { outcomes, judged } = judge(() => Promise.reject(new Error('connection refused')));
    await judged();
    assert.deepEqual(outcomes, ['ignored']);
  });

  for (const [reason, message] of [
    ['TooManyRequests', 'too many requests wait for webhooks'],
    ['Timeout', 'the request has ended'],
  ] as const) {
    it(`lets none pass that it was not asked about: ${message}`, async () => {
      const { judged } = judge(() => Promise.reject(new StatusError(reason, message)));
      await assert.rejects(judged(), { reason });
    });
  }
});

describe('a request that a webhook cannot be asked about', () => {
  const unasked: SendReview = () => assert.fail('the webhook is asked');
  it('since its objects cannot be converted, is no failure of the webhook', async () => {
    const { outcomes, judged } = judge(unasked);
    const failed = new StatusError('InternalError', 'conversion webhook failed');
    await assert.rejects(judged({ inVersion: () => Promise.reject(failed) }), failed);
    assert.deepEqual(outcomes, []);
  });
  it('since it is a dry run, counts as an error, and nothing is said of a failure', async () => {
    const { outcomes, judged } = judge(unasked);
    await assert.rejects(judged({ dryRun: true }), { reason: 'BadRequest' });
    assert.deepEqual(outcomes, ['broken']);
  });
});
