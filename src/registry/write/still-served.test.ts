import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allAtOnce } from '../../base/time/in-slices.ts';
import { until, within } from '../../base/waits-fixture.ts';
import { encodeObject, parseStored } from '../../codec/json.ts';
import type { Definition } from '../../kinds/apiextensions/custom-resource-definition.ts';
import { customKinds } from '../../kinds/custom/custom-kinds.ts';
import { DefinedSchemas } from '../../kinds/custom/defined-schemas.ts';
import { apiVersionOf } from '../../kinds/stored-as.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { StatusError } from '../../meta/status-error.ts';
import type { CustomVersions } from '../../resources/custom-versions.ts';
import type { Resource } from '../../resources/resource.ts';
import { RegistryFixture } from '../registry-fixture.ts';

/** Writes that wait, for admission here, while the definition of their kind changes. */

const group = 'farm.example';
const collection = `/apis/${group}/v1/namespaces/default/cows`;

const definitionOf = (storage: string, deletionTimestamp?: string): Definition & ApiObject => ({
  apiVersion: 'apiextensions.orch.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `cows.${group}`, ...(deletionTimestamp !== undefined && { deletionTimestamp }) },
  spec: {
    group,
    scope: 'Namespaced',
    versions: ['v1', 'v2'].map((name) => ({
      ...{ name, served: true, storage: name === storage },
      schema: { openAPIV3Schema: { type: 'object', properties: { size: { type: 'integer' } } } },
    })),
  },
  status: { acceptedNames: { plural: 'cows', singular: 'cow', kind: 'Cow', listKind: 'CowList' } },
});

/** Doubles sizes from v1 to v2. */
const webhook: NonNullable<CustomVersions['webhook']> = {
  convert: async (objects, kind) => {
    const apiVersion = apiVersionOf(kind);
    await new Promise((resolve) => setImmediate(resolve));
    return objects.map((bytes) => {
      const object = parseStored(bytes) as ApiObject & { size?: number };
      const size = (object.size ?? 0) * (apiVersion.endsWith('v2') ? 2 : 0.5);
      return object.apiVersion === apiVersion ? bytes : encodeObject({ ...object, apiVersion, size });
    });
  },
};

function versionsOf(definition: Definition, asks: boolean): CustomVersions {
  const schemas = new DefinedSchemas('one', () => Buffer.from(JSON.stringify(definition)));
  const { kinds } = allAtOnce(customKinds(definition, schemas));
  return { kinds, webhook: asks ? webhook : undefined, storedInOthers: true };
}

/** A registry of one custom resource, whose writes wait in admission while `held`. */
class Farm implements AsyncDisposable {
  readonly fixture: RegistryFixture;
  readonly asks: boolean;
  resource: Resource | undefined;
  held: PromiseWithResolvers<void> | undefined;
  waiting = 0;

  private constructor(fixture: RegistryFixture, asks: boolean) {
    this.fixture = fixture;
    this.asks = asks;
  }

  static async open(asks: boolean): Promise<Farm> {
    const fixture = await RegistryFixture.open({
      admission: {
        mutate: () => {
          farm.waiting += 1;
          return farm.held?.promise;
        },
        validate() {},
      },
    });
    const farm: Farm = new Farm(fixture, asks);
    await farm.define();
    return farm;
  }

  async define(): Promise<void> {
    this.resource = await this.fixture.resources.addCustom(versionsOf(definitionOf('v1'), this.asks));
  }

  async change(definition: Definition): Promise<void> {
    if (!this.resource) throw new Error('nothing is defined');
    this.resource = await this.fixture.resources.changeCustom(this.resource, versionsOf(definition, this.asks));
  }

  remove(): void {
    if (this.resource) this.fixture.resources.remove(this.resource);
  }

  async stored(name: string): Promise<unknown> {
    const record = await this.fixture.store.get(`/${group}/cows/default/${name}`);
    return record && JSON.parse(Buffer.from(record.value).toString());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.fixture[Symbol.asyncDispose]();
  }
}

async function apply({ fixture }: Farm, name: string): Promise<ApiObject> {
  fixture.patchType = 'apply';
  const applied = { apiVersion: `${group}/v1`, kind: 'Cow', metadata: { name }, size: 8 };
  return fixture.object('PATCH', `${collection}/${name}?fieldManager=test&force=true`, applied);
}

