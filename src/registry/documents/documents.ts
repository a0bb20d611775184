import { createHash } from 'node:crypto';
import { identityOf } from '../../base/shared-content.ts';
import { WeakValues } from '../../base/weak-values.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import {
  type AggregatedVersion,
  aggregated,
  coreVersions,
  type GroupDiscovery,
  groupDocument,
  groupList,
  groupNames,
  groupResources,
  resourceList,
} from './discovery.ts';
import { openapiV2, openapiV3 } from './openapi.ts';

/** URL of the OpenAPI document of a group version with this hash. */
export const openapiUrl = (group: string, version: string, hash: string): string =>
  `/openapi/v3/${openapiPath(group, version)}?hash=${hash}`;

const openapiPath = (group: string, version: string): string =>
  group === '' ? `api/${version}` : `apis/${group}/${version}`;

/** An encoded discovery or OpenAPI document. */
export interface ApiDocument {
  readonly json: Buffer;
  /** SHA-512 of the content in hexadecimal digits. */
  readonly hash: string;
  /** The OpenAPI version, if the document has a protobuf form; undefined for other documents. */
  readonly openapi?: 2 | 3;
}

interface DocumentOptions {
  /** The only group that the document describes. Default: all. */
  readonly group?: string;
  readonly openapi?: 2 | 3;
  /** The resources that, with name and dialect, determine the document. Undefined if it depends on more. */
  readonly of?: () => readonly ServedResource[];
}

/** Identifies what documents say of a resource: it depends only on its kind and its storage kind. */
const contentOf = ({ kind, resource }: ServedResource): string => `${identityOf(kind)}/${identityOf(resource.kind)}`;

/** Documents in use in any scope of the process. The same kinds share one document. */
const inUse = new WeakValues<ApiDocument>();

/**
 * The discovery and OpenAPI documents. Each is built on first use and cached until what it describes changes: documents
 * of one group with that group, documents of all groups with any. Scopes with the same kinds share them.
 */
export class ApiDocuments {
  readonly #dialect: Dialect;
  readonly #resources: ResourceRegistry;
  readonly #serverAddress: () => string;
  /** Documents by the group that they describe (`undefined`: all groups), then by name. */
  readonly #made = new Map<string | undefined, Map<string, ApiDocument>>();
  /** Groups by name, filled on demand. */
  readonly #grouped = new Map<string, GroupDiscovery>();
  /** All groups, in order. */
  #all: readonly GroupDiscovery[] | undefined;

  constructor(dialect: Dialect, resources: ResourceRegistry, serverAddress: () => string) {
    this.#dialect = dialect;
    this.#resources = resources;
    this.#serverAddress = serverAddress;
    resources.onChange(({ added, removed }) => {
      this.#all = undefined;
      this.#made.delete(undefined);
      for (const { kind } of [...added, ...removed]) {
        this.#grouped.delete(kind.group);
        this.#made.delete(kind.group);
      }
    });
  }

  #document(name: string, make: () => unknown, options: DocumentOptions = {}): ApiDocument {
    const { group } = options;
    const documents = this.#made.get(group) ?? new Map<string, ApiDocument>();
    this.#made.set(group, documents);
    let document = documents.get(name);
    if (!document) {
      document = this.#shared(name, make, options);
      documents.set(name, document);
    }
    return document;
  }

  #shared(name: string, make: () => unknown, { of, openapi }: DocumentOptions): ApiDocument {
    const key = of && `${this.#dialect.name} ${name} ${of().map(contentOf).join()}`;
    const known = key === undefined ? undefined : inUse.get(key);
    if (known) return known;
    const json = Buffer.from(JSON.stringify(make()));
    const hash = createHash('sha512').update(json).digest('hex').toUpperCase();
    const document = { json, hash, ...(openapi && { openapi }) };
    if (key !== undefined) inUse.set(key, document);
    return document;
  }

  readonly #everything = (): readonly ServedResource[] => [...this.#resources.all()];

  #groups(): readonly GroupDiscovery[] {
    this.#all ??= [...groupNames(this.#resources.all())].flatMap((name) => this.#group(name) ?? []);
    return this.#all;
  }

  #group(name: string): GroupDiscovery | undefined {
    const known = this.#grouped.get(name);
    if (known) return known;
    const [group] = groupResources(this.#resources.table.ofGroup(name));
    if (group) this.#grouped.set(name, group);
    return group;
  }

  /** `/api`. */
  coreVersions(): ApiDocument {
    return this.#document('/api', () => coreVersions(this.#groups(), this.#serverAddress()));
  }

  /** `/apis`. */
  groupList(): ApiDocument {
    return this.#document('/apis', () => groupList(this.#groups()));
  }

  /** `/api` or `/apis` as aggregated discovery. */
  aggregated(root: 'api' | 'apis', version: AggregatedVersion): ApiDocument {
    const inRoot = ({ group }: GroupDiscovery): boolean => (group === '') === (root === 'api');
    const name = `aggregated ${root} ${version}`;
    const make = (): unknown => aggregated(this.#groups().filter(inRoot), this.#dialect, version);
    return this.#document(name, make, { of: this.#everything });
  }

  /** The paths of the served groups and their versions. */
  paths(): readonly string[] {
    return this.#groups().flatMap(({ group, versions }) => {
      const root = group === '' ? '/api' : `/apis/${group}`;
      return [root, ...versions.map(({ version }) => `${root}/${version}`)];
    });
  }

  /** `/apis/<group>`; undefined for groups that are not served. */
  group(name: string): ApiDocument | undefined {
    const group = name === '' ? undefined : this.#group(name);
    return group && this.#document(`/apis/${name}`, () => groupDocument(group), { group: name });
  }

  /** `/api/v1`, `/apis/<group>/<version>`; undefined for versions that are not served. */
  resourceList(group: string, version: string): ApiDocument | undefined {
    const resources = this.#resourcesOf(group, version);
    return (
      resources &&
      this.#document(`/${group}/${version}`, () => resourceList(group, version, resources), {
        group,
        of: () => resources,
      })
    );
  }

  #resourcesOf(group: string, version: string): readonly ServedResource[] | undefined {
    return this.#group(group)?.versions.find((each) => each.version === version)?.resources;
  }

  /** `/openapi/v3`: the URL of the document of each group version, with its hash for client caches. */
  openapiIndex(): ApiDocument {
    return this.#document('/openapi/v3', () => ({ paths: Object.fromEntries(this.#openapiPaths()) }), {
      of: this.#everything,
    });
  }

  *#openapiPaths(): Generator<readonly [path: string, at: { readonly serverRelativeURL: string }]> {
    for (const { group, versions } of this.#groups()) {
      for (const { version } of versions) {
        const hash = this.openapi(group, version)?.hash ?? '';
        yield [openapiPath(group, version), { serverRelativeURL: openapiUrl(group, version, hash) }];
      }
    }
  }

  /** `/openapi/v3/<path>`; undefined for versions that are not served. */
  openapi(group: string, version: string): ApiDocument | undefined {
    const resources = this.#resourcesOf(group, version);
    const make = (): unknown => openapiV3(resources ?? [], this.#dialect);
    const options = { group, openapi: 3, of: () => resources ?? [] } as const;
    return resources && this.#document(`/openapi/v3/${group}/${version}`, make, options);
  }

  /** `/openapi/v2`. */
  openapiV2(): ApiDocument {
    const of = this.#everything;
    return this.#document('/openapi/v2', () => openapiV2(of(), this.#dialect), { openapi: 2, of });
  }
}
