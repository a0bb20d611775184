import { silentLogger } from '../base/logger.ts';
import { Metrics } from '../base/metrics.ts';
import { systemRandom } from '../base/random.ts';
import { noJitter } from '../base/time/backoff-fixture.ts';
import { type Clock, systemClock } from '../base/time/clock.ts';
import type { Collection, WatchCache } from '../cache/cache.ts';
import { collectionMetrics } from '../cache/collection-metrics.ts';
import { createWatchCache } from '../cache/watch-cache.ts';
import { type ParsedJson, parseJson } from '../codec/json.ts';
import { parseYaml } from '../codec/yaml.ts';
import { orch } from '../dialect/orch.ts';
import { defaultServiceRanges, type ServiceRanges, servicePools } from '../kinds/core/service/service-pools.ts';
import type { Kind } from '../kinds/kind.ts';
import { kinds } from '../kinds/kinds.ts';
import type { KindServices } from '../kinds/services.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { defaultScope } from '../meta/scope.ts';
import type { Status, StatusError } from '../meta/status-error.ts';
import type { Admission } from '../request/admission.ts';
import { AuditAnnotations } from '../request/audit-annotations.ts';
import { parseRequestInfo } from '../request/request-info.ts';
import { groupMasters, type UserInfo } from '../request/user-info.ts';
import { enabledKinds } from '../resources/enabled-kinds.ts';
import { cachedResources, type ServedResource } from '../resources/resource.ts';
import { ResourceRegistry } from '../resources/resource-registry.ts';
import { openMemoryStore } from '../store/drivers/memory/memory-store.ts';
import type { Store } from '../store/store.ts';
import { kindCounters } from './kind-counters.ts';
import { checkRequest, Registry } from './registry.ts';
import type { ListMetadata, Reply } from './reply.ts';
import type { RegistryParts } from './verb.ts';
import { streamingListGate } from './verbs/watch.ts';
import type { PatchFormat } from './write/patch-formats.ts';

interface FixtureOptions {
  readonly store?: Store;
  readonly clock?: Clock;
  readonly admission?: Admission;
  readonly requireCreate?: RegistryParts['requireCreate'];
  readonly requireUnsafeDelete?: RegistryParts['requireUnsafeDelete'];
  readonly isSameNamespace?: RegistryParts['isSameNamespace'];
  readonly unsafeDeletion?: boolean;
  readonly serviceRanges?: ServiceRanges;
  /** Enabled feature gates. Default: none. */
  readonly features?: ReadonlySet<string>;
  /** Served in addition to the built-in kinds. */
  readonly kinds?: readonly Kind[];
}

/** Kinds that need services are tested with the whole server. */
const noServices = new Proxy({} as KindServices, {
  get(_, name) {
    throw new Error(`the fixture does not expect ${String(name)} to be asked`);
  },
});

/** Test support: a registry over a store, without HTTP. */
export class RegistryFixture implements AsyncDisposable {
  readonly store: Store;
  readonly cache: ReturnType<typeof createWatchCache>;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly resources: ResourceRegistry;
  readonly kinds: readonly Kind[];
  readonly metrics = new Metrics();
  readonly warnings: string[] = [];
  readonly annotations = new AuditAnnotations();
  userAgent = 'test/v1 (fixture)';
  /** What services are given; may change. */
  serviceRanges: ServiceRanges;
  /** Patch type of PATCH requests. */
  patchType: PatchFormat = 'merge';

  private constructor(
    store: Store,
    clock: Clock,
    admission: Admission,
    options: Pick<
      FixtureOptions,
      | 'unsafeDeletion'
      | 'serviceRanges'
      | 'features'
      | 'requireCreate'
      | 'requireUnsafeDelete'
      | 'isSameNamespace'
      | 'kinds'
    >,
  ) {
    this.store = store;
    this.clock = clock;
    this.serviceRanges = options.serviceRanges ?? defaultServiceRanges;
    const features = options.features ?? new Set([streamingListGate]);
    const everyVersion = new Map([['api/all', true]]);
    const all = enabledKinds([...kinds(orch), ...(options.kinds ?? [])], { features, runtimeConfig: everyVersion });
    this.kinds = all;
    this.cache = createWatchCache({
      random: noJitter,
      store,
      clock,
      logger: silentLogger,
      resources: cachedResources(defaultScope, all),
      metricsOf: collectionMetrics(this.metrics),
    });
    this.resources = new ResourceRegistry(all, { cache: this.cache, scope: defaultScope });
    this.registry = new Registry({
      resources: this.resources,
      store,
      cache: this.cache,
      admission,
      servicesFor: () => noServices,
      pools: () => servicePools(this.serviceRanges, orch),
      count: kindCounters(this.metrics),
      requireCreate: options.requireCreate ?? (() => {}),
      isSameNamespace: options.isSameNamespace ?? (() => true),
      requireUnsafeDelete: options.requireUnsafeDelete ?? (() => {}),
      unsafeDeletion: options.unsafeDeletion ?? false,
      features,
      watchMsMin: 30 * 60_000,
      dialect: orch,
      clock,
      random: systemRandom,
      logger: silentLogger,
    });
  }

