import type { AdmissionConfigurations } from '../../../admission/admission-configurations.ts';
import type { ReachedLimit } from '../../../admission/plugins/event-limits.ts';
import type { NamespacePhase } from '../../../admission/plugins/namespace-lifecycle.ts';
import type { OwnerResource } from '../../../admission/plugins/owner-references-permission-enforcement.ts';
import type { PluginConfigurations } from '../../../admission/plugins/plugin-configurations.ts';
import type { QuotaRefusal } from '../../../admission/plugins/resource-quota/check-quotas.ts';
import type { PluginName } from '../../../admission/plugins.ts';
import type { HeldRules } from '../../../authz/rbac/rbac-index.ts';
import { asBuffer } from '../../../base/collections/byte-span.ts';
import { silentLogger } from '../../../base/logger.ts';
import type { Random } from '../../../base/random.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { untilAborted } from '../../../base/time/until-aborted.ts';
import type { CacheEntry, Collection, WatchCache } from '../../../cache/cache.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import { type ServiceRanges, servicePools } from '../../../kinds/core/service/service-pools.ts';
import type { Kind } from '../../../kinds/kind.ts';
import type { PolicyRule } from '../../../kinds/rbac/policy-rule.ts';
import type { KindServices } from '../../../kinds/services.ts';
import { apiVersionOf } from '../../../kinds/stored-as.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import type { Scope } from '../../../meta/scope.ts';
import { Registry } from '../../../registry/registry.ts';
import type { Decision } from '../../../request/access.ts';
import type { CustomVersions } from '../../../resources/custom-versions.ts';
import { enabledKinds } from '../../../resources/enabled-kinds.ts';
import { ResourceRegistry } from '../../../resources/resource-registry.ts';
import type { RuntimeConfig } from '../../../resources/runtime-config.ts';
import type { Committed, KeyStore, Page, StoreRecord } from '../../../store/store.ts';
import { type AdmissionLookups, composeAdmission } from '../../wiring/access/admission.ts';
import type { SharedVersions } from './jobs.ts';
import { ownBytes } from './messages.ts';
import { remoteAdmission } from './remote-admission.ts';
import type { JobContext } from './serve-jobs.ts';

/** An object as cached on the main thread. */
export interface KnownEntry {
  readonly key: string;
  readonly revision: number;
  readonly bytes: Uint8Array;
  readonly stale: boolean;
}

interface RemoteRegistryOptions {
  readonly dialect: Dialect;
  readonly kinds: readonly Kind[];
  /** Of a custom resource, whose kinds these are. */
  readonly custom: SharedVersions | undefined;
  /** Scope of the request. */
  readonly scope: Scope;
  readonly admissionPlugins: readonly PluginName[];
  readonly pluginConfigurations: PluginConfigurations;
  readonly configurations: AdmissionConfigurations;
  readonly features: ReadonlySet<string>;
  readonly runtimeConfig: RuntimeConfig;
  readonly unsafeDeletion: boolean;
  readonly serviceRanges: ServiceRanges;
  /** The object named by the request, if cached. */
  readonly entry: KnownEntry | undefined;
  readonly context: JobContext;
  /** Fixed at the time of the request. */
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * The registry of one request on the heavy-work thread: the same code as on the main thread, admission included. Calls
 * to store, cache and authorization, and lookups of admission plugins, go to the main thread.
 */
export function remoteRegistry(options: RemoteRegistryOptions): {
  readonly registry: Registry;
  readonly resources: ResourceRegistry;
} {
  const { dialect, scope, admissionPlugins, features, unsafeDeletion, context, clock, random } = options;
  const cache = new RemoteCache(context, options.entry);
  const { kinds, custom } = options;
  const resources = custom
    ? ResourceRegistry.ofCustom(remoteVersions(kinds, custom, context), { cache, scope })
    : new ResourceRegistry(enabledKinds(kinds, options), { cache, scope });
  const registry = new Registry({
    resources,
    store: remoteStore(context),
    cache,
    admission: composeAdmission(admissionPlugins, {
      dialect,
      configurations: options.pluginConfigurations,
      features,
      clock,
      random,
      lookups: remoteLookups(context, options.configurations),
    }),
    servicesFor: () => noServices,
    pools: () => servicePools(options.serviceRanges, dialect),
    count: (counted) => void context.call('count', counted),
    requireCreate: async () => void (await callUntilAborted(context, 'requireCreate', undefined)),
    requireUnsafeDelete: async () => void (await callUntilAborted(context, 'requireUnsafeDelete', undefined)),
    // Only used by reads.
    isSameNamespace: unavailable,
    watchMsMin: 0,
    features,
    unsafeDeletion,
    dialect,
    clock,
    random,
    // Errors reach the main thread, which logs them.
    logger: silentLogger,
  });
  return { registry, resources };
}

/** The versions of a custom resource, of which the main thread asks the webhook. */
function remoteVersions(
  kinds: readonly Kind[],
  { asksWebhook, storedInOthers }: SharedVersions,
  context: JobContext,
): CustomVersions {
  const webhook: CustomVersions['webhook'] = {
    convert: async (objects, kind) => {
      const asked = { objects: objects.map(ownBytes), apiVersion: apiVersionOf(kind) };
      return ((await callUntilAborted(context, 'convert', asked)) as readonly Uint8Array[]).map(asBuffer);
    },
  };
  return { kinds, storedInOthers, webhook: asksWebhook ? webhook : undefined };
}

const unavailable = (): never => {
  throw new Error('this is not asked for on the thread for heavy work');
};

/** Only used by kinds that are answered instead of stored. */
const noServices: KindServices = {
  apiAudiences: [],
  authenticateToken: unavailable,
  authorize: unavailable,
  rulesFor: unavailable,
  tokenLifetime: unavailable,
  issueToken: unavailable,
  agents: { addressTypes: [], port: 0 },
  object: unavailable,
  componentHealth: unavailable,
};

/** A call that is abandoned when the request ends. Not for writes, whose outcome must be awaited. */
const callUntilAborted = (context: JobContext, name: string, input: unknown): Promise<unknown> =>
  untilAborted(context.call(name, input), context.signal);

const remoteStore = (context: JobContext): KeyStore => ({
  // The store itself is asked for the record: large writes that change nothing are rare.
  formMayChange: () => true,
  get: async (key) => {
    const record = (await callUntilAborted(context, 'get', { key })) as StoreRecord | undefined;
    return record && { ...record, value: asBuffer(record.value) };
  },
  create: async (key, value) => (await context.call('create', { key, value: ownBytes(value) })) as Committed,
  update: async (key, value, expected, options) =>
    (await context.call('update', { key, value: ownBytes(value), expected, options })) as Committed,
  delete: async (key, expected) => (await context.call('delete', { key, expected })) as Committed,
  batch: async (writes) => {
    const sent = writes.map((write) => (write.verb === 'delete' ? write : { ...write, value: ownBytes(write.value) }));
    return (await context.call('batch', sent)) as readonly Committed[];
  },
  list: async (prefix, options) => (await callUntilAborted(context, 'list', { prefix, options })) as Page,
});

/** The cache as writes use it: only the object named by the request. */
class RemoteCache implements WatchCache {
  readonly #context: JobContext;
  #entry: KnownEntry | undefined;
  readonly watchers = 0;
  readonly lostSinceMs = undefined;

