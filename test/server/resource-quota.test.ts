import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { systemEnvironment } from '../../src/server/wiring/environment.ts';
import { definitionOf, definitionPath } from '../support/custom-resources.ts';
import { root, Side, serverForSuite } from '../support/in-process-server.ts';
import { Lag, SharedStore } from '../support/shared-store.ts';

/** Quotas with their admission and their controller. */
const controllers = { run: ['resourcequota-controller'], rootAuthority: '' } as const;

interface QuotaStatus {
  readonly hard?: Readonly<Record<string, string>>;
  readonly used?: Readonly<Record<string, string>>;
}

const path = (namespace: string, resource: string, name?: string): string =>
  `/api/v1/namespaces/${namespace}/${resource}${name === undefined ? '' : `/${name}`}`;

async function statusOf(side: Side, namespace: string, name = 'q'): Promise<QuotaStatus> {
  return (await side.get(path(namespace, 'resourcequotas', name))).json.status as QuotaStatus;
}

const makeNamespace = (side: Side, name: string) => side.create('/api/v1/namespaces', { metadata: { name } });

/** Makes a quota, and waits until all of it is known. */
async function makeQuota(side: Side, namespace: string, spec: object, name = 'q'): Promise<void> {
  await side.create(path(namespace, 'resourcequotas'), { metadata: { name }, spec });
  await untilUsed(side, namespace, (used) => Object.keys(used).length > 0, name);
}

const untilUsed = (
  side: Side,
  namespace: string,
  isSo: (used: Readonly<Record<string, string>>) => boolean,
  name = 'q',
): Promise<void> => until(async () => isSo((await statusOf(side, namespace, name)).used ?? {}));

describe('a quota', () => {
  const running = serverForSuite(systemEnvironment, { controllers });
  const post = (namespace: string, resource: string, body: object, query = '') =>
    running.side.send('POST', `${path(namespace, resource)}${query}`, body);
  const configMap = (name: string) => ({ metadata: { name } });

  it('is charged by creations, gives back what is deleted, and refuses what is too much', async () => {
    const { side } = running;
    await makeNamespace(side, 'counted');
    await side.create(path('counted', 'configmaps'), configMap('before'));
    await makeQuota(side, 'counted', { hard: { configmaps: '2', 'count/configmaps': '3' } });
    await untilUsed(side, 'counted', (used) => used['configmaps'] === '1' && used['count/configmaps'] === '1');
    assert.equal((await post('counted', 'configmaps', configMap('dry'), '?dryRun=All')).status, 201);
    assert.equal((await post('counted', 'configmaps', configMap('a'))).status, 201);
    assert.deepEqual((await statusOf(side, 'counted')).used, { configmaps: '2', 'count/configmaps': '2' });
    for (const query of ['', '?dryRun=All']) {
      const { status, json } = await post('counted', 'configmaps', configMap('b'), query);
      assert.equal(status, 403);
      assert.equal(
        json.message,
        'configmaps "b" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2',
      );
    }
    await side.send('DELETE', path('counted', 'configmaps', 'before'));
    await untilUsed(side, 'counted', (used) => used['configmaps'] === '1' && used['count/configmaps'] === '1');
    assert.equal((await post('counted', 'configmaps', configMap('b'))).status, 201);
  });

  it('with generated names is charged once for each object', async () => {
    const { side } = running;
    await makeNamespace(side, 'generated');
    await makeQuota(side, 'generated', { hard: { secrets: '100' } });
    for (let count = 0; count < 5; count++) {
      assert.equal((await post('generated', 'secrets', { metadata: { generateName: 's-' } })).status, 201);
    }
    assert.deepEqual((await statusOf(side, 'generated')).used, { secrets: '5' });
  });

  it('of a new limit counts anew', async () => {
    const { side } = running;
    await makeNamespace(side, 'changed');
    await makeQuota(side, 'changed', { hard: { configmaps: '1' } });
    await side.create(path('changed', 'configmaps'), configMap('a'));
    await side.create(path('changed', 'secrets'), { metadata: { name: 's' } });
    const { json } = await side.get(path('changed', 'resourcequotas', 'q'));
    const hard = { configmaps: '2', secrets: '1' };
    const { status } = await side.send('PUT', path('changed', 'resourcequotas', 'q'), { ...json, spec: { hard } });
    assert.equal(status, 200);
    await untilUsed(side, 'changed', (used) => used['secrets'] === '1');
    assert.deepEqual(await statusOf(side, 'changed'), { hard, used: { configmaps: '1', secrets: '1' } });
  });

  it('is refused where its usage is unknown', async () => {
    const { side } = running;
    await makeNamespace(side, 'unknown');
    const name = 'count/gadgets.example.com';
    await side.create(path('unknown', 'resourcequotas'), {
      metadata: { name: 'q' },
      spec: { hard: { configmaps: '1' } },
    });
    await untilUsed(side, 'unknown', (used) => used['configmaps'] === '0');
    const { json } = await side.get(path('unknown', 'resourcequotas', 'q'));
    const status = { hard: { configmaps: '1', [name]: '1' } };
    await side.send('PUT', path('unknown', 'resourcequotas', 'q/status'), { ...json, status });
    const answer = await post('unknown', 'configmaps', configMap('a'));
    assert.equal(answer.status, 403);
    assert.equal(
      answer.json.message,
      'configmaps "a" is forbidden: status unknown for quota: q, resources: configmaps',
    );
  });
});

