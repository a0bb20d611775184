import { createHash } from 'node:crypto';
import { getOrAdd } from '../../base/collections/get-or-add.ts';
import { identityOf } from '../../base/collections/shared-content.ts';
import { WeakValues } from '../../base/collections/weak-values.ts';
import type { Clock } from '../../base/time/clock.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
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
import { groupOrder } from './group-order.ts';
import { type DescribedApi, openapiV2, openapiV3 } from './openapi.ts';

/** URL of the OpenAPI document of a group version with this hash. */
export const openapiUrl = (group: string, version: string, hash: string): string =>
  `/openapi/v3/${openapiPath(group, version)}?hash=${hash}`;

const openapiPath = (group: string, version: string): string =>
  group === '' ? `api/${version}` : `apis/${group}/${version}`;

/** The protobuf message of a document: the one that its `kind` names, or that of OpenAPI of a version. */
export type DocumentMessage = 'discovery' | 'openapi v2' | 'openapi v3';

/** An encoded discovery or OpenAPI document. */
export interface ApiDocument {
  readonly json: Buffer;
  /** SHA-512 of the content in hexadecimal digits. */
  readonly hash: string;
  /** Undefined if the document has no protobuf form. */
  readonly message?: DocumentMessage;
}

/** An OpenAPI document: the one of version 2, one of a group version in version 3, or the index of the latter. */
export type OpenapiName =
  | { readonly type: 'v2' | 'index' }
  | { readonly type: 'v3'; readonly group: string; readonly version: string };

interface DocumentOptions {
  /** The only group that the document describes. Default: all. */
  readonly group?: string;
  readonly message?: DocumentMessage;
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
  readonly #groupOrder: (a: string, b: string) => number;
  readonly #api: DescribedApi;
  readonly #resources: ResourceRegistry;
  readonly #serverAddress: () => string;
  /** Documents by the group that they describe (`undefined`: all groups), then by name. */
  readonly #made = new Map<string | undefined, Map<string, ApiDocument>>();
  /** Groups by name, filled on demand. */
  readonly #grouped = new Map<string, GroupDiscovery>();
  /** Documents being built in slices, by name. */
  readonly #underWay = new Map<string, Promise<ApiDocument | undefined>>();
  /** All groups, in order. */
  #all: readonly GroupDiscovery[] | undefined;

  constructor({ dialect, cbor }: DescribedApi, resources: ResourceRegistry, serverAddress: () => string) {
    this.#dialect = dialect;
    this.#groupOrder = groupOrder(dialect);
    this.#api = { dialect, cbor };
    this.#resources = resources;
    this.#serverAddress = serverAddress;
    resources.onChange(({ added, removed }) => {
      this.#underWay.clear();
      this.#all = undefined;
      this.#made.delete(undefined);
      for (const { kind } of [...added, ...removed]) {
        this.#grouped.delete(kind.group);
        this.#made.delete(kind.group);
      }
    });
  }

  #document(name: string, make: () => unknown, options: DocumentOptions = {}): ApiDocument {
    const json = (function* () {
      yield JSON.stringify(make());
    })();
    return finished(this.#making(name, json, { ...options, message: 'discovery' }));
  }

  /** The cached document, or one built from `json`, yielding between its pieces. */
  *#making(name: string, json: Iterable<string>, options: DocumentOptions): Making {
    const { group } = options;
    // A change of the table replaces this map, so that a document of the old table is not cached for the new one.
    const documents = getOrAdd(this.#made, group, () => new Map<string, ApiDocument>());
    const known = documents.get(name);
    if (known) return known;
    const made = yield* this.#shared(name, json, options);
    // A synchronous call may have built it meanwhile.
    const document = documents.get(name) ?? made;
    documents.set(name, document);
    return document;
  }

