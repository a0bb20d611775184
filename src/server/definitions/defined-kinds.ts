import { type Closable, ClosableStack } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import type { Clock } from '../../base/time/clock.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import { type ApiClient, hasReason } from '../../client/api-client.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import {
  cleanupFinalizer,
  type DefinitionCondition,
  type DefinitionNames,
  type DefinitionStatus,
} from '../../kinds/apiextensions/custom-resource-definition.ts';
import { findCondition, isTrue, terminating, withConditions } from '../../kinds/apiextensions/definition-conditions.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ConversionParts } from '../../resources/conversion-webhook.ts';
import { startSlicedInformer } from '../../resources/object-informer.ts';
import type { Resource } from '../../resources/resource.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import type { Lead } from '../upkeep/lead.ts';
import { decideStatus, withStructure } from './decide-status.ts';
import type { ServedChange } from './document-metrics.ts';
import { FollowedDefinitions, type StoredDefinition } from './followed-definition.ts';
import { readHead } from './read-head.ts';
import type { RemoveObjects } from './remove-objects.ts';
import { RemovedKindsRecord } from './removed-kinds-record.ts';
import { ServedKinds } from './served-kinds.ts';
import type { UnservedDefinitions } from './unserved-definitions.ts';

interface DefinedKindsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly dialect: Dialect;
  readonly resources: ResourceRegistry;
  /** For the status of definitions. */
  readonly client: ApiClient;
  readonly conversions: ConversionParts;
  readonly removeObjects: RemoveObjects;
  /** Of the servers of a process one writes the status of definitions. */
  readonly lead: Pick<Lead, 'begin'>;
  readonly unserved: UnservedDefinitions;
  /** Called after each change of what definitions serve, but for those at the start. */
  readonly changed: (change: ServedChange) => void;
}

/**
 * Serves the kinds of the CustomResourceDefinitions of a scope. A definition is looked at when it changes: first its names
 * are accepted, then its kinds are added to the table of resources, then its status says that it is established. All servers of a
 * store do this and come to the same result. One server of each process writes the status; if it loses a race it looks again.
 */
export class DefinedKinds implements Closable {
  readonly #options: DefinedKindsOptions;
  readonly #definitions: FollowedDefinitions;
  readonly #served: ServedKinds;
  readonly #removed: RemovedKindsRecord;
  /** When the deletion of the objects of a resource was last asked for, monotonic. */
  readonly #removalAskedMs = new WeakMap<Resource, number>();
  /** Empty resources that were served a little longer, for collectors that have just heard of them. */
  readonly #lingered = new WeakSet<Resource>();
  /** When resources were first seen without objects, monotonic. */
  readonly #emptySinceMs = new WeakMap<Resource, number>();
  readonly #held = new ClosableStack();
  readonly #stop = new AbortController();
  /** Resolves when all definitions are known. */
  readonly #follow: () => Promise<void>;
  /**
   * Changes the table of resources. Undefined until the kinds of all definitions were loaded. Names are given in its order:
   * decisions take no time.
   */
  #tables: WorkQueue<string> | undefined;
  /** Tells definitions what was decided, on the server of a process that leads. */
  #statuses: WorkQueue<string> | undefined;