describe('what quotas count', () => {
  const running = serverForSuite(systemEnvironment, { controllers });
  const post = (namespace: string, resource: string, body: object) =>
    running.side.send('POST', path(namespace, resource), body);

  it('pods by what they request, until they are finished, and as objects while they are stored', async () => {
    const { side } = running;
    await makeNamespace(side, 'pods');
    await side.create(path('pods', 'serviceaccounts'), { metadata: { name: 'default' } });
    const hard = { pods: '3', 'count/pods': '3', 'requests.cpu': '1', 'limits.cpu': '2' };
    await makeQuota(side, 'pods', { hard });
    const pod = (name: string, requests?: object, limits?: object) => ({
      metadata: { name },
      spec: {
        containers: [
          { name: 'c', image: 'i', resources: { ...(requests && { requests }), ...(limits && { limits }) } },
        ],
      },
    });
    const open = await post('pods', 'pods', pod('p', { cpu: '600m' }));
    assert.equal(open.json.message, 'pods "p" is forbidden: failed quota: q: must specify limits.cpu for: c');
    assert.equal((await post('pods', 'pods', pod('p', { cpu: '600m' }, { cpu: '1' }))).status, 201);
    const used = { pods: '1', 'count/pods': '1', 'requests.cpu': '600m', 'limits.cpu': '1' };
    assert.deepEqual((await statusOf(side, 'pods')).used, used);
    const second = pod('r', { cpu: '500m' }, { cpu: '1' });
    const refused = await post('pods', 'pods', second);
    assert.equal(
      refused.json.message,
      'pods "r" is forbidden: exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, limited: requests.cpu=1',
    );
    const { json } = await side.get(path('pods', 'pods', 'p'));
    const done = { ...json, status: { ...(json.status as object), phase: 'Succeeded' } };
    assert.equal((await side.send('PUT', path('pods', 'pods', 'p/status'), done)).status, 200);
    await untilUsed(side, 'pods', (now) => now['pods'] === '0');
    assert.deepEqual((await statusOf(side, 'pods')).used, {
      pods: '0',
      'count/pods': '1',
      'requests.cpu': '0',
      'limits.cpu': '0',
    });
    assert.equal((await post('pods', 'pods', second)).status, 201);
  });

  it('objects of scopes', async () => {
    const { side } = running;
    await makeNamespace(side, 'scopes');
    await side.create(path('scopes', 'serviceaccounts'), { metadata: { name: 'default' } });
    const pod = (name: string, more: object) => ({
      ...{ metadata: { name }, spec: { containers: [{ name: 'c', image: 'i' }], ...more } },
    });
    await side.create(path('scopes', 'pods'), pod('short', { activeDeadlineSeconds: 5 }));
    await side.create(path('scopes', 'pods'), pod('long', {}));
    await makeQuota(side, 'scopes', { hard: { pods: '1' }, scopes: ['Terminating'] });
    // A watch may bring them later than the quota.
    await untilUsed(side, 'scopes', (used) => used['pods'] === '1');
    assert.equal((await post('scopes', 'pods', pod('longer', {}))).status, 201);
    assert.equal((await post('scopes', 'pods', pod('shorter', { activeDeadlineSeconds: 5 }))).status, 403);
    const scope = (scopeName: string) => ({ scopeSelector: { matchExpressions: [{ scopeName, operator: 'Exists' }] } });
    const hard = { pods: '9' };
    await makeQuota(side, 'scopes', { hard, ...scope('Terminating') }, 'selected');
    await untilUsed(side, 'scopes', (used) => used['pods'] === '1', 'selected');
    const at = path('scopes', 'resourcequotas', 'selected');
    const { json } = await side.get(at);
    assert.equal((await side.send('PUT', at, { ...json, spec: { hard, ...scope('NotTerminating') } })).status, 200);
    await untilUsed(side, 'scopes', (used) => used['pods'] === '2', 'selected');
  });

  it('services by the ports and load balancers that they want', async () => {
    const { side } = running;
    await makeNamespace(side, 'services');
    const hard = { services: '5', 'services.nodeports': '2', 'services.loadbalancers': '1' };
    await makeQuota(side, 'services', { hard });
    const service = (name: string, type: string, ports: readonly number[]) => ({
      ...{ metadata: { name }, spec: { type, ports: ports.map((port) => ({ name: `p${port}`, port })) } },
    });
    assert.equal((await post('services', 'services', service('a', 'ClusterIP', [1, 2, 3]))).status, 201);
    const many = await post('services', 'services', service('b', 'NodePort', [1, 2, 3]));
    assert.equal(
      many.json.message,
      'services "b" is forbidden: exceeded quota: q, requested: services.nodeports=3, used: services.nodeports=0, limited: services.nodeports=2',
    );
    assert.equal((await post('services', 'services', service('b', 'LoadBalancer', [1]))).status, 201);
    const { json } = await side.get(path('services', 'services', 'a'));
    const balanced = { ...json, spec: { ...(json as unknown as { spec: object }).spec, type: 'LoadBalancer' } };
    const changed = await side.send('PUT', path('services', 'services', 'a'), balanced);
    assert.equal(changed.status, 403);
    assert.match(
      changed.json.message,
      /requested: services\.loadbalancers=1,services\.nodeports=3, used: .*loadbalancers=1,/,
    );
    await side.send('DELETE', path('services', 'services', 'b'));
    await untilUsed(side, 'services', (used) => used['services.loadbalancers'] === '0');
    assert.equal((await statusOf(side, 'services')).used?.['services.nodeports'], '0');
  });

  it('objects that are written on the other thread', async () => {
    const { side } = running;
    await makeNamespace(side, 'heavy');
    await makeQuota(side, 'heavy', { hard: { configmaps: '1' } });
    const heavy = (name: string) => ({ metadata: { name }, data: { a: 'x'.repeat(limits.inlineBytesMax + 1) } });
    assert.equal((await post('heavy', 'configmaps', heavy('a'))).status, 201);
    assert.deepEqual((await statusOf(side, 'heavy')).used, { configmaps: '1' });
    const { status, json } = await post('heavy', 'configmaps', heavy('b'));
    assert.equal(status, 403);
    assert.equal(
      json.message,
      'configmaps "b" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=1, limited: configmaps=1',
    );
  });

  it('more heavy writes at once than the thread does, by a quota that is heavy itself', async () => {
    const { side } = running;
    await makeNamespace(side, 'busy');
    const others = Array.from({ length: limits.inlinePartsMax }, (_, at) => [`count/other${at}.example.com`, '1']);
    await makeQuota(side, 'busy', { hard: { configmaps: '99', ...Object.fromEntries(others) } });
    const answers = await Promise.all(
      Array.from({ length: 2 * limits.heavyJobsAtOnceMax }, (_, at) =>
        post('busy', 'configmaps', {
          metadata: { name: `c${at}` },
          data: { a: 'x'.repeat(limits.inlineBytesMax + 1) },
        }),
      ),
    );
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
  });

  it('pods with the defaults of their namespace, on either thread', async () => {
    const { side } = running;
    await makeNamespace(side, 'defaults');
    await side.create(path('defaults', 'serviceaccounts'), { metadata: { name: 'default' } });
    const range = { type: 'Container', default: { cpu: '1' }, defaultRequest: { cpu: '500m' }, max: { cpu: '2' } };
    await side.create(path('defaults', 'limitranges'), { metadata: { name: 'r' }, spec: { limits: [range] } });
    await makeQuota(side, 'defaults', { hard: { 'requests.cpu': '1' }, scopes: ['NotBestEffort'] });
    const resources = { limits: { cpu: '1' }, requests: { cpu: '500m' } };
    for (const [name, padding] of [
      ['light', 1],
      ['heavy', limits.inlineBytesMax],
    ] as const) {
      const pod = (cpu?: string) => ({
        metadata: { name, annotations: { padding: 'x'.repeat(padding) } },
        spec: { containers: [{ name: 'c', image: 'i', ...(cpu && { resources: { limits: { cpu } } }) }] },
      });
      const refused = await post('defaults', 'pods', pod('3'));
      assert.equal(
        refused.json.message,
        `pods "${name}" is forbidden: maximum cpu usage per Container is 2, but limit is 3`,
      );
      const { json } = await post('defaults', 'pods', pod());
      const { spec, status } = json as unknown as { spec: { containers: [{ resources: object }] }; status: object };
      assert.deepEqual(
        [spec.containers[0].resources, status],
        [resources, { phase: 'Pending', qosClass: 'Burstable' }],
      );
    }
    assert.deepEqual((await statusOf(side, 'defaults')).used, { 'requests.cpu': '1' });
  });

  it('custom resources, from when their kind is served', async () => {
    const { side } = running;
    const group = 'counted.example.com';
    const name = `count/widgets.${group}`;
    const widgets = `/apis/${group}/v1/namespaces/custom/widgets`;
    const widget = (of: string) => ({ apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: of } });
    await makeNamespace(side, 'custom');
    await makeQuota(side, 'custom', { hard: { [name]: '1', configmaps: '1' } });
    assert.deepEqual((await statusOf(side, 'custom')).used, { configmaps: '0' });
    await side.create(definitionPath(), definitionOf({ group }) as { metadata: { name: string } });
    await until(async () => (await side.get(widgets)).status === 200);
    await untilUsed(side, 'custom', (used) => used[name] === '0');
    assert.equal((await side.send('POST', widgets, widget('a'))).status, 201);
    const { status, json } = await side.send('POST', widgets, widget('b'));
    assert.equal(status, 403);
    assert.equal(
      json.message,
      `widgets.${group} "b" is forbidden: exceeded quota: q, requested: ${name}=1, used: ${name}=1, limited: ${name}=1`,
    );
    await side.send('DELETE', `${widgets}/a`);
    await until(async () => (await side.send('POST', widgets, widget('b'))).status === 201);
  });

  it('nothing that is refused before: a write that is not valid is not charged', async () => {
    const { side } = running;
    await makeNamespace(side, 'invalid');
    await makeQuota(side, 'invalid', { hard: { configmaps: '1' } });
    assert.equal((await post('invalid', 'configmaps', { metadata: { name: 'A' } })).status, 422);
    assert.deepEqual((await statusOf(side, 'invalid')).used, { configmaps: '0' });
  });
});

