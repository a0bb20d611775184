import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Evictions within disruption budgets, whose numbers the test sets as their controller would. */

const pods = '/api/v1/namespaces/default/pods';
const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';

interface Budget extends ApiObject {
  readonly status: { readonly disruptionsAllowed: number; readonly disruptedPods?: Readonly<Record<string, string>> };
}

describe('evictions', () => {
  let server: OrchProcess;
  before(async () => {
    server = await OrchProcess.start();
  });
  after(() => server[Symbol.asyncDispose]());

  async function send<T = ApiObject>(method: string, path: string, wanted: number, body?: object): Promise<T> {
    const type = method === 'PATCH' ? 'merge-patch+json' : 'json';
    const sent = body && { body, headers: { 'content-type': `application/${type}` } };
    const { status, json } = await server.request<T>(method, path, sent);
    assert.equal(status, wanted, JSON.stringify(json));
    return json;
  }

  /** A pod that runs and is ready. */
  async function runPod(name: string, app: string): Promise<void> {
    const spec = { terminationGracePeriodSeconds: 0, nodeName: 'n', containers: [{ name: 'c', image: 'i' }] };
    await send('POST', pods, 201, { metadata: { name, labels: { app } }, spec });
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    await send('PATCH', `${pods}/${name}/status`, 200, { status });
  }

  async function budgetOf(app: string, disruptionsAllowed: number): Promise<void> {
    const spec = { minAvailable: 1, selector: { matchLabels: { app } } };
    await send('POST', budgets, 201, { metadata: { name: app }, spec });
    const numbers = { disruptionsAllowed, currentHealthy: 5, desiredHealthy: 1, expectedPods: 5 };
    await send('PATCH', `${budgets}/${app}/status`, 200, { status: { observedGeneration: 1, ...numbers } });
  }

  const evict = (name: string, query = '') =>
    server.request<ApiObject & { readonly details?: object }>('POST', `${pods}/${name}/eviction${query}`, {
      body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: 'default' } },
    });

  it('that come at once take no more than the budget allows', async () => {
    const names = Array.from({ length: 5 }, (_, at) => `many-${at}`);
    for (const name of names) await runPod(name, 'many');
    await budgetOf('many', 3);
    const answers = await Promise.all(names.map((name) => evict(name)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 201, 201, 429, 429]);
    const gone = names.filter((_, at) => answers[at]?.status === 201);
    const budget = await send<Budget>('GET', `${budgets}/many`, 200);
    assert.equal(budget.status.disruptionsAllowed, 0);
    assert.deepEqual(Object.keys(budget.status.disruptedPods ?? {}).sort(), gone);
    const { managedFields = [] } = budget.metadata;
    const owner = managedFields.find(({ manager }) => manager === 'apiserver');
    assert.deepEqual([owner?.operation, owner?.subresource], ['Update', 'status']);
    for (const name of names) await send('GET', `${pods}/${name}`, gone.includes(name) ? 404 : 200);
  });

  it('are refused with the numbers of the budget, and leave the pod as it is', async () => {
    await runPod('kept', 'kept');
    await budgetOf('kept', 0);
    const before = await send('GET', `${pods}/kept`, 200);
    for (const query of ['', '?dryRun=All']) {
      const { status, json } = await evict('kept', query);
      assert.equal(status, 429);
      assert.equal(json['message'], "Cannot evict pod as it would violate the pod's disruption budget.");
      const message = 'The disruption budget kept needs 1 healthy pods and has 5 currently';
      assert.deepEqual(json.details, { causes: [{ reason: 'DisruptionBudget', message }] });
    }
    assert.deepEqual(await send('GET', `${pods}/kept`, 200), before);
  });

  it('are not counted in a dry run', async () => {
    await runPod('dry', 'dry');
    await budgetOf('dry', 1);
    assert.equal((await evict('dry', '?dryRun=All')).status, 201);
    const body = { metadata: { name: 'dry' }, deleteOptions: { dryRun: ['All'] } };
    await send('POST', `${pods}/dry/eviction`, 201, body);
    const budget = await send<Budget>('GET', `${budgets}/dry`, 200);
    assert.deepEqual([budget.status.disruptionsAllowed, budget.status.disruptedPods], [1, undefined]);
    await send('GET', `${pods}/dry`, 200);
  });

  it('fail where there are several budgets', async () => {
    await runPod('twice', 'twice');
    await budgetOf('twice', 1);
    const selector = { matchLabels: { app: 'twice' } };
    await send('POST', budgets, 201, { metadata: { name: 'twice-more' }, spec: { minAvailable: 1, selector } });
    const { status, json } = await evict('twice');
    assert.deepEqual([status, json['code']], [500, 500]);
    assert.match(String(json['message']), /^This pod has more than one PodDisruptionBudget/);
  });

  it('say why the pod goes as long as something holds it', async () => {
    await runPod('held', 'held');
    await send('PATCH', `${pods}/held`, 200, { metadata: { finalizers: ['example.com/hold'] } });
    assert.equal((await evict('held')).status, 201);
    const { status, metadata } = await send('GET', `${pods}/held`, 200);
    assert.ok(metadata.deletionTimestamp);
    const { conditions } = status as {
      readonly conditions: readonly { readonly type: string; readonly reason?: string }[];
    };
    assert.equal(conditions.find(({ type }) => type === 'DisruptionTarget')?.reason, 'EvictionByEvictionAPI');
  });
});
