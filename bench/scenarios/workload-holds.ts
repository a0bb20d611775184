import { create, json, jsonBody, until } from '../api-objects.ts';
import type { Product } from '../product.ts';
import { sizes } from '../scale.ts';
import type { Scenario } from '../scenario.ts';
import { Turns } from '../turns.ts';

const namespace = 'busy';
const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`;
const pods = `/api/v1/namespaces/${namespace}/pods`;
const rollOutMsMax = 120_000;
const labels = { app: 'busy' };
const template = (image: string): object => ({
  metadata: { labels },
  spec: { containers: [{ name: 'one', image }] },
});

/** The longest turn of the event loop while controllers make, replace and remove thousands of pods. */
export const workloadHolds: Scenario = {
  name: 'workload-holds',
  async run(context) {
    const turns = new Turns(context, `a Deployment of ${sizes.replicas} pods`);
    await using product = await context.start({ flags: ['--controllers=*,workloads', '--simulated-nodes=3'] });
    const { api } = product;
    const probe = await product.turnProbe();
    const spec = { replicas: sizes.replicas, selector: { matchLabels: labels }, template: template('first') };
    const busy = `${deployments}/busy`;
    const change = (body: object): Promise<unknown> =>
      api.expect(200, busy, {
        method: 'PATCH',
        headers: { ...json, 'content-type': 'application/merge-patch+json' },
        body: jsonBody(body),
      });

    await create(api, '/api/v1/namespaces', { metadata: { name: namespace } });
    await turns.of('made, until all run', probe, async () => {
      await create(api, deployments, { metadata: { name: 'busy' }, spec });
      await rolledOut(product);
    });
    await turns.of('another image, until all are replaced', probe, async () => {
      await change({ spec: { template: template('second') } });
      await rolledOut(product);
    });
    await turns.of('DELETE of all pods, until others run', probe, async () => {
      await api.expect(200, pods, { method: 'DELETE' });
      await rolledOut(product);
    });
    await turns.of('DELETE of the Deployment, until no pod is left', probe, async () => {
      await api.expect(200, busy, { method: 'DELETE' });
      await until('all pods are gone', async () => ((await countPods(product)) === 0 ? true : undefined), rollOutMsMax);
    });
    return turns.rows();
  },
};

interface Deployment {
  readonly metadata: { readonly generation: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
    readonly replicas?: number;
  };
}

/** As a client that waits for a roll-out looks at it. */
const rolledOut = ({ api }: Product): Promise<true> =>
  until(
    'all pods run',
    async () => {
      const { metadata, status = {} }: Deployment = JSON.parse(
        (await api.expect(200, `${deployments}/busy`)).body.toString(),
      );
      const counts = [status.replicas, status.updatedReplicas, status.availableReplicas];
      const isSeen = status.observedGeneration === metadata.generation;
      return isSeen && counts.every((count) => count === sizes.replicas) ? true : undefined;
    },
    rollOutMsMax,
  );

async function countPods({ api }: Product): Promise<number> {
  const { body } = await api.expect(200, `${pods}?limit=1`);
  const { items, metadata }: { items: unknown[]; metadata: { remainingItemCount?: number } } = JSON.parse(
    body.toString(),
  );
  return items.length + (metadata.remainingItemCount ?? 0);
}
