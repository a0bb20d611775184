import assert from 'node:assert/strict';
import { createInterface } from 'node:readline';
import {
  ApisApi,
  AuthenticationV1Api,
  AuthorizationV1Api,
  CoreV1Api,
  KubeConfig,
  makeInformer,
  VersionApi,
} from '@kubernetes/client-node';
import { ConfigMapSteps } from './config-map-steps.ts';
import { RestartingInformer } from './restarting-informer.ts';

/** The script of ../README.md with `@kubernetes/client-node`: its typed APIs and an informer. */

const config = new KubeConfig();
config.loadFromDefault();
const namespace = process.env['NAMESPACE'] ?? '';
const core = config.makeApiClient(CoreV1Api);
const objects = new ConfigMapSteps(core, namespace);
const informer = new RestartingInformer(
  makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, () => core.listNamespacedConfigMap({ namespace })),
  ({ metadata, data }) => `${metadata?.name} ${data?.['colour'] ?? ''}`,
);

const steps: readonly (readonly [name: string, run: () => Promise<void>])[] = [
  ['discovery', discovery],
  ['create', () => objects.create()],
  ['get', () => objects.get()],
  ['update', () => objects.update()],
  ['conflict', () => objects.conflict()],
  ['patch', () => objects.patch()],
  ['apply', () => objects.apply()],
  ['list', () => objects.list()],
  ['pagination', () => objects.pagination()],
  ['watch', watch],
  ['token-request', tokenRequest],
  ['access-review', accessReview],
  ['ready-for-restart', async () => {}],
  ['restart', restart],
  ['delete', () => objects.delete()],
  ['errors', () => objects.errors()],
];

async function discovery(): Promise<void> {
  const version = await config.makeApiClient(VersionApi).getCode();
  assert.equal(`${version.major}.${version.minor}`, '1.32');
  const { groups } = await config.makeApiClient(ApisApi).getAPIVersions();
  const coordination = groups.find(({ name }) => name === 'coordination.k8s.io');
  assert.equal(coordination?.preferredVersion?.version, 'v1');
  const { resources } = await core.getAPIResources();
  const configMaps = resources.find(({ name }) => name === 'configmaps');
  assert.deepEqual([configMaps?.kind, configMaps?.namespaced], ['ConfigMap', true]);
}

async function watch(): Promise<void> {
  await informer.start();
  const metadata = { name: 'watched' };
  await core.createNamespacedConfigMap({ namespace, body: { metadata, data: { colour: 'red' } } });
  await informer.tellsOf('add watched red');
  await core.replaceNamespacedConfigMap({ name: 'watched', namespace, body: { metadata, data: { colour: 'blue' } } });
  await informer.tellsOf('update watched blue');
  await core.deleteNamespacedConfigMap({ name: 'watched', namespace });
  await informer.tellsOf('delete watched blue');
}

async function tokenRequest(): Promise<void> {
  await core.createNamespacedServiceAccount({ namespace, body: { metadata: { name: 'robot' } } });
  const body = { spec: { audiences: [] } };
  const { status } = await core.createNamespacedServiceAccountToken({ name: 'robot', namespace, body });
  const cluster = config.getCurrentCluster();
  assert.ok(cluster);
  const robot = new KubeConfig();
  robot.loadFromClusterAndUser(cluster, { name: 'robot', token: status?.token ?? '' });
  const review = await robot.makeApiClient(AuthenticationV1Api).createSelfSubjectReview({ body: {} });
  assert.equal(review.status?.userInfo?.username, `system:serviceaccount:${namespace}:robot`);
}

async function accessReview(): Promise<void> {
  const authorization = config.makeApiClient(AuthorizationV1Api);
  const resourceAttributes = { namespace, verb: 'get', resource: 'configmaps' };
  const own = await authorization.createSelfSubjectAccessReview({ body: { spec: { resourceAttributes } } });
  assert.equal(own.status?.allowed, true);
  const spec = { resourceAttributes, user: 'stranger' };
  const strangers = await authorization.createSubjectAccessReview({ body: { spec } });
  assert.equal(strangers.status?.allowed, false);
}

async function restart(): Promise<void> {
  const name = /^restarted (.+)$/.exec(await readLine())?.[1];
  assert.ok(name);
  await informer.tellsOf(`add ${name} `);
  await core.readNamespacedConfigMap({ name, namespace });
}

async function readLine(): Promise<string> {
  for await (const line of createInterface({ input: process.stdin })) return line;
  throw new Error('standard input ended');
}

for (const [step, run] of steps) {
  try {
    await run();
    process.stdout.write(`${JSON.stringify({ step, ok: true })}\n`);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    process.stdout.write(`${JSON.stringify({ step, ok: false, error: text })}\n`);
    process.exitCode = 1;
    break;
  }
}
await informer[Symbol.asyncDispose]();
