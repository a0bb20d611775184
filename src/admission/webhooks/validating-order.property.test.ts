import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { systemRandom } from '../../base/random.ts';
import { systemClock } from '../../base/time/clock.ts';
import { orch } from '../../dialect/orch.ts';
import { StatusError } from '../../meta/status-error.ts';
import { AdmissionConfigurations } from '../admission-configurations.ts';
import { attributesOf } from '../attributes-fixture.ts';
import type { SendReview } from './call-webhook.ts';
import { validatingWebhooks } from './validating-webhooks.ts';

/** The order of configurations, in which they were written or in which their webhooks answer, decides nothing. */

interface Judge {
  readonly name: string;
  readonly failurePolicy: 'Fail' | 'Ignore';
  readonly condition: 'none' | 'true' | 'false' | 'error';
  /** What it does when it is asked: a code is that of a refusal. */
  readonly does: 'allow' | 'hang up' | 'lie' | number;
}

interface Configuration {
  readonly name: string;
  readonly webhooks: readonly Judge[];
}

const judge: fc.Arbitrary<Judge> = fc.record({
  name: fc.constantFrom('a.example.com', 'b.example.com', 'c.example.com'),
  failurePolicy: fc.constantFrom('Fail', 'Ignore'),
  condition: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('none', 'true') },
    { weight: 1, arbitrary: fc.constantFrom('false', 'error') },
  ),
  does: fc.oneof(
    { weight: 5, arbitrary: fc.constant('allow' as const) },
    { weight: 2, arbitrary: fc.constantFrom(400, 403, 409, 422, 429, 503) },
    { weight: 2, arbitrary: fc.constantFrom('hang up' as const, 'lie' as const) },
  ),
});

const name = fc.stringMatching(/^[a-c][a-c.-]{0,3}[a-c0]$/);

/** At least two, in an order in which they are written, and another. */
const written = fc
  .uniqueArray(fc.record({ name, webhooks: fc.array(judge, { minLength: 1, maxLength: 3 }) }), {
    ...{ minLength: 2, maxLength: 5 },
    selector: (configuration) => configuration.name,
  })
  .chain((configurations) =>
    fc.record({
      configurations: fc.constant<readonly Configuration[]>(configurations),
      permuted: fc.shuffledSubarray(configurations, { minLength: configurations.length }),
    }),
  );

const conditions: Readonly<Record<Judge['condition'], readonly object[]>> = {
  none: [],
  true: [{ name: 'c', expression: 'true' }],
  false: [{ name: 'c', expression: 'false' }],
  error: [{ name: 'c', expression: 'object.data.missing == "x"' }],
};

const objectOf = ({ name: configuration, webhooks }: Configuration) => ({
  ...{ apiVersion: 'admissionregistration.orch.io/v1', kind: 'ValidatingWebhookConfiguration' },
  metadata: { name: configuration },
  webhooks: webhooks.map((each, at) => ({
    ...{ name: each.name, failurePolicy: each.failurePolicy, matchConditions: conditions[each.condition] },
    rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }],
    clientConfig: { url: `https://${configuration}/${at}` },
    ...{ sideEffects: 'None', admissionReviewVersions: ['v1'] },
  })),
});

/** `allowed`, or code and message of the refusal. */
async function verdictOf(configurations: readonly Configuration[], scheduler: fc.Scheduler): Promise<string> {
  const followed = new AdmissionConfigurations();
  const judges = new Map<string, Judge>();
  for (const each of configurations) {
    followed.put('validatingwebhookconfigurations', objectOf(each));
    for (const [at, webhook] of each.webhooks.entries()) judges.set(`https://${each.name}/${at}`, webhook);
  }
  const send: SendReview = async ({ url = '' }, body) => {
    const { does } = judges.get(url) ?? assert.fail(url);
    await scheduler.schedule(Promise.resolve(), url);
    if (does === 'hang up') throw new Error('hung up');
    const { apiVersion, kind, request } = JSON.parse(body.toString());
    const status = typeof does === 'number' ? { code: does, message: url } : {};
    const response = { uid: does === 'lie' ? 'another' : request.uid, allowed: does === 'allow', status };
    return { status: 200, body: Buffer.from(JSON.stringify({ apiVersion, kind, response })) };
  };
  const plugin = validatingWebhooks({
    ...{ dialect: orch, random: systemRandom, clock: systemClock, configurations: followed, send },
    upToDate: () => undefined,
    namespaceLabels: () => ({}),
    authorize: () => ({ verdict: 'noOpinion', reason: '' }),
    observed() {},
    conditionsObserved() {},
  });
  try {
    await scheduler.waitFor(Promise.resolve(plugin.validate?.(attributesOf({ object: { data: {} } }))));
    return 'allowed';
  } catch (error) {
    if (error instanceof StatusError) return `${error.code} ${error.message.replace(/uid="[^"]*"/g, 'uid=""')}`;
    throw error;
  }
}

/** What is to come of it: `allowed`, or the code. */
function expectedOf(configurations: readonly Configuration[]): string {
  const inOrder = configurations.toSorted((a, b) => (a.name < b.name ? -1 : 1)).flatMap(({ webhooks }) => webhooks);
  if (inOrder.some(({ condition, failurePolicy }) => condition === 'error' && failurePolicy === 'Fail')) return '403';
  for (const { condition, does, failurePolicy } of inOrder) {
    if (condition === 'false' || condition === 'error' || does === 'allow') continue;
    if (typeof does === 'number') return String(does);
    if (failurePolicy === 'Fail') return '500';
  }
  return 'allowed';
}

it('the verdict is that of the first configuration by name that refuses, however they were written and whoever answers first', async () => {
  await fc.assert(
    fc.asyncProperty(written, fc.scheduler(), fc.scheduler(), async ({ configurations, permuted }, one, other) => {
      const [verdict, again] = [await verdictOf(configurations, one), await verdictOf(permuted, other)];
      assert.equal(again, verdict);
      assert.equal(verdict.split(' ')[0], expectedOf(configurations));
    }),
    { numRuns: 300 },
  );
});

it('whether it is allowed does not depend on the names of configurations', async () => {
  const renamed = fc.record({
    written,
    prefixes: fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 5, maxLength: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(
      renamed,
      fc.scheduler(),
      fc.scheduler(),
      async ({ written: { configurations }, prefixes }, one, other) => {
        const others = configurations.map((each, at) => ({ ...each, name: `${prefixes[at]}.${each.name}` }));
        const isAllowed = async (some: readonly Configuration[], scheduler: fc.Scheduler) =>
          (await verdictOf(some, scheduler)) === 'allowed';
        assert.equal(await isAllowed(others, other), await isAllowed(configurations, one));
      },
    ),
    { numRuns: 200 },
  );
});
