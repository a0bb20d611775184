import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { ManualClock, systemClock } from '../../base/time/clock.ts';
import { allAtOnce } from '../../base/time/in-slices.ts';
import { within } from '../../base/waits-fixture.ts';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import type { Definition } from '../../kinds/apiextensions/custom-resource-definition.ts';
import { customKinds } from '../../kinds/custom/custom-kinds.ts';
import { DefinedSchemas } from '../../kinds/custom/defined-schemas.ts';
import { kinds } from '../../kinds/kinds.ts';
import { withoutObjects } from '../registry-fixture.ts';
import { ApiDocuments, type OpenapiName } from './documents.ts';
import { jsonPieces } from './json-pieces.ts';

const address = (): string => '127.0.0.1:6443';
const group = 'custom.example.com';
const v3: OpenapiName = { type: 'v3', group, version: 'v1' };
const names = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' };
const properties = { size: { type: 'integer', title: 'Size', description: 'How large it is.' } };

interface Variant {
  readonly revision?: string;
  readonly names?: Readonly<Record<string, unknown>>;
  readonly version?: Readonly<Record<string, unknown>>;
  readonly properties?: unknown;
  readonly cbor?: boolean;
  readonly dialect?: typeof orch;
}

/** The documents of a server with one definition, and how often that was read. */
async function serverWith({ revision = 'uid 1', cbor = false, dialect = orch, ...variant }: Variant = {}) {
  const resources = withoutObjects(kinds(dialect));
  const documents = new ApiDocuments({ dialect, cbor, issuer: true }, resources, address);
  const seen = { reads: 0 };
  const serve = async (plural: string, named: object = {}, its = revision) => {
    const version = {
      ...{ name: 'v1', served: true, storage: true, ...variant.version },
      schema: { openAPIV3Schema: { type: 'object', properties: variant.properties ?? properties } },
    };
    const acceptedNames = { ...names, plural, ...variant.names, ...named };
    const spec = { group, names: acceptedNames, scope: 'Namespaced', versions: [version] };
    const definition = { spec, status: { acceptedNames } } as unknown as Definition;
    const schemas = new DefinedSchemas(its, () => {
      seen.reads += 1;
      return Buffer.from(JSON.stringify(definition));
    });
    const { kinds: made } = allAtOnce(customKinds(definition, schemas));
    await resources.addCustom({ kinds: made, webhook: undefined, storedInOthers: false });
    return schemas;
  };
  return { documents, seen, serve, schemas: await serve('widgets') };
}

const indexed = (documents: ApiDocuments): string | undefined => {
  const { paths } = JSON.parse(documents.openapiIndex().json.toString());
  return /hash=(.*)$/.exec(paths[`apis/${group}/v1`].serverRelativeURL)?.[1];
};