  constructor(context: JobContext, entry: KnownEntry | undefined) {
    this.#context = context;
    this.#entry = entry;
  }

  get revision(): number {
    return 0;
  }

  isFresh(): boolean {
    return false;
  }

  /** The request looked before it came here. */
  freshFor(): undefined {
    return undefined;
  }

  async fresh(): Promise<number> {
    const known = this.#entry?.revision;
    const { revision, state, entry } = (await callUntilAborted(this.#context, 'fresh', { known })) as Freshness;
    if (state !== 'same') this.#entry = entry;
    return revision;
  }

  collection(prefix: string): Collection {
    return {
      prefix,
      get metrics() {
        return unavailable();
      },
      line: this,
      get: (key) => (this.#entry?.key === key ? entryOf(this.#entry) : undefined),
      form: undefined,
      ready: () => undefined,
      decode: unavailable,
      snapshot: () => ({
        revision: 0,
        corrupt: new Map(),
        get: unavailable,
        entries: unavailable,
        entriesWith: unavailable,
        runs: unavailable,
        cut: unavailable,
        count: unavailable,
      }),
      snapshotAt: unavailable,
      watch: unavailable,
      keepSlowWatches: unavailable,
      hasLaggingWatches: false,
    };
  }

  readonly ready = unavailable;
  readonly addResource = unavailable;
  readonly changeResource = unavailable;
  readonly removeResource = unavailable;
  readonly reload = unavailable;
  readonly collections = unavailable;
  readonly waitFor = unavailable;
  readonly throttle = unavailable;
  readonly close = unavailable;
}

/** The result of `fresh`: the current cached state of the object named by the request. */
export interface Freshness {
  readonly revision: number;
  readonly state: 'same' | 'changed';
  readonly entry?: KnownEntry;
}

function entryOf({ key, revision, bytes, stale }: KnownEntry): CacheEntry {
  const memory = asBuffer(bytes);
  const span = { memory, start: 0, end: memory.length };
  return {
    key,
    namespace: '',
    name: '',
    revision,
    stale,
    bytes: memory,
    ...span,
    label: unavailable,
    field: unavailable,
  };
}

/** Lookups by the names of the main thread's calls. */
const remoteLookups = (context: JobContext, configurations: AdmissionConfigurations): AdmissionLookups => ({
  namespace: async (name) => (await callUntilAborted(context, 'namespace', [name])) as ApiObject | undefined,
  defaultClass: async (...args) => (await callUntilAborted(context, 'defaultClass', args)) as ApiObject | undefined,
  existingPodWarnings: async (...args) =>
    (await callUntilAborted(context, 'existingPodWarnings', args)) as readonly string[],
  provisionNamespace: async (...args) =>
    (await callUntilAborted(context, 'provisionNamespace', args)) as string | undefined,
  countEvent: async (...args) => (await callUntilAborted(context, 'countEvent', args)) as ReachedLimit | undefined,
  limitRanges: async (namespace) =>
    (await callUntilAborted(context, 'limitRanges', [namespace])) as readonly ApiObject[],
  countsQuota: async (namespace) => (await callUntilAborted(context, 'countsQuota', [namespace])) as boolean,
  chargeQuota: async (request) =>
    (await callUntilAborted(context, 'chargeQuota', [request])) as QuotaRefusal | undefined,
  podSecurityObserved: (outcome) => void context.call('podSecurityObserved', [outcome]),
  dynamic: remoteAdmission(configurations, context),
  namespacePhase: async (name) => (await callUntilAborted(context, 'namespacePhase', [name])) as NamespacePhase,
  object: async (...object) => (await callUntilAborted(context, 'object', object)) as ApiObject | undefined,
  authorize: async (attributes, user) => (await callUntilAborted(context, 'authorize', [attributes, user])) as Decision,
  resourcesOf: async (...args) => (await callUntilAborted(context, 'resourcesOf', args)) as readonly OwnerResource[],
  heldRules: async (...args) => (await callUntilAborted(context, 'heldRules', args)) as HeldRules,
  roleRules: async (...args) =>
    (await callUntilAborted(context, 'roleRules', args)) as readonly PolicyRule[] | undefined,
});