  constructor(options: DefinedKindsOptions) {
    this.#options = options;
    const { resources, dialect } = options;
    const definitions = resources.finder(dialect.group('apiextensions'), 'v1', 'customresourcedefinitions');
    this.#definitions = new FollowedDefinitions(dialect);
    this.#removed = new RemovedKindsRecord(options);
    const changed = (change: ServedChange): void => {
      if (this.#tables) options.changed(change);
    };
    this.#served = this.#held.add(new ServedKinds({ ...options, definitions, changed }));
    const put = (object: ApiObject): void => this.#put(object);
    const remove = (_namespace: string, name: string): void => this.#remove(name);
    this.#follow = () =>
      this.#held.add(startSlicedInformer({ resources, find: definitions }, { put, remove, read: readHead }, options))
        .synced;
  }

  /** Resolves when the kinds of all definitions that are established are served. */
  async start(): Promise<void> {
    await this.#follow();
    const names = this.#definitions.names().values();
    const load = async (): Promise<void> => {
      for (const name of names) {
        if (this.#stop.signal.aborted) return;
        await this.#pause();
        await this.#load(name);
      }
    };
    await Promise.all(Array.from({ length: limits.definitionsAtOnce }, load));
    if (this.#stop.signal.aborted) return;
    // It does not wait for a turn of its own: a definition counts for the next request after its write.
    const queue = { ...this.#options, parallel: limits.definitionsAtOnce };
    const serve = (name: string): Promise<void> => this.#serve(name);
    this.#tables = this.#held.add(new WorkQueue({ ...queue, name: 'custom_resource_kinds', work: serve }));
    // What changed meanwhile, and what still needs a decision.
    for (const name of new Set([...this.#definitions.names(), ...this.#served.names()])) {
      await this.#pause();
      this.#changed(name);
    }
    const tell = (name: string): Promise<void> => this.#tell(name);
    this.#held.add(
      this.#options.lead.begin(() => {
        const statuses = new WorkQueue({ ...queue, name: 'custom_resource_definitions', work: tell });
        this.#statuses = statuses;
        for (const name of this.#definitions.names()) statuses.add(name);
        return statuses;
      }),
    );
  }

  /** The server starts without the kinds of a definition that cannot be served; the queue tries them again. */
  async #load(name: string): Promise<void> {
    const stored = this.#definitions.get(name)?.stored;
    if (!stored) return;
    try {
      await this.#served.serve(name, stored, stored.status);
    } catch (error) {
      this.#options.logger.error('the kinds of a definition cannot be served', { definition: name, error });
    }
  }

  #put(object: ApiObject): void {
    const before = this.#definitions.put(object);
    const { name = '' } = object.metadata;
    this.#changed(name);
    // It may have given up names that others wait for.
    if (before) this.#wakeIn(before.stored.group, name);
  }

  #remove(name: string): void {
    const before = this.#definitions.delete(name);
    this.#changed(name);
    if (before) this.#wakeIn(before.stored.group, name);
  }

  /** Looks again at the definitions of a group that wait for names. */
  #wakeIn(group: string, except: string): void {
    for (const name of this.#definitions.waitingIn(group)) if (name !== except) this.#changed(name);
  }

  #changed(name: string): void {
    if (!this.#tables) return;
    this.#options.unserved.add(name);
    this.#tables.add(name);
  }

  /** Yields if the turn's time is used up. */
  #pause(): Promise<void> | undefined {
    const slice = new TimeSlice(this.#options.clock);
    return slice.over ? slice.next() : undefined;
  }

  /** Decides about a definition, and serves its kinds. */
  async #serve(name: string): Promise<void> {
    const { unserved, clock } = this.#options;
    const seen = unserved.begin(name);
    try {
      const followed = this.#definitions.get(name);
      if (!followed) {
        await this.#served.serve(name, undefined, {});
        return;
      }
      const { stored } = followed;
      const now = clock.now();
      followed.decided = decideStatus(stored, this.#namesBeside(stored), now);
      const structure = await this.#served.serve(name, stored, followed.decided);
      if (structure) followed.decided = withStructure(followed.decided, structure, now);
      followed.isServed = true;
      this.#statuses?.add(name);
    } finally {
      unserved.end(name, seen);
    }
  }

  /** Writes what was decided: the kinds are served before anybody is told so. */
  async #tell(name: string): Promise<void> {
    const { stored, decided, isServed } = this.#definitions.get(name) ?? {};
    // Where it is about to be served this is called again.
    if (!stored || !decided || !isServed) return;
    if (decided === stored.status) return stored.isEnding ? this.#end(stored) : undefined;
    const { kind } = stored.names;
    if (kind && isTrue({ status: decided }, 'Established') && !isTrue(stored, 'Established')) {
      await this.#record(name, this.#removed.drop(name, kind));
    }
    await this.#writeStatus(stored, decided);
  }