test('hashes of documents of custom resources are known without reading their definitions', async () => {
  const { documents, seen, schemas } = await serverWith();
  const hash = indexed(documents);
  assert.ok(hash);
  assert.equal(await documents.openapiHash(v3, systemClock), hash);
  const v2 = await documents.openapiHash({ type: 'v2' }, systemClock);
  assert.equal(seen.reads, 0);
  const document = documents.openapi(group, 'v1');
  assert.equal(document?.hash, hash);
  assert.equal(seen.reads, 1);
  assert.equal(documents.openapi(group, 'v1'), document, 'kept while it is asked for');
  assert.equal(documents.openapiV2().hash, v2);
  assert.ok(!schemas.isBuilt, 'what requests use is another schema');
  const { components, paths } = JSON.parse(document.json.toString());
  assert.deepEqual(components.schemas['com.example.custom.v1.Widget'].properties.size, properties.size);
  assert.ok(components.schemas['com.example.custom.v1.WidgetList']);
  assert.ok(paths[`/apis/${group}/v1/namespaces/{namespace}/widgets`]);
  for (const [, name = ''] of document.json.toString().matchAll(/#\/components\/schemas\/([^"]+)"/g)) {
    assert.ok(components.schemas[name], name);
  }
});

test('the hash of a document of custom resources is that of what determines it', async () => {
  const hashes = async (variant: Variant) => {
    const { documents } = await serverWith(variant);
    return [indexed(documents), await documents.openapiHash({ type: 'v2' }, systemClock)];
  };
  const [v3Hash, v2Hash] = await hashes({});
  assert.deepEqual(await hashes({}), [v3Hash, v2Hash], 'all servers of a store have the same');
  const variants: readonly Variant[] = [
    { revision: 'uid 2' },
    { revision: 'other 1' },
    { names: { kind: 'Gadget' } },
    { names: { listKind: 'Widgets' } },
    { version: { subresources: { status: {} } } },
    {
      version: {
        subresources: { scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
      },
    },
    { cbor: true },
    { dialect: kubernetes },
  ];
  for (const variant of variants) {
    const [v3Other, v2Other] = await hashes(variant);
    assert.notEqual(v3Other, v3Hash, JSON.stringify(variant));
    assert.notEqual(v2Other, v2Hash, JSON.stringify(variant));
  }
});

test('a change of one kind of a group leaves what documents have of the others', async () => {
  const { documents, seen, serve } = await serverWith({ revision: 'others stay 1' });
  const schemas = () => JSON.parse(documents.openapi(group, 'v1')?.json.toString() ?? '').components.schemas;
  const before = schemas();
  assert.equal(seen.reads, 1);
  const { documents: others, serve: serveOther, seen: read } = await serverWith({ revision: 'others stay 1' });
  await serveOther('gadgets', { kind: 'Gadget', listKind: 'GadgetList' }, 'others stay 2');
  assert.equal(read.reads, 0);
  const after = JSON.parse(others.openapi(group, 'v1')?.json.toString() ?? '').components.schemas;
  assert.equal(read.reads, 1, 'the new one');
  assert.deepEqual(after['com.example.custom.v1.Widget'], before['com.example.custom.v1.Widget']);
  assert.ok(after['com.example.custom.v1.Gadget']);
  await serve('gadgets', { kind: 'Gadget', listKind: 'GadgetList' }, 'others stay 3');
  assert.deepEqual(schemas(), after, 'another revision, read again');
  assert.equal(seen.reads, 2);
});

test('version 2 is streamed if the definitions are more than is kept of documents', async () => {
  const padded = (length: number) => ({ size: { type: 'integer', description: 'x'.repeat(length) } });
  const small = await serverWith({ revision: 'small 1', properties: padded(limits.recentDocumentsBytesMax / 2) });
  assert.equal(await small.documents.streamedV2(systemClock), undefined);
  const { documents, serve } = await serverWith({
    revision: 'large 1',
    properties: padded(limits.recentDocumentsBytesMax),
  });
  for (const plural of ['widgets', 'gadgets']) {
    if (plural !== 'widgets') await serve(plural);
    const streamed = await documents.streamedV2(systemClock);
    assert.ok(streamed);
    assert.equal(streamed.hash, await documents.openapiHash({ type: 'v2' }, systemClock));
    const text = [...jsonPieces(streamed.entries)].join('');
    assert.equal(text, documents.openapiV2().json.toString());
    assert.ok(text.includes(`/namespaces/{namespace}/${plural}`));
  }
});

/** Every slice is over as soon as it began. */
class HurriedClock extends ManualClock {
  #now = 0;

  override monotonic(): number {
    this.#now += limits.turnMs;
    return this.#now;
  }
}

for (const name of [v3, { type: 'v2' }] as const) {
  test(`documents that changes overtake are made one at a time: ${name.type}`, async () => {
    // Each change makes the definition of another object, so that reads count documents.
    const { documents, seen, serve } = await serverWith({ revision: `one at a time ${name.type}` });
    const clock = new HurriedClock();
    const asked = [documents.openapiInSlices(name, clock)];
    for (let change = 0; change < 5; change++) {
      await serve(`widgets${change}`);
      for (let twice = 0; twice < 2; twice++) asked.push(documents.openapiInSlices(name, clock));
    }
    assert.ok(asked.every((each) => each instanceof Promise));
    const made = await within(Promise.all(asked), 'the documents are not made');
    assert.ok(new Set(made).size <= 2, 'the first, and the last for all who asked later');
    assert.ok(made.at(-1)?.json.includes('widgets4'));
    assert.ok(seen.reads <= 7, `${seen.reads} reads`);
  });
}
