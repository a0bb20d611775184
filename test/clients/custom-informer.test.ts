import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  ApiextensionsV1Api,
  CustomObjectsApi,
  KubeConfig,
  type KubernetesObject,
  makeInformer,
} from '@kubernetes/client-node';
import { until } from '../../src/base/waits-fixture.ts';
import { kubernetes } from '../../src/dialect/kubernetes.ts';
import { OrchProcess } from '../support/orch-process.ts';
import {
  definitionManifest,
  definitionName,
  publishedDefinitions,
  sampleManifest,
} from '../support/published-definitions.ts';
import { RestartingInformer } from './official/typescript/restarting-informer.ts';

/** `@kubernetes/client-node` with kinds that it does not know: an informer over each, which outlives the server. */
describe('informers of the TypeScript client library over custom objects', () => {
  let server: OrchProcess;
  before(async () => {
    server = await OrchProcess.start({ flags: [`--dialect=${kubernetes.name}`] });
  });
  after(() => server[Symbol.asyncDispose]());

  it('tell of what happens before and after a restart', async () => {
    const config = new KubeConfig();
    config.loadFromFile(server.kubeconfig);
    const definitions = config.makeApiClient(ApiextensionsV1Api);
    const objects = config.makeApiClient(CustomObjectsApi);
    await using followed = new AsyncDisposableStack();
    const kinds = publishedDefinitions.filter(({ spec }) => spec.scope === 'Namespaced');
    const informers = new Map<string, RestartingInformer<KubernetesObject>>();
    const placeOf = ({ spec }: (typeof kinds)[number]) => ({
      ...{ group: spec.group, version: 'v1', namespace: 'default', plural: spec.names.plural },
    });
    const each = (
      act: (kind: (typeof kinds)[number], informer: RestartingInformer<KubernetesObject>) => Promise<unknown>,
    ) => Promise.all(kinds.map((kind) => act(kind, informers.get(definitionName(kind)) ?? assert.fail())));

    for (const kind of kinds) {
      const body = definitionManifest(kind, kubernetes);
      // The typed API knows other names of the extensions in schemas, and leaves these out.
      const [group = '', version = ''] = body.apiVersion.split('/');
      await objects.createClusterCustomObject({ group, version, plural: 'customresourcedefinitions', body });
      await until(async () => {
        const { status } = await definitions.readCustomResourceDefinition({ name: definitionName(kind) });
        return status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') === true;
      });
      const place = placeOf(kind);
      const path = `/apis/${place.group}/${place.version}/namespaces/${place.namespace}/${place.plural}`;
      const informer = new RestartingInformer(
        makeInformer(config, path, () => objects.listNamespacedCustomObject(place)),
      );
      informers.set(definitionName(kind), followed.use(informer));
      await informer.start();
    }

    const create = (kind: (typeof kinds)[number], name: string) =>
      objects.createNamespacedCustomObject({ ...placeOf(kind), body: sampleManifest(kind, name) });
    await each(async (kind, informer) => {
      await create(kind, 'before');
      await informer.tellsOf('add before');
    });
    await server.stop();
    await server.restart();
    await each(async (kind, informer) => {
      await create(kind, 'after');
      await informer.tellsOf('add after');
      await objects.deleteNamespacedCustomObject({ ...placeOf(kind), name: 'before' });
      await informer.tellsOf('delete before');
    });
  });
});
