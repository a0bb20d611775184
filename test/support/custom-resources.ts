import { until } from '../../src/base/waits-fixture.ts';
import type { ApiClient } from '../../src/client/api-client.ts';
import { resourcePath } from '../../src/client/resource-path.ts';
import type { Dialect } from '../../src/dialect/dialect.ts';
import { orch } from '../../src/dialect/orch.ts';
import type { Definition } from '../../src/kinds/apiextensions/custom-resource-definition.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';

/** Definitions of custom resources in short form. */

interface DefinitionOptions {
  readonly group: string;
  /** Default: Widget. */
  readonly kind?: string;
  /** Schemas of the fields besides apiVersion, kind and metadata, in the version `v1`. */
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly scope?: 'Namespaced' | 'Cluster';
  /** Further fields of the version. */
  readonly version?: Readonly<Record<string, unknown>>;
  /** Instead of the one version. */
  readonly versions?: readonly Readonly<Record<string, unknown>>[];
  readonly dialect?: Dialect;
}

/** A definition with one version. */
export function definitionOf({
  group,
  kind = 'Widget',
  properties = {},
  scope = 'Namespaced',
  version = {},
  versions = [versionOf(properties, version)],
  dialect = orch,
}: DefinitionOptions) {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: `${dialect.group('apiextensions')}/v1`,
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope, names: { plural, kind }, versions },
  };
}

/** A version with schemas of the fields besides apiVersion, kind and metadata: served, stored and called `v1`, by default. */
export const versionOf = (
  properties: Readonly<Record<string, unknown>>,
  more: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> => ({
  ...{ name: 'v1', served: true, storage: true },
  schema: { openAPIV3Schema: { type: 'object', properties } },
  ...more,
});

/** The path of definitions, or of one. */
export const definitionPath = (name?: string, dialect: Dialect = orch): string =>
  resourcePath({ apiVersion: `${dialect.group('apiextensions')}/v1`, resource: 'customresourcedefinitions', name });

/** Creates a definition and waits until it is established. */
export async function define(
  client: ApiClient,
  definition: ReturnType<typeof definitionOf>,
  dialect: Dialect = orch,
): Promise<void> {
  await client.create(definitionPath(undefined, dialect), definition);
  await until(async () => {
    const { status } = await client.get<ApiObject & Definition>(definitionPath(definition.metadata.name, dialect));
    const established = status?.conditions?.find(({ type }) => type === 'Established');
    return established?.status === 'True';
  });
}
