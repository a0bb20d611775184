// A kind of one's own, and a controller for it: a Website has pages, the controller publishes each Website as a ConfigMap. The
// server is in this process; with a connection to a server that runs, the rest stays the same.
import assert from 'node:assert/strict';
import { ApiError, type ApiEvent, type ApiObject, createServer, hasReason } from 'orch';

interface Website extends ApiObject {
  spec: { host: string; pages: Record<string, string> };
  status?: { published: number; observedGeneration: number };
}

const group = 'web.example.com';
const page = { type: 'string', maxLength: 10_000 };

const definition = {
  apiVersion: 'apiextensions.orch.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `websites.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'websites', kind: 'Website', shortNames: ['ws'] },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true, subresources: { status: {} } },
        additionalPrinterColumns: [
          { name: 'Host', type: 'string', jsonPath: '.spec.host' },
          { name: 'Published', type: 'integer', jsonPath: '.status.published' },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            required: ['spec'],
            properties: {
              spec: {
                type: 'object',
                required: ['host'],
                properties: {
                  host: { type: 'string', maxLength: 253 },
                  pages: { type: 'object', maxProperties: 100, additionalProperties: page, default: { index: '' } },
                },
                'x-kubernetes-validations': [
                  { rule: "'index' in self.pages", message: 'a website has a page called index', fieldPath: '.pages' },
                  { rule: 'self.host == oldSelf.host', message: 'a website stays at its host' },
                ],
              },
              status: {
                type: 'object',
                properties: { published: { type: 'integer' }, observedGeneration: { type: 'integer' } },
              },
            },
          },
        },
      },
    ],
  },
};

const definitions = '/apis/apiextensions.orch.io/v1/customresourcedefinitions';
const websites = `/apis/${group}/v1/namespaces/default/websites`;
const configMaps = '/api/v1/namespaces/default/configmaps';

await using server = await createServer();
const admin = server.client();

/** Makes the ConfigMap of a website what its pages say, and says so in its status. */
async function publish({ apiVersion, kind, metadata, spec, status }: Website): Promise<void> {
  if (status?.observedGeneration === metadata.generation) return;
  const { name = '', uid = '', generation } = metadata;
  // The owner takes its ConfigMap along when it is deleted.
  const ownerReferences = [{ apiVersion, kind, name, uid, controller: true }];
  const configMap = { metadata: { name, ownerReferences }, data: spec.pages };
  try {
    await admin.create(configMaps, configMap);
  } catch (error) {
    if (!hasReason(error, 'AlreadyExists')) throw error;
    await admin.update(`${configMaps}/${name}`, configMap);
  }
  const published = Object.keys(spec.pages).length;
  try {
    await admin.mergePatch(`${websites}/${name}/status`, { status: { published, observedGeneration: generation } });
  } catch (error) {
    // It was deleted meanwhile.
    if (!hasReason(error, 'NotFound')) throw error;
  }
}

async function control(signal: AbortSignal): Promise<void> {
  // All that is there first, then what happens.
  const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
  for await (const event of admin.watch(`${websites}?${query}`, { signal })) {
    if (event.type === 'ADDED' || event.type === 'MODIFIED') await publish(event.object as Website);
  }
}

const hasPage = (configMap: object, page: string): boolean =>
  Object.hasOwn(Object(Reflect.get(configMap, 'data')), page);

const isEstablished = (definition: object): boolean => {
  // A new definition has null in the place of conditions.
  const conditions = Reflect.get(definition, 'status')?.conditions ?? [];
  return conditions.some(({ type, status }: Record<string, string>) => type === 'Established' && status === 'True');
};

/** Waits for the first event that is accepted. */
async function first(path: string, accept: (event: ApiEvent) => boolean): Promise<void> {
  const stop = new AbortController();
  for await (const event of admin.watch(`${path}?watch=1`, { signal: stop.signal })) {
    if (accept(event)) break;
  }
  stop.abort();
}

console.log('--- the kind is defined');
await admin.create(definitions, definition);
await first(definitions, ({ object }) => isEstablished(object));

console.log('--- a website without an index is refused');
const website = (pages?: Record<string, string>) => ({
  metadata: { name: 'home' },
  spec: { host: 'example.com', pages },
});
await assert.rejects(admin.create(websites, website({ about: 'us' })), (error) => {
  assert.ok(error instanceof ApiError);
  console.log(error.message);
  return error.code === 422;
});

console.log('--- the controller publishes what is there');
const stop = new AbortController();
const controlling = control(stop.signal);
await admin.create(websites, website({ index: 'Welcome', about: 'us' }));
await first(configMaps, ({ object }) => hasPage(object, 'about'));
console.log((await admin.get(`${configMaps}/home`))['data']);

console.log('--- a host that moves is refused, a page that changes is published');
await assert.rejects(admin.mergePatch(`${websites}/home`, { spec: { host: 'example.org' } }));
await admin.mergePatch(`${websites}/home`, { spec: { pages: { about: null, news: 'today' } } });
await first(configMaps, ({ object }) => hasPage(object, 'news'));
console.log((await admin.get(`${configMaps}/home`))['data']);

console.log('--- what is deleted takes its ConfigMap along');
const gone = first(
  configMaps,
  ({ type, object }) => type === 'DELETED' && (object as ApiObject).metadata.name === 'home',
);
await admin.delete(`${websites}/home`);
await gone;
stop.abort();
await controlling.catch((error: unknown) => {
  if (!stop.signal.aborted) throw error;
});