describe('what is followed', () => {
  const running = serverForSuite(systemEnvironment, { controllers });

  /** Resources that are being watched, by the metrics of the server. */
  async function watched(): Promise<readonly string[]> {
    const response = await running.server.transportAs(root).send({ method: 'GET', target: '/metrics' });
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    const open = /^apiserver_longrunning_requests\{verb="WATCH".*,resource="(\w+)",.*\} [1-9]/gm;
    return [...Buffer.concat(chunks).toString().matchAll(open)].map(([, resource = '']) => resource).sort();
  }

  it('only what some quota counts', async () => {
    const { side } = running;
    await makeNamespace(side, 'followed');
    await until(async () => (await watched()).includes('resourcequotas'));
    assert.deepEqual(await watched(), ['resourcequotas']);
    await makeQuota(side, 'followed', { hard: { 'requests.cpu': '1', secrets: '1' } }, 'a');
    await makeQuota(side, 'followed', { hard: { secrets: '1' } }, 'b');
    await until(async () => (await watched()).length === 3);
    assert.deepEqual(await watched(), ['pods', 'resourcequotas', 'secrets']);
    for (const [name, left] of [
      ['a', ['resourcequotas', 'secrets']],
      ['b', ['resourcequotas']],
    ] as const) {
      await side.send('DELETE', path('followed', 'resourcequotas', name));
      await until(async () => (await watched()).length === left.length);
      assert.deepEqual(await watched(), left);
    }
  });
});