/** Every way to write; the object is there before unless it is created. */
const writes = {
  create: (farm) => farm.fixture.object('POST', collection, { metadata: { name: 'c' }, size: 8 }),
  'create by apply': (farm) => apply(farm, 'new'),
  update: async (farm) => {
    const found = await farm.fixture.object('GET', `${collection}/there`);
    return farm.fixture.object('PUT', `${collection}/there`, { ...found, size: 8 });
  },
  apply: (farm) => apply(farm, 'there'),
  patch: (farm) => farm.fixture.object('PATCH', `${collection}/there`, { size: 8 }),
} satisfies Readonly<Record<string, (farm: Farm) => Promise<ApiObject>>>;
type Write = keyof typeof writes;
const nameOf: Readonly<Record<Write, string>> = {
  create: 'c',
  'create by apply': 'new',
  update: 'there',
  apply: 'there',
  patch: 'there',
};
const creates = (write: Write): boolean => nameOf[write] !== 'there';

interface Change {
  readonly what: string;
  readonly change: (farm: Farm) => Promise<void>;
  /** Of the answer. */
  readonly code: (write: Write) => number | undefined;
  /** The stored object, if the write succeeds. */
  readonly stored: Readonly<Record<'none' | 'webhook', Readonly<Record<string, unknown>>>>;
}

const inV1 = { apiVersion: `${group}/v1`, size: 8 };
const changes: readonly Change[] = [
  {
    what: 'gets another schema',
    change: (farm) => farm.change(definitionOf('v1')),
    code: () => undefined,
    stored: { none: inV1, webhook: inV1 },
  },
  {
    what: 'gets another storage version',
    change: (farm) => farm.change(definitionOf('v2')),
    code: () => undefined,
    stored: { none: { apiVersion: `${group}/v2`, size: 8 }, webhook: { apiVersion: `${group}/v2`, size: 16 } },
  },
  {
    what: 'gets another storage version and its former one back',
    change: async (farm) => {
      await farm.change(definitionOf('v2'));
      await farm.change(definitionOf('v1'));
    },
    code: () => undefined,
    stored: { none: inV1, webhook: inV1 },
  },
  {
    what: 'is being removed',
    change: (farm) => farm.change(definitionOf('v1', '2026-01-01T00:00:00Z')),
    code: (write) => (creates(write) ? 405 : undefined),
    stored: { none: inV1, webhook: inV1 },
  },
  {
    what: 'is removed',
    change: async (farm) => farm.remove(),
    code: () => 404,
    stored: { none: {}, webhook: {} },
  },
  {
    what: 'is removed, and another one comes under its name',
    change: async (farm) => {
      farm.remove();
      await farm.define();
    },
    code: () => 404,
    stored: { none: {}, webhook: {} },
  },
];

describe('while a write waits, its kind', () => {
  for (const conversion of ['none', 'webhook'] as const) {
    for (const { what, change, code, stored } of changes) {
      for (const write of Object.keys(writes) as Write[]) {
        it(`${what} (${write}, conversion ${conversion})`, async () => {
          await using farm = await Farm.open(conversion === 'webhook');
          await farm.fixture.object('POST', collection, { metadata: { name: 'there' }, size: 1 });
          const before = await farm.stored(nameOf[write]);
          farm.held = Promise.withResolvers();
          farm.waiting = 0;
          const writing = writes[write](farm).then(
            () => undefined,
            (error: unknown) => error,
          );
          const early = writing.then((error) => assert.ok(farm.waiting > 0, `it ended before admission: ${error}`));
          await Promise.race([until(() => farm.waiting > 0, 'the write does not come to admission'), early]);
          await within(change(farm), 'the definition does not change');
          farm.held.resolve();
          const error = await within(writing, 'the write does not end');
          const expected = code(write);
          if (expected === undefined) {
            assert.equal(error, undefined);
            const { apiVersion, size } = (await farm.stored(nameOf[write])) as ApiObject & { size: number };
            assert.deepEqual({ apiVersion, size }, stored[conversion]);
          } else {
            assert.ok(error instanceof StatusError && error.code === expected, String(error));
            assert.deepEqual(await farm.stored(nameOf[write]), before);
          }
        });
      }
    }
  }
});