  *#shared(name: string, json: Iterable<string>, { of, message }: DocumentOptions): Making {
    const { dialect, cbor } = this.#api;
    const key = of && `${dialect.name} ${cbor ? 'cbor ' : ''}${name} ${of().map(contentOf).join()}`;
    const known = key === undefined ? undefined : inUse.get(key);
    if (known) return known;
    const pieces: Buffer[] = [];
    const hash = createHash('sha512');
    let text = '';
    const put = (): void => {
      const bytes = Buffer.from(text);
      pieces.push(bytes);
      hash.update(bytes);
      text = '';
    };
    for (const piece of json) {
      text += piece;
      if (text.length >= pieceLength) put();
      yield;
    }
    put();
    const document = {
      json: Buffer.concat(pieces),
      hash: hash.digest('hex').toUpperCase(),
      ...(message && { message }),
    };
    if (key !== undefined) inUse.set(key, document);
    return document;
  }

  readonly #everything = (): readonly ServedResource[] => [...this.#resources.all()];

  #groups(): readonly GroupDiscovery[] {
    this.#all ??= [...groupNames(this.#resources.all())]
      .sort(this.#groupOrder)
      .flatMap((name) => this.#group(name) ?? []);
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
    return finished(this.#makingIndex());
  }

  /** `/openapi/v3/<path>`; undefined for versions that are not served. */
  openapi(group: string, version: string): ApiDocument | undefined {
    return finished(this.#makingV3(group, version));
  }

  /** `/openapi/v2`. */
  openapiV2(): ApiDocument {
    return finished(this.#makingV2());
  }

  /** The same documents, built in time slices unless cached. Concurrent calls share one build. */
  openapiInSlices(of: OpenapiName, clock: Clock): ApiDocument | undefined | Promise<ApiDocument | undefined> {
    const name = of.type === 'v3' ? `v3 ${of.group}/${of.version}` : of.type;
    const underWay = this.#underWay.get(name);
    if (underWay) return underWay;
    const making = this.#makingOf(of);
    const { done, value } = making.next();
    if (done) return value;
    const made = inSlices(making, clock).finally(() => {
      if (this.#underWay.get(name) === made) this.#underWay.delete(name);
    });
    this.#underWay.set(name, made);
    return made;
  }

  #makingOf(of: OpenapiName): Generator<void, ApiDocument | undefined> {
    switch (of.type) {
      case 'v2':
        return this.#makingV2();
      case 'index':
        return this.#makingIndex();
      case 'v3':
        return this.#makingV3(of.group, of.version);
    }
  }

  *#makingV2(): Making {
    const all = this.#everything();
    const options = { message: 'openapi v2', of: () => all } as const;
    return yield* this.#making('/openapi/v2', openapiV2(all, this.#api), options);
  }

  *#makingV3(group: string, version: string): Generator<void, ApiDocument | undefined> {
    const resources = this.#resourcesOf(group, version);
    if (!resources) return undefined;
    const options = { group, message: 'openapi v3', of: () => resources } as const;
    return yield* this.#making(`/openapi/v3/${group}/${version}`, openapiV3(resources, this.#api), options);
  }

  *#makingIndex(): Making {
    const groups = this.#groups();
    const all = this.#everything();
    const known = this.#made.get(undefined)?.get(indexName);
    if (known) return known;
    const paths: Record<string, { readonly serverRelativeURL: string }> = {};
    for (const { group, versions } of groups) {
      for (const { version } of versions) {
        const document = yield* this.#makingV3(group, version);
        // The table has changed: starts again, so that no index mixes two tables.
        if (!document || groups !== this.#groups()) return yield* this.#makingIndex();
        paths[openapiPath(group, version)] = { serverRelativeURL: openapiUrl(group, version, document.hash) };
      }
    }
    return yield* this.#making(indexName, [JSON.stringify({ paths })], { of: () => all });
  }
}

const indexName = '/openapi/v3';

/** Builds a document in steps. */
type Making = Generator<void, ApiDocument>;

/** Runs all steps at once. */
function finished<T>(making: Generator<void, T>): T {
  for (;;) {
    const { done, value } = making.next();
    if (done) return value;
  }
}

async function inSlices<T>(making: Generator<void, T>, clock: Clock): Promise<T> {
  const slice = new TimeSlice(clock);
  for (;;) {
    if (slice.over) await slice.next();
    const { done, value } = making.next();
    if (done) return value;
  }
}

/** Characters to collect before they are encoded and hashed. */
const pieceLength = 16 * 1024;
