import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { dialects } from '../../src/dialect/dialects.ts';
import { kinds } from '../../src/kinds/kinds.ts';
import { apiVersionOf } from '../../src/kinds/stored-as.ts';
import { kubectl, kubectlMissing } from '../support/kubectl.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** `kubectl explain` of every field of every kind, by what OpenAPI v3 says of it. */

interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly [extension: string]: unknown;
}

type Schemas = Readonly<Record<string, Schema>>;

/** The schema with the fields of a value: of an element, if it is a list or map of them. `names` gets those it goes through. */
function withFields(schema: Schema, schemas: Schemas, names: string[]): Schema {
  const reference = schema.$ref ?? schema.allOf?.[0]?.$ref;
  const name = reference?.split('/').at(-1);
  const found = name === undefined ? schema : schemas[name];
  assert.ok(found, String(reference));
  if (name !== undefined) names.push(name);
  const element = found.items ?? found.additionalProperties;
  return element ? withFields(element, schemas, names) : found;
}

/** Lines of the recursive form: each field, indented below the one it is in, sorted by name; a schema in itself once. */
function fieldsOf(schema: Schema, schemas: Schemas, within: readonly string[] = []): readonly string[] {
  const names: string[] = [];
  const { properties = {} } = withFields(schema, schemas, names);
  if (names.some((name) => within.includes(name))) return [];
  return Object.keys(properties)
    .sort()
    .flatMap((name) => [
      `  ${name}`,
      ...fieldsOf(properties[name] as Schema, schemas, [...within, ...names]).map((line) => `  ${line}`),
    ]);
}

const printedFields = (text: string): readonly string[] =>
  [...text.matchAll(/^( +[^\s:]+)\t</gm)].map(([, field = '']) => field);

const dialect = dialects.kubernetes;
const served = kinds(dialect).filter((kind) => kind.served !== false);
assert.ok(served.length > 20);

describe('explain', { skip: kubectlMissing ?? false }, () => {
  let server: OrchProcess;
  before(async () => {
    server = await OrchProcess.start({
      flags: ['--dialect=kubernetes', '--runtime-config=api/all=true', '--feature-gates=AllAlpha=true'],
    });
  });
  after(() => server[Symbol.asyncDispose]());

  for (const { group, version, kind, resource } of served) {
    const apiVersion = apiVersionOf({ group, version });
    test(`every field of ${resource} in ${apiVersion}`, async () => {
      const path = group === '' ? `api/${version}` : `apis/${group}/${version}`;
      const { json } = await server.get<{ components: { schemas: Schemas } }>(`/openapi/v3/${path}`);
      const { schemas } = json.components;
      const own = Object.values(schemas).find((schema) =>
        ((schema['x-kubernetes-group-version-kind'] ?? []) as readonly { readonly kind: string }[]).some(
          (each) => each.kind === kind,
        ),
      );
      assert.ok(own);
      const args = ['explain', resource, `--api-version=${apiVersion}`];
      const whole = await kubectl(server, [...args, '--recursive']);
      assert.deepEqual([whole.code, whole.err], [0, '']);
      assert.match(whole.out, new RegExp(`^KIND: +${kind}$`, 'm'));
      assert.deepEqual(printedFields(whole.out), fieldsOf(own, schemas));

      const top = await kubectl(server, args);
      assert.deepEqual([top.code, top.err], [0, '']);
      assert.deepEqual(
        printedFields(top.out),
        Object.keys(own.properties ?? {})
          .map((name) => `  ${name}`)
          .sort(),
      );
      assert.doesNotMatch(top.out, /<no description>/);
    });
  }
});
