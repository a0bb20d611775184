import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ManualClock } from '../base/time/clock.ts';
import { orch } from '../dialect/orch.ts';
import { storesObjects } from '../kinds/kind.ts';
import { kinds } from '../kinds/kinds.ts';
import { RegistryFixture } from '../registry/registry-fixture.ts';
import { openapiSchemas } from '../schema/openapi.ts';
import { isRecord } from '../schema/own-property.ts';
import { Representation } from './representation.ts';

interface Definition {
  readonly properties?: Readonly<Record<string, { readonly $ref?: string }>>;
  readonly required?: readonly string[];
}

const watched = kinds(orch).filter(storesObjects);
const gates = watched.flatMap(({ gate }) => (gate === undefined ? [] : [gate]));

let fixture: RegistryFixture;
before(async () => {
  fixture = await RegistryFixture.open({ features: new Set(gates) });
});
after(() => fixture[Symbol.asyncDispose]());

const roots = watched.map(({ schema }) => schema);
const definitions = openapiSchemas({ roots, version: 2, prefix: 'test', extension: 'test' }) as Readonly<
  Record<string, Definition>
>;

/** Paths of what the definition says is required, but the value does not have, at any depth. */
function missing({ properties = {}, required = [] }: Definition, value: unknown, path: string): readonly string[] {
  if (!isRecord(value)) return [];
  const here = required.filter((name) => !(name in value)).map((name) => `${path}.${name}`);
  const below = Object.entries(value).flatMap(([name, inner]) => {
    const definition = definitions[properties[name]?.$ref?.split('/').at(-1) ?? ''];
    return definition ? missing(definition, inner, `${path}.${name}`) : [];
  });
  return [...here, ...below];
}

describe('a bookmark', () => {
  for (const kind of watched) {
    const { group, version, resource } = kind;
    test(`of ${group || 'core'}/${version} ${resource} has what generated clients require of the kind`, () => {
      const representation = new Representation(orch, new ManualClock());
      const served = fixture.resources.find(group, version, resource);
      assert.ok(served);
      const negotiated = { format: 'json', as: 'object', metaVersion: 'meta.orch.io/v1', pretty: false } as const;
      const presentation = representation.presentation(
        { ...negotiated, mediaType: 'application/json' },
        served.kind,
        new URLSearchParams(),
      );
      const object = JSON.parse(String(representation.watchEncoding(served, presentation).bookmark(42, false)));
      const definition = definitions[`test.${kind.schema.name}`];
      assert.ok(definition);
      assert.deepEqual(missing(definition, object, kind.kind), []);
      assert.equal(object.metadata.resourceVersion, '42');
    });
  }
});