  /** Names in use in its group, those of resources too that nobody has defined, such as those of a library's user. */
  *#namesBeside(stored: StoredDefinition): IterableIterator<DefinitionNames> {
    yield* this.#definitions.namesBeside(stored);
    for (const { resource, kind } of this.#options.resources.table.ofGroup(stored.group)) {
      if (!resource.custom) yield { ...kind, plural: kind.resource, shortNames: [...kind.shortNames], categories: [] };
    }
  }

  /** Deletes the objects of a definition that is being deleted, then lets it go. */
  async #end(stored: StoredDefinition): Promise<void> {
    const { name, resourceVersion } = stored;
    const finalizer = cleanupFinalizer(this.#options.dialect);
    if (!stored.finalizers.includes(finalizer)) return;
    const outcome = await this.#removeObjects(stored);
    if (await this.#showOutcome(stored, outcome.condition)) return;
    if (outcome.error !== undefined) throw outcome.error;
    if (outcome.condition.status === 'True') {
      // Finalizers of its objects are removed by others.
      this.#statuses?.addAfter(name, recheckMs);
      return;
    }
    const resource = this.#served.resourceOf(name);
    if (resource && this.#isNeeded(resource)) {
      this.#statuses?.addAfter(name, recheckMs);
      return;
    }
    if (resource) await this.#record(name, this.#removed.add(name, definedBy(stored, resource)));
    const finalizers = stored.finalizers.filter((each) => each !== finalizer);
    await this.#write(name, undefined, { metadata: { resourceVersion, finalizers } });
  }

  /** Without the record a collector may keep what it could collect, as it would in kube-controller-manager. */
  async #record(definition: string, written: Promise<void>): Promise<void> {
    await written.catch((error: unknown) => {
      this.#options.logger.warn('collectors are not told whether a kind was removed', { definition, error });
    });
  }

  /**
   * Whether an empty resource should be served a little longer. Dependents of its objects are collected by who saw these go, or
   * does not find them: of a kind that is not served a collector asks nothing, and keeps them.
   */
  #isNeeded(resource: Resource): boolean {
    const now = this.#options.clock.monotonic();
    const sinceMs = this.#emptySinceMs.get(resource) ?? now;
    this.#emptySinceMs.set(resource, sinceMs);
    if (resource.collection.hasLaggingWatches && now - sinceMs < limits.laggingWatchMsMax) return true;
    // For collectors that have just heard of the kind, or have yet to read what they were sent.
    if (!this.#removalAskedMs.has(resource) || this.#lingered.has(resource)) return false;
    this.#lingered.add(resource);
    return true;
  }

  /** Writes the condition unless it is there. False if it is. */
  async #showOutcome(stored: StoredDefinition, condition: DefinitionCondition): Promise<boolean> {
    const conditions = withConditions(stored, [condition], this.#options.clock.now());
    const isThere = stored.status.conditions?.some(
      ({ type, reason, message }) =>
        type === condition.type && reason === condition.reason && message === condition.message,
    );
    if (isThere) return false;
    await this.#writeStatus(stored, { ...stored.status, conditions });
    return true;
  }

  /** Asks for the deletion of all objects, now and then anew. The condition is false once there are none. */
  async #removeObjects(stored: StoredDefinition): Promise<RemovalOutcome> {
    if (!isTrue(stored, 'Established')) return { condition: terminating.neverEstablished };
    const resource = this.#served.resourceOf(stored.name);
    const now = this.#options.clock.monotonic();
    if (!resource || isEmpty(resource)) return { condition: terminating.completed };
    const askedMs = this.#removalAskedMs.get(resource);
    if (askedMs !== undefined && now - askedMs < removalMs) return { condition: waitingCondition(stored) };
    resource.collection.keepSlowWatches();
    try {
      await this.#askForRemoval(resource);
    } catch (error) {
      return { condition: terminating.failed(error), error };
    }
    this.#removalAskedMs.set(resource, now);
    if (isEmpty(resource)) return { condition: terminating.completed };
    return { condition: askedMs === undefined ? terminating.inProgress : terminating.unconfirmed };
  }

  async #askForRemoval(resource: Resource): Promise<void> {
    const { collection } = resource;
    const namespaces = new Set<string>();
    for (const { namespace } of collection.snapshot().entries(collection.prefix)) {
      await this.#pause();
      namespaces.add(namespace);
    }
    for (const namespace of namespaces) await this.#options.removeObjects(resource, namespace, this.#stop.signal);
  }

  async #writeStatus({ name, resourceVersion }: StoredDefinition, status: DefinitionStatus): Promise<void> {
    // A merge patch keeps what it does not name.
    const acceptedNames = { shortNames: null, categories: null, ...status.acceptedNames };
    await this.#write(name, 'status', { metadata: { resourceVersion }, status: { ...status, acceptedNames } });
  }

  async #write(name: string, subresource: string | undefined, patch: unknown): Promise<void> {
    const { client, dialect } = this.#options;
    const apiVersion = `${dialect.group('apiextensions')}/v1`;
    const resource = 'customresourcedefinitions';
    const path = resourcePath({ apiVersion, resource, name, ...(subresource !== undefined && { subresource }) });
    try {
      // Parsing the answer, of megabytes, would hold the event loop.
      await client.mergePatchMetadata(path, patch, this.#stop.signal);
    } catch (error) {
      // It was changed or deleted meanwhile, and is looked at again.
      if (!hasReason(error, 'Conflict', 'NotFound')) throw error;
    }
  }

  close(): void {
    this.#stop.abort(new Error('the server stops'));
    this.#held.close();
  }
}

/** Interval of looks at the objects of a definition that is being deleted, and of requests to delete them. */
const recheckMs = 250;
const removalMs = 60_000;

interface RemovalOutcome {
  /** Condition `Terminating`. */
  readonly condition: DefinitionCondition;
  readonly error?: unknown;
}

/** What was said of objects that did not go stays until they are gone. */
const waitingCondition = (stored: StoredDefinition): DefinitionCondition =>
  findCondition(stored, 'Terminating')?.reason === terminating.unconfirmed.reason
    ? terminating.unconfirmed
    : terminating.inProgress;

const definedBy = ({ uid }: StoredDefinition, { kind: { kind, scope } }: Resource) => ({
  ...{ uid, kind, namespaced: scope === 'Namespaced' },
});

const isEmpty = ({ collection }: Resource): boolean => collection.snapshot().count(collection.prefix) === 0;