describe('two servers on one store', () => {
  it('200 creations at once against a quota of 100: 100 succeed', async () => {
    await using shared = new SharedStore();
    const sides = [new Side(await shared.start(new Lag(), { controllers })), new Side(await shared.start())];
    const [side] = sides as [Side, Side];
    await makeNamespace(side, 'shared');
    await makeQuota(side, 'shared', { hard: { configmaps: '100' } });
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, at) =>
        sides[at % 2]?.send('POST', path('shared', 'configmaps'), { metadata: { name: `c${at}` } }),
      ),
    );
    const count = (status: number): number => answers.filter((answer) => answer?.status === status).length;
    assert.deepEqual([count(201), count(403)], [100, 100]);
    assert.equal((await side.names(path('shared', 'configmaps'))).length, 100);
    assert.deepEqual((await statusOf(side, 'shared')).used, { configmaps: '100' });
  });

  it('what was charged for a write under way is not given to others by a count', async () => {
    await using shared = new SharedStore();
    const side = new Side(await shared.start(new Lag(), { controllers }));
    const at = path('held', 'configmaps');
    const create = async (name: string) => (await side.send('POST', at, { metadata: { name } })).status;
    await makeNamespace(side, 'held');
    await side.create(at, { metadata: { name: 'old' } });
    await makeQuota(side, 'held', { hard: { configmaps: '2' } });
    await untilUsed(side, 'held', (used) => used['configmaps'] === '1');
    const held = Promise.withResolvers<void>();
    const isHeld = (method: string, key: unknown) => method === 'create' && String(key).endsWith('/slow');
    shared.intercept = (method, [key]) => (isHeld(method, key) ? held.promise : undefined);
    const slow = create('slow');
    await untilUsed(side, 'held', (used) => used['configmaps'] === '2');
    await side.send('DELETE', `${at}/old`);
    await untilUsed(side, 'held', (used) => used['configmaps'] !== '2');
    assert.deepEqual((await statusOf(side, 'held')).used, { configmaps: '1' });
    assert.equal(await create('a'), 201);
    assert.equal(await create('b'), 403);
    held.resolve();
    assert.equal(await slow, 201);
    assert.equal((await side.names(at)).length, 2);
  });
});
