import { getOrAdd } from '../../base/collections/get-or-add.ts';
import { inSlices, type Steps } from '../../base/time/in-slices.ts';
import type { ApiList } from '../../client/api-client.ts';
import { type DiscoveredResource, discoverGroups } from '../../client/discovery-client.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { parseStoredInSteps } from '../../codec/json-steps.ts';
import type { ServedTypes } from '../../kinds/admissionregistration/matched-types.ts';
import type { Definition } from '../../kinds/apiextensions/custom-resource-definition.ts';
import { servedSchema } from '../../kinds/custom/defined-schemas.ts';
import type { GroupVersionKind } from '../../kinds/kind.ts';
import { kinds } from '../../kinds/kinds.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { StructSchema } from '../../schema/schema.ts';
import type { ControllerContext } from '../controller.ts';

type ServedSchemasContext = Pick<ControllerContext, 'reader' | 'clock' | 'dialect'>;

/** What the server serves: types by discovery, schemas of built-in kinds from this program, others by their definitions. */
export class ServedSchemas {
  readonly #context: ServedSchemasContext;
  readonly #signal: AbortSignal;
  #builtIn: ReadonlyMap<string, StructSchema> | undefined;

  constructor(context: ServedSchemasContext, signal: AbortSignal) {
    this.#context = context;
    this.#signal = signal;
  }

  /** Rejects if a group cannot be read; one that is not served has no types. */
  async typesOf(groups: ReadonlySet<string>): Promise<ServedTypes> {
    const { reader: client, clock, dialect } = this.#context;
    const { resources, failures } = await discoverGroups(
      { client, clock, dialect, signal: this.#signal, inAllVersions: true },
      groups,
    );
    const failure = failures.find(({ type }) => type === 'unavailable');
    if (failure) throw new Error(`${failure.groupVersion} could not be discovered: ${failure.message}`);
    return byName(resources);
  }

  /** Undefined if nothing is known of the type. */
  async schemaOf(type: GroupVersionKind, served: ServedTypes): Promise<StructSchema | undefined> {
    this.#builtIn ??= new Map(kinds(this.#context.dialect).map((kind) => [keyOf(kind), kind.schema]));
    const builtIn = this.#builtIn.get(keyOf(type));
    if (builtIn) return builtIn;
    for (const [resource, { kind }] of served.get(type.group)?.get(type.version) ?? []) {
      if (kind === type.kind) return this.#definedSchema(`${resource}.${type.group}`, type.version);
    }
    return undefined;
  }

  /** By a list: the manager may list and watch everything, and get little. */
  async #definedSchema(name: string, version: string): Promise<StructSchema | undefined> {
    const { reader, clock, dialect } = this.#context;
    const apiVersion = `${dialect.group('apiextensions')}/v1`;
    const fieldSelector = `metadata.name=${name}`;
    const path = resourcePath({ apiVersion, resource: 'customresourcedefinitions', fieldSelector });
    return inSlices(firstSchema(await reader.getBytes(path, this.#signal), version), clock);
  }
}

function* firstSchema(bytes: Uint8Array, version: string): Steps<StructSchema | undefined> {
  const { items } = (yield* parseStoredInSteps(bytes)) as ApiList<ApiObject & Definition>;
  return items[0] && (yield* servedSchema(items[0], version));
}

const keyOf = ({ group, version, kind }: GroupVersionKind): string => `${group}/${version}/${kind}`;

/** Plural names come before singular ones. */
function byName(resources: readonly DiscoveredResource[]): ServedTypes {
  const groups = new Map<string, Map<string, Map<string, GroupVersionKind>>>();
  for (const name of ['resource', 'singular'] as const) {
    for (const discovered of resources) {
      const { apiVersion, kind } = discovered;
      const slash = apiVersion.indexOf('/');
      const [group, version] = slash < 0 ? ['', apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
      const versions = getOrAdd(groups, group, () => new Map<string, Map<string, GroupVersionKind>>());
      const types = getOrAdd(versions, version, () => new Map<string, GroupVersionKind>());
      if (discovered[name] !== '') getOrAdd(types, discovered[name].toLowerCase(), () => ({ group, version, kind }));
    }
  }
  return groups;
}
