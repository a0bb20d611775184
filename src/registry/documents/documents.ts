import { createHash, type Hash } from 'node:crypto';
import { getOrAdd } from '../../base/collections/get-or-add.ts';
import { identityOf } from '../../base/collections/shared-content.ts';
import { WeakValues } from '../../base/collections/weak-values.ts';
import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import { allAtOnce, inSlices, type Steps } from '../../base/time/in-slices.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { contentOfLazy } from '../../kinds/documented-schema.ts';
import { isLazy, lazySchemaOf } from '../../kinds/lazy-schema.ts';
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
import { type Entries, jsonPieces } from './json-pieces.ts';
import { type DescribedApi, describedGroups, openapiV2, openapiV3, openapiV3Of } from './openapi.ts';
import type { Operation } from './operations.ts';
import { RecentDocuments } from './recent-documents.ts';
import { groupOperation, rootOperations } from './server-operations.ts';

/** URL of the OpenAPI document of this name with this hash. */
export const openapiUrl = (name: OpenapiV3Name, hash: string): string =>
  `/openapi/v3/${openapiPath(name)}?hash=${hash}`;

function openapiPath(name: OpenapiV3Name): string {
  if (name.type === 'server') return name.path;
  return name.group === '' ? `api/${name.version}` : `apis/${name.group}/${name.version}`;
}

/** The protobuf message of a document: the one that its `kind` names, or that of OpenAPI of a version. */
export type DocumentMessage = 'discovery' | 'openapi v2' | 'openapi v3';

/** An encoded discovery or OpenAPI document. */
export interface ApiDocument {
  readonly json: Buffer;
  /**
   * SHA-512 in hexadecimal digits: of the content or, for OpenAPI of custom resources, of what determines the content, so that
   * it is known before there is a document.
   */
  readonly hash: string;
  /** Undefined if the document has no protobuf form. */
  readonly message?: DocumentMessage;
}

/** A document whose entries are made as they are written, once. */
export interface StreamedDocument {
  readonly hash: string;
  readonly message: DocumentMessage;
  readonly entries: Entries;
}

/** An OpenAPI document of version 3: that of a group version, or of what else the server answers at a path: `apis/apps`. */
type OpenapiV3Name =
  | { readonly type: 'v3'; readonly group: string; readonly version: string }
  | { readonly type: 'server'; readonly path: string };

/** An OpenAPI document: the one of version 2, one in version 3, or the index of the latter. */
export type OpenapiName = { readonly type: 'v2' | 'index' } | OpenapiV3Name;

interface DocumentOptions {
  /** The only group that the document describes. Default: all. */
  readonly group?: string;
  readonly message?: DocumentMessage;
  /** The resources that, with name and dialect, determine the document. Undefined if it depends on more. */
  readonly of?: () => readonly ServedResource[];
}

/** A document whose hash is known before it is made. */
interface Foretold {
  readonly hash: string;
  readonly message: DocumentMessage;
}

/** Identifies what documents say of a resource: it depends only on its kind and its storage kind. */
const contentOf = ({ kind, resource }: ServedResource): string => `${identityOf(kind)}/${identityOf(resource.kind)}`;

/** Documents in use in any scope of the process. The same kinds share one document. */
const inUse = new WeakValues<ApiDocument>();
const recent = new RecentDocuments();

/**
 * The discovery and OpenAPI documents. Each is built on first use and cached until what it describes changes: documents
 * of one group with that group, documents of all groups with any. Scopes with the same kinds share them.
 *
 * There may be thousands of custom resources, so OpenAPI of them is kept only while it is among the documents that were asked
 * for last, and who has a document already, or asks for the index, has none made: the hash is that of their definitions.
 */
export class ApiDocuments {
  readonly #dialect: Dialect;
  readonly #groupOrder: (a: string, b: string) => number;
  readonly #api: DescribedApi;
  readonly #resources: ResourceRegistry;
  readonly #serverAddress: () => string;
  readonly #aggregated: () => void;
  /** Documents by the group that they describe (`undefined`: all groups), then by name. */
  readonly #made = new Map<string | undefined, Map<string, ApiDocument>>();
  /** Groups by name, filled on demand. */
  readonly #grouped = new Map<string, GroupDiscovery>();
  /** Hashes of OpenAPI documents with custom resources, by group, then by name. */
  readonly #hashes = new Map<string | undefined, Map<string, string>>();
  /** Length of all definitions of custom resources. */
  #definitionBytes: number | undefined;
  /** Documents being built in slices, by name. */
  readonly #underWay = new Map<string, UnderWay>();
  /** All groups, in order. */
  #all: readonly GroupDiscovery[] | undefined;

