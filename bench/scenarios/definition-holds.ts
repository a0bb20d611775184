import { setTimeout as pause } from 'node:timers/promises';
import type { ApiRequest } from '../api-client.ts';
import { create, dialect, json, jsonBody } from '../api-objects.ts';
import { definitionBody, type HostileDefinition, hostileDefinitions, hostileGroup } from '../hostile-definitions.ts';
import type { Product } from '../product.ts';
import type { Scenario } from '../scenario.ts';
import type { TurnProbe } from '../turn-probe.ts';
import { Turns } from '../turns.ts';

const apiVersion = `${dialect.group('apiextensions')}/v1`;
const definitions = `/apis/${apiVersion}/customresourcedefinitions`;
const storedObjects = 10_000;
const servedMsMax = 60_000;

/** The longest turn of the event loop beside everything that a hostile definition of a custom resource causes. */
export const definitionHolds: Scenario = {
  name: 'definition-holds',
  async run(context) {
    const dataDirectory = context.workspace.freshPath('hostile');
    const turns = new Turns(context, 'hostile definitions');
    {
      await using product = await context.start({ dataDirectory });
      const probe = await product.turnProbe();
      for (const definition of hostileDefinitions()) await follow(definition, { product, probe, turns });
    }
    context.progress('start with all of them');
    await using product = await context.start({ dataDirectory });
    const probe = await product.turnProbe();
    await changeBesideObjects({ product, probe, turns });
    for (const definition of hostileDefinitions().filter(({ isRefused }) => !isRefused)) {
      const { path } = addressOf(definition);
      await turns.of('GET of the list after a start', probe, () => product.api.expect(200, path));
      await turns.of('DELETE of the definition', probe, () => remove(product, definition));
    }
    return turns.rows();
  },
};

interface Measuring {
  readonly product: Product;
  readonly probe: TurnProbe;
  readonly turns: Turns;
}

function addressOf({ plural }: HostileDefinition) {
  return {
    definition: `${definitions}/${plural}.${hostileGroup}`,
    path: `/apis/${hostileGroup}/v1/namespaces/default/${plural}`,
  };
}

async function follow(definition: HostileDefinition, { product, probe, turns }: Measuring): Promise<void> {
  const { api } = product;
  turns.begin(definition.what);
  const { definition: at, path } = addressOf(definition);
  const body = definitionBody(definition, { apiVersion });
  const write = (method: string, type: string, content: unknown): ApiRequest => ({
    ...{ method, headers: { ...json, 'content-type': type }, body: jsonBody(content) },
  });
  const post = write('POST', 'application/json', body);
  if (definition.isRefused) {
    await turns.of('POST, refused', probe, () => api.expect(422, definitions, post));
    return;
  }
  await turns.of('POST of the definition', probe, async () => {
    await api.expect(201, definitions, post);
    await served(product, path);
  });
  const object = (name: string) => objectOf(definition, body, name);
  const documents = `/openapi/v3/apis/${hostileGroup}/v1`;
  await turns.of('first GET of the list', probe, () => api.expect(200, path));
  await turns.of('first create', probe, () => api.expect(201, path, write('POST', 'application/json', object('a'))));
  await turns.of('second create', probe, () => api.expect(201, path, write('POST', 'application/json', object('b'))));
  await turns.of('first apply', probe, () =>
    api.expect(200, `${path}/a?fieldManager=c&force=true`, write('PATCH', 'application/apply-patch+yaml', object('a'))),
  );
  await turns.of('discovery', probe, () => api.expect(200, `/apis/${hostileGroup}/v1`));
  await turns.of('OpenAPI v3', probe, () => api.expect(200, documents));
  await turns.of('OpenAPI v2', probe, () => api.expect(200, '/openapi/v2'));
  const watch = api.send(`${path}?watch=1&timeoutSeconds=3`);
  const changed = (description: string) => definitionBody(definition, { apiVersion, description });
  await turns.of('merge patch', probe, () =>
    api.expect(200, at, write('PATCH', 'application/merge-patch+json', { spec: changed('patched')['spec'] })),
  );
  await turns.of('apply', probe, () =>
    api.expect(
      200,
      `${at}?fieldManager=c&force=true`,
      write('PATCH', 'application/apply-patch+yaml', changed('applied')),
    ),
  );
  await turns.of('PUT', probe, async () => {
    const { body: current } = await api.expect(200, at);
    const { metadata } = JSON.parse(current.toString());
    await api.expect(200, at, write('PUT', 'application/json', { ...changed('put'), metadata }));
  });
  await watch;
}

/** A changed schema makes all objects of its kind anew. */
async function changeBesideObjects({ product, probe, turns }: Measuring): Promise<void> {
  const { api } = product;
  const [definition] = hostileDefinitions();
  if (!definition) return;
  turns.begin(`${definition.what}, ${storedObjects} objects`);
  const { definition: at, path } = addressOf(definition);
  const body = definitionBody(definition, { apiVersion, description: 'changed' });
  for (let from = 0; from < storedObjects; from += createdAtOnce) {
    const names = Array.from({ length: createdAtOnce }, (_, offset) => `object-${from + offset}`);
    await Promise.all(names.map((name) => create(api, path, objectOf(definition, body, name))));
  }
  const watch = api.send(`${path}?watch=1&timeoutSeconds=5`);
  await turns.of('schema changed beside a watch', probe, async () => {
    const type = 'application/merge-patch+json';
    await api.expect(200, at, {
      ...{ method: 'PATCH', headers: { ...json, 'content-type': type } },
      body: jsonBody({ spec: body['spec'] }),
    });
    await api.expect(200, `${path}?limit=1`);
    await pause(1_000);
  });
  await watch;
}

const createdAtOnce = 50;

const objectOf = (definition: HostileDefinition, body: Readonly<Record<string, unknown>>, name: string) => ({
  ...{ ...definition.object, apiVersion: `${hostileGroup}/v1`, kind: kindOf(body), metadata: { name } },
});

const kindOf = (body: Readonly<Record<string, unknown>>): unknown =>
  (body['spec'] as { readonly names: { readonly kind: string } }).names.kind;

async function served({ api }: Product, path: string): Promise<void> {
  const deadline = performance.now() + servedMsMax;
  while ((await api.send(`${path.slice(0, path.indexOf('/namespaces'))}`)).status !== 200) {
    if (performance.now() > deadline) throw new Error(`${path} is not served`);
    await pause(10);
  }
}

async function remove({ api }: Product, definition: HostileDefinition): Promise<void> {
  const { definition: at, path } = addressOf(definition);
  await api.expect(200, at, { method: 'DELETE' });
  const deadline = performance.now() + servedMsMax;
  // Reading the definition itself, of megabytes, would be measured too.
  while ((await api.send(path)).status !== 404 || (await api.send(at)).status !== 404) {
    if (performance.now() > deadline) throw new Error('the definition is still there');
    await pause(50);
  }
}