  static async open(options: FixtureOptions = {}): Promise<RegistryFixture> {
    const admission = options.admission ?? { mutate() {}, validate() {} };
    const fixture = new RegistryFixture(
      options.store ?? openMemoryStore(),
      options.clock ?? systemClock,
      admission,
      options,
    );
    await fixture.cache.ready();
    return fixture;
  }

  served(path: string): ServedResource {
    const info = parseRequestInfo('GET', path);
    const served = info.type === 'resource' ? this.resources.find(info.group, info.version, info.resource) : undefined;
    if (!served) throw new Error(`nothing is served at ${path}`);
    return served;
  }

  /** A string body is parsed as JSON or YAML. */
  async call(method: string, target: string, body?: unknown, signal = new AbortController().signal): Promise<Reply> {
    const info = parseRequestInfo(method, target);
    if (info.type !== 'resource') throw new Error(`${target} is no resource`);
    const served = this.served(target);
    checkRequest({ info, served });
    return this.registry.serve({
      info,
      served,
      user: admin,
      userAgent: this.userAgent,
      body: body === undefined ? undefined : { ...parsed(body), ...(method === 'PATCH' && { patch: this.patchType }) },
      signal,
      annotate: (key, value) => this.annotations.annotate(key, value),
      warn: (text) => this.warnings.push(text),
      beforeWrite() {},
    });
  }

  /** The object of the reply. Throws for other replies. */
  async object(method: string, target: string, body?: unknown): Promise<ApiObject> {
    const reply = await this.call(method, target, body);
    if (reply.type !== 'object') throw new Error(`${method} ${target} answers ${reply.type}`);
    return JSON.parse(reply.bytes.toString());
  }

  /** The Status of the reply. Throws for other replies. */
  async status(method: string, target: string, body?: unknown): Promise<Status> {
    const reply = await this.call(method, target, body);
    if (reply.type !== 'status') throw new Error(`${method} ${target} answers ${reply.type}`);
    return reply.body;
  }

  /** The list of the reply. Throws for other replies. */
  async list(target: string): Promise<{
    readonly metadata: Required<Pick<ListMetadata, 'resourceVersion'>> & ListMetadata;
    readonly items: readonly ApiObject[];
  }> {
    const reply = await this.call('GET', target);
    if (reply.type !== 'list') throw new Error(`GET ${target} answers ${reply.type}`);
    const { resourceVersion = '' } = reply.metadata;
    return {
      metadata: { ...reply.metadata, resourceVersion },
      items: [...reply.items].map(({ bytes }) => JSON.parse(bytes.toString())),
    };
  }

  /** The error that the request fails with. Throws if it succeeds. */
  async refusal(method: string, target: string, body?: unknown): Promise<StatusError> {
    const answered = this.call(method, target, body).then(
      () => undefined,
      (error: StatusError) => error,
    );
    const error = await answered;
    if (!error) throw new Error(`${method} ${target} was not refused`);
    return error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cache.close();
    await this.store.close();
  }
}

const parsed = (body: unknown): ParsedJson => {
  if (typeof body !== 'string') return { value: body, duplicates: [] };
  const bytes = Buffer.from(body);
  return /^[{[]/.test(body) ? parseJson(bytes) : parseYaml(bytes);
};

const admin: UserInfo = { username: 'admin', uid: '', groups: [groupMasters], extra: {} };

/** Served kinds for tests that need no objects. */
export function withoutObjects(served: readonly Kind[]): ResourceRegistry {
  const cache: Pick<WatchCache, 'collection' | 'addResource' | 'removeResource'> = {
    collection: (prefix) => ({ prefix }) as Collection,
    addResource: () => Promise.resolve(),
    removeResource() {},
  };
  return new ResourceRegistry(served, { cache: cache as WatchCache, scope: defaultScope });
}