  /** `aggregated`: called when aggregated discovery is made. */
  constructor(
    api: DescribedApi,
    resources: ResourceRegistry,
    serverAddress: () => string,
    aggregated: () => void = () => {},
  ) {
    this.#aggregated = aggregated;
    this.#dialect = api.dialect;
    this.#groupOrder = groupOrder(api.dialect);
    this.#api = api;
    this.#resources = resources;
    this.#serverAddress = serverAddress;
    resources.onChange(({ added, removed }) => {
      this.#all = undefined;
      this.#definitionBytes = undefined;
      const changed = new Set<string | undefined>([undefined]);
      for (const { kind } of [...added, ...removed]) changed.add(kind.group);
      for (const group of changed) {
        if (group !== undefined) this.#grouped.delete(group);
        this.#made.delete(group);
        this.#hashes.delete(group);
      }
      for (const making of this.#underWay.values()) making.isStale ||= changed.has(making.group);
    });
  }

  #document(name: string, make: () => unknown, options: DocumentOptions = {}): ApiDocument {
    const json = (function* () {
      yield JSON.stringify(make());
    })();
    return allAtOnce(this.#making(name, json, { ...options, message: 'discovery' }));
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
    const { dialect, cbor, issuer } = this.#api;
    const variant = `${dialect.name} ${cbor ? 'cbor ' : ''}${issuer ? 'issuer ' : ''}`;
    const key = of && `${variant}${name} ${of().map(contentOf).join()}`;
    const known = key === undefined ? undefined : inUse.get(key);
    if (known) return known;
    const hash = createHash('sha512');
    const bytes = yield* collected(json, (piece) => hash.update(piece));
    const document = { json: bytes, hash: digestOf(hash), ...(message && { message }) };
    if (key !== undefined) inUse.set(key, document);
    return document;
  }

  /** A document that is kept only while it is in use. */
  *#makingForetold({ hash, message }: Foretold, json: Iterable<string>): Making {
    const known = recent.get(hash) ?? inUse.get(hash);
    const document = known ?? { json: yield* collected(json), hash, message };
    inUse.set(hash, document);
    recent.add(document);
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
    return allAtOnce(this.#makingAggregated(root, version));
  }

  /** The same, as `openapiInSlices`. */
  aggregatedInSlices(
    root: 'api' | 'apis',
    version: AggregatedVersion,
    clock: Clock,
  ): ApiDocument | Promise<ApiDocument> {
    const name = aggregatedName(root, version);
    const making = (): Making => this.#makingAggregated(root, version);
    return this.#inSlices({ name, group: undefined, making }, clock) as ApiDocument | Promise<ApiDocument>;
  }

  *#makingAggregated(root: 'api' | 'apis', version: AggregatedVersion): Making {
    const inRoot = ({ group }: GroupDiscovery): boolean => (group === '') === (root === 'api');
    const json = aggregated(this.#groups().filter(inRoot), this.#dialect, version);
    const all = this.#everything();
    const made = this.#aggregated;
    const counted = (function* () {
      made();
      yield* json;
    })();
    return yield* this.#making(aggregatedName(root, version), counted, { of: () => all, message: 'discovery' });
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
    return allAtOnce(this.#makingIndex());
  }

  /** `/openapi/v3/<path>`; undefined for versions that are not served. */
  openapi(group: string, version: string): ApiDocument | undefined {
    return allAtOnce(this.#makingV3(group, version));
  }

  /** `/openapi/v2`. */
  openapiV2(): ApiDocument {
    return allAtOnce(this.#makingV2());
  }

  /**
   * The same documents, built in time slices unless cached. Concurrent calls share one build. While one is under way that a
   * change of the table has overtaken, the next waits: however fast the table changes, there is one at a time.
   */
  openapiInSlices(of: OpenapiName, clock: Clock): ApiDocument | undefined | Promise<ApiDocument | undefined> {
    const isOne = of.type === 'v3' || of.type === 'server';
    const name = isOne ? `v3 ${openapiPath(of)}` : of.type;
    const making = (): Steps<ApiDocument | undefined> => this.#makingOf(of);
    return this.#inSlices({ name, group: of.type === 'v3' ? of.group : undefined, making }, clock);
  }

  #inSlices(sliced: Sliced, clock: Clock): ApiDocument | undefined | Promise<ApiDocument | undefined> {
    const { name, group } = sliced;
    const underWay = this.#underWay.get(name);
    if (underWay?.isStale) {
      const again = () => this.#inSlices(sliced, clock);
      underWay.next ??= underWay.made.then(again, again);
      return underWay.next;
    }
    if (underWay) return underWay.made;
    const made = soon(sliced.making(), clock);
    if (!(made instanceof Promise)) return made;
    const making: UnderWay = {
      group,
      made: made.finally(() => this.#underWay.delete(name)),
      isStale: false,
      next: undefined,
    };
    this.#underWay.set(name, making);
    return making.made;
  }

  /** The hash of a document, which is not made for it if it describes custom resources. */
  openapiHash(of: OpenapiName, clock: Clock): string | undefined | Promise<string | undefined> {
    return soon(this.#hashing(of), clock);
  }

  *#hashing(of: OpenapiName): Generator<void, string | undefined> {
    switch (of.type) {
      case 'index':
        return (yield* this.#makingIndex()).hash;
      case 'v2':
        return this.#describesCustom(this.#everything()) ? yield* this.#hashingV2() : (yield* this.#makingV2()).hash;
      case 'v3': {
        const resources = this.#resourcesOf(of.group, of.version);
        return resources && (yield* this.#hashingV3(of.group, of.version, resources));
      }
      case 'server':
        return (yield* this.#makingOfServer(of.path))?.hash;
    }
  }

  #makingOf(of: OpenapiName): Generator<void, ApiDocument | undefined> {
    switch (of.type) {
      case 'v2':
        return this.#makingV2();
      case 'index':
        return this.#makingIndex();
      case 'v3':
        return this.#makingV3(of.group, of.version);
      case 'server':
        return this.#makingOfServer(of.path);
    }
  }

  *#makingOfServer(path: string): Generator<void, ApiDocument | undefined> {
    const operation = this.#serverOperations().get(path);
    return operation && (yield* this.#makingOfOperation(path, operation));
  }

  *#makingOfOperation(path: string, operation: Operation): Making {
    const options = { message: 'openapi v3', of: () => [] } as const;
    return yield* this.#making(`/openapi/v3/${path}`, openapiV3Of(operation, this.#api), options);
  }

  /** What the server answers besides resources, by the path of its document. */
  #serverOperations(): ReadonlyMap<string, Operation> {
    const { dialect, issuer } = this.#api;
    const groups = [...describedGroups(this.#everything())];
    const ofGroups = groups.map((group) => [`apis/${group}`, groupOperation(group, dialect)] as const);
    return new Map([...rootOperations(issuer), ...ofGroups]);
  }

  *#makingV2(): Making {
    const groups = this.#groups();
    const all = this.#everything();
    const json = jsonPieces(openapiV2(all, this.#api));
    const message = 'openapi v2';
    if (!this.#describesCustom(all)) return yield* this.#making('/openapi/v2', json, { message, of: () => all });
    const hash = yield* this.#hashingV2();
    // The table has changed: the hash is that of another document.
    if (groups !== this.#groups()) return yield* this.#makingV2();
    return yield* this.#makingForetold({ hash, message }, json);
  }

  /**
   * OpenAPI of version 2 if it is too large to be kept, and so to be made as a whole: it describes all definitions, which may
   * be hundreds of megabytes. Undefined otherwise.
   */
  streamedV2(clock: Clock): StreamedDocument | undefined | Promise<StreamedDocument | undefined> {
    return soon(this.#streamingV2(), clock);
  }

  *#streamingV2(): Steps<StreamedDocument | undefined> {
    const groups = this.#groups();
    const all = this.#everything();
    this.#definitionBytes ??= definitionBytesOf(all);
    if (this.#definitionBytes <= limits.recentDocumentsBytesMax) return undefined;
    const hash = yield* this.#hashingV2();
    // The table has changed: the hash is that of another document.
    if (groups !== this.#groups()) return yield* this.#streamingV2();
    return { hash, message: 'openapi v2', entries: openapiV2(all, this.#api) };
  }

  *#makingV3(group: string, version: string): Generator<void, ApiDocument | undefined> {
    const resources = this.#resourcesOf(group, version);
    if (!resources) return undefined;
    const json = openapiV3(resources, this.#api);
    const message = 'openapi v3';
    if (this.#describesCustom(resources)) {
      return yield* this.#makingForetold({ hash: this.#hashOfCustom(group, version, resources), message }, json);
    }
    const options = { group, message, of: () => resources } as const;
    return yield* this.#making(`/openapi/v3/${group}/${version}`, json, options);
  }

  #describesCustom(resources: readonly ServedResource[]): boolean {
    return resources.some(({ kind }) => isLazy(kind));
  }

  *#hashingV3(
    group: string,
    version: string,
    resources: readonly ServedResource[],
  ): Generator<void, string | undefined> {
    if (this.#describesCustom(resources)) return this.#hashOfCustom(group, version, resources);
    return (yield* this.#makingV3(group, version))?.hash;
  }

  /** Of all that determines the document of a group version. */
  #hashOfCustom(group: string, version: string, resources: readonly ServedResource[]): string {
    const hashes = getOrAdd(this.#hashes, group, () => new Map<string, string>());
    return getOrAdd(hashes, version, () => {
      const { dialect, cbor } = this.#api;
      const hash = createHash('sha512').update(JSON.stringify([dialect.name, dialect.gitVersion, cbor]));
      for (const { kind } of resources) hash.update(contentOfLazy(kind) ?? JSON.stringify(kind));
      return digestOf(hash);
    });
  }

  /** The index has the hashes of the documents of all resources, which determine this one, too. */
  *#hashingV2(): Generator<void, string> {
    const index = yield* this.#makingIndex();
    return digestOf(createHash('sha512').update(`v2 ${index.hash}`));
  }

  *#makingIndex(): Making {
    const groups = this.#groups();
    const all = this.#everything();
    const known = this.#made.get(undefined)?.get(indexName);
    if (known) return known;
    const paths: Record<string, { readonly serverRelativeURL: string }> = {};
    for (const [path, operation] of this.#serverOperations()) {
      const { hash } = yield* this.#makingOfOperation(path, operation);
      if (groups !== this.#groups()) return yield* this.#makingIndex();
      paths[path] = { serverRelativeURL: openapiUrl({ type: 'server', path }, hash) };
    }
    for (const { group, versions } of groups) {
      for (const { version, resources } of versions) {
        const hash = yield* this.#hashingV3(group, version, resources);
        // The table has changed: starts again, so that no index mixes two tables.
        if (hash === undefined || groups !== this.#groups()) return yield* this.#makingIndex();
        const name = { type: 'v3', group, version } as const;
        paths[openapiPath(name)] = { serverRelativeURL: openapiUrl(name, hash) };
        yield;
      }
    }
    return yield* this.#making(indexName, [JSON.stringify({ paths })], { of: () => all });
  }
}

function definitionBytesOf(resources: readonly ServedResource[]): number {
  const origins = new Set(resources.map(({ kind }) => lazySchemaOf(kind)?.origin));
  return [...origins].reduce((sum, origin) => sum + (origin?.bytes.length ?? 0), 0);
}

const indexName = '/openapi/v3';

/** Builds a document in steps. */
type Making = Generator<void, ApiDocument>;

const aggregatedName = (root: string, version: string): string => `aggregated ${root} ${version}`;

/** A document that is made in slices. */
interface Sliced {
  readonly name: string;
  /** The group that it describes; undefined if it describes all. */
  readonly group: string | undefined;
  readonly making: () => Steps<ApiDocument | undefined>;
}

interface UnderWay {
  /** The group that the document describes; undefined if it describes all. */
  readonly group: string | undefined;
  readonly made: Promise<ApiDocument | undefined>;
  /** What it describes has changed since it began. */
  isStale: boolean;
  /** The one after it. */
  next: Promise<ApiDocument | undefined> | undefined;
}

/** What is known needs no first step, and so no slice. */
function soon<T>(making: Steps<T>, clock: Clock): T | Promise<T> {
  const { done, value } = making.next();
  return done ? value : inSlices(making, clock);
}

const digestOf = (hash: Hash): string => hash.digest('hex').toUpperCase();

/** The bytes of a text that comes in pieces. `seen` is shown them, too. */
function* collected(text: Iterable<string>, seen: (piece: Buffer) => void = () => {}): Generator<void, Buffer> {
  const pieces: Buffer[] = [];
  let collecting = '';
  const put = (): void => {
    const bytes = Buffer.from(collecting);
    pieces.push(bytes);
    seen(bytes);
    collecting = '';
  };
  for (const piece of text) {
    for (const part of partsOf(piece)) {
      collecting += part;
      if (collecting.length >= pieceLength) put();
      yield;
    }
  }
  put();
  return yield* joined(pieces);
}

/** Characters to collect before they are encoded and hashed, and those of a piece that are at once. */
const pieceLength = 16 * 1024;
const partLength = 256 * 1024;

/** Parts of a long text. No pair of surrogates is split. */
function* partsOf(text: string): Generator<string, void> {
  if (text.length <= partLength) {
    yield text;
    return;
  }
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + partLength, text.length);
    if (to < text.length && (text.codePointAt(to - 1) ?? 0) > 0xffff) to++;
    yield text.slice(from, to);
    from = to;
  }
}

/** As `Buffer.concat`, with a pause after each piece. */
function* joined(pieces: readonly Buffer[]): Generator<void, Buffer> {
  const whole = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
    yield;
  }
  return whole;
}
