import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import { Backoff, type BackoffPolicy } from '../../base/time/backoff.ts';
import { WorkSlices } from '../../base/time/work-slices.ts';
import { type ApiClient, hasReason, type ObjectEvent } from '../../client/api-client.ts';
import {
  type DiscoveredResource,
  type DiscoveryFailure,
  discoverGroups,
  discoverResources,
  pathOf,
} from '../../client/discovery-client.ts';
import { readMetadata, readMetadataEvent } from '../../client/read-metadata.ts';
import { reflect } from '../../client/reflector.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import type { ApiObject, OwnerReference } from '../../meta/api-object.ts';
import type { ControllerContext } from '../controller.ts';
import { ForeignOwners } from './foreign-owners.ts';
import {
  foregroundFinalizer,
  type GraphNode,
  isKept,
  nodeOf,
  OwnershipGraph,
  orphanFinalizer,
} from './ownership-graph.ts';

type GarbageCollectorOptions = Pick<
  ControllerContext,
  'client' | 'clock' | 'random' | 'logger' | 'queueMetrics' | 'events' | 'onGroupsChanged'
>;

/** Interval of discovery. */
const discoveryMs = 30_000;
/** Backoff of discovery after a partial or complete failure. */
const discoveryRetries: BackoffPolicy = { firstMs: 1_000, maxMs: discoveryMs };
const parallel = 16;
/**
 * Limit of the cache of absent owners, by namespace and UID; a UID never returns. The namespace is part of the key
 * because an owner that a reference from another namespace cannot reach may exist for references from its own.
 */
const absentOwnersMax = 1_000;
/** Limit of the cache of owners that existed when last read and have had no delete event since. */
const presentOwnersMax = 20_000;

/**
 * Deletes objects whose owners are gone, and processes foreground deletion and orphaning. In-process clients may
 * respond without a turn of the event loop, so steps over many objects yield.
 */
export function startGarbageCollector(options: GarbageCollectorOptions): Closable {
  const collector = new GarbageCollector(options);
  void collector.run();
  return collector;
}

class GarbageCollector implements Closable {
  readonly #client: ApiClient;
  readonly #options: GarbageCollectorOptions;
  readonly #graph = new OwnershipGraph();
  readonly #toDelete: WorkQueue<string>;
  readonly #toOrphan: WorkQueue<string>;
  readonly #absent = new Set<string>();
  /** By owner UID: the references that resolved to it. */
  readonly #present = new Map<string, Set<string>>();
  readonly #foreignOwners: ForeignOwners;
  readonly #slices = new WorkSlices(limits.collectorStepsPerSlice);
  readonly #stop = new AbortController();
  /** By path of the collection: the watched resource, and the controller that stops its watch. */
  readonly #monitors = new Map<string, { readonly resource: DiscoveredResource; readonly stop: AbortController }>();
  readonly #pathsByGroup = new Map<string, Set<string>>();
  /** Resources that were never listed completely: until they are, an owner may wrongly seem to have no dependents. */
  readonly #unlisted = new Set<string>();
  /** Group versions that could never be discovered: they may contain dependents of any object. */
  #undiscovered: readonly string[] = [];
  readonly #discoveryBackoff: Backoff;
  #timer: Closable | undefined;
  readonly #following: Closable | undefined;
  /** Groups that changed since their last discovery. */
  #changedGroups = new Set<string>();
  /** Completion of the last discovery requested: discoveries run one after another. */
  #discovering: Promise<unknown> = Promise.resolve();

  constructor(options: GarbageCollectorOptions) {
    this.#options = options;
    this.#client = options.client;
    this.#discoveryBackoff = new Backoff(discoveryRetries, options.random);
    const queue = (name: string, work: (uid: string) => Promise<void>): WorkQueue<string> =>
      new WorkQueue({ ...options, name: `garbage_collector_${name}`, parallel, work });
    this.#toDelete = queue('attempt_to_delete', (uid) => this.#attemptToDelete(uid));
    this.#toOrphan = queue('attempt_to_orphan', (uid) => this.#attemptToOrphan(uid));
    this.#foreignOwners = new ForeignOwners({ ...options, signal: this.#stop.signal });
    this.#following = options.onGroupsChanged?.((groups) => this.#groupsChanged(groups));
  }

  /** Runs discovery periodically until closed. */
  async run(): Promise<void> {
    const failures = await this.#inTurn(() => this.#discover()).catch((error: unknown) => [error]);
    if (this.#stop.signal.aborted) return;
    if (failures.length > 0) {
      const message = 'resources could not be discovered';
      if (this.#discoveryBackoff.failures === 0) this.#options.logger.warn(message, { failures });
      else this.#options.logger.debug(message, { failures });
    }
    if (failures.length === 0) this.#discoveryBackoff.reset();
    const afterMs = failures.length === 0 ? discoveryMs : this.#discoveryBackoff.next();
    this.#timer = this.#options.clock.after(afterMs, () => void this.run());
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#discovering.then(work);
    this.#discovering = done.catch(() => undefined);
    return done;
  }

  /** Rediscovers these groups immediately. Failures are retried by the periodic discovery. */
  #groupsChanged(groups: ReadonlySet<string>): void {
    const isFirst = this.#changedGroups.size === 0;
    for (const group of groups) this.#changedGroups.add(group);
    if (!isFirst) return;
    this.#inTurn(async () => {
      if (this.#stop.signal.aborted) return;
      const changed = this.#changedGroups;
      this.#changedGroups = new Set();
      const { resources, failures } = await discoverGroups(this.#client, changed, this.#stop.signal);
      if (failures.length > 0) return;
      await this.#follow(
        resources,
        [...changed].flatMap((group) => [...(this.#pathsByGroup.get(group) ?? [])]),
      );
    }).catch((error: unknown) => this.#options.logger.debug('resources could not be discovered', { error }));
  }

  /** Returns the discovery failures. Rejects if discovery fails entirely. */
  async #discover(): Promise<readonly DiscoveryFailure[]> {
    const { resources, failures } = await discoverResources(this.#client, this.#stop.signal);
    const unknown = new Set(failures.map(({ groupVersion }) => groupVersion));
    // Resources of a failed group version may still exist.
    const looked = [...this.#monitors].filter(([, { resource }]) => !unknown.has(resource.apiVersion));
    await this.#follow(
      resources,
      looked.map(([path]) => path),
    );
    const known = new Set([...this.#monitors.values()].map(({ resource }) => resource.apiVersion));
    // A malformed group version has no resources.
    const away = failures.filter(({ type, groupVersion }) => type === 'unavailable' && !known.has(groupVersion));
    this.#undiscovered = away.map(({ groupVersion }) => groupVersion);
    return failures;
  }

  /** Starts watches of these resources, and stops those at the paths `before` that are not among them. */
  async #follow(resources: readonly DiscoveredResource[], before: readonly string[]): Promise<void> {
    const found = new Map<string, DiscoveredResource>();
    for (const resource of resources) if (isCollected(resource)) found.set(pathOf(resource, ''), resource);
    for (const path of before) {
      const monitor = found.has(path) ? undefined : this.#monitors.get(path);
      if (!monitor) continue;
      const { resource, stop } = monitor;
      this.#pathsByGroup.get(groupOf(resource.apiVersion))?.delete(path);
      stop.abort(new Error('the resource is no longer served'));
      this.#monitors.delete(path);
      this.#unlisted.delete(path);
      // They may still be there: a version is switched off, or comes back. Deletions were reported before.
      for (const uid of [...this.#graph.ofResource(resource)]) {
        await this.#slices.step();
        this.#disconnect(uid);
      }
    }
    for (const [path, resource] of found) if (!this.#monitors.has(path)) this.#monitor(path, resource);
  }

  #monitor(path: string, resource: DiscoveredResource): void {
    const stop = new AbortController();
    this.#monitors.set(path, { resource, stop });
    const group = groupOf(resource.apiVersion);
    this.#pathsByGroup.set(group, (this.#pathsByGroup.get(group) ?? new Set()).add(path));
    this.#unlisted.add(path);
    void reflect<Listed>({
      ...this.#options,
      path,
      signal: AbortSignal.any([stop.signal, this.#stop.signal]),
      select: (object) => {
        const node = nodeOf(resource, object);
        return isKept(node) ? node : node.uid;
      },
      listed: (items) => this.#listed(path, resource, items),
      changed: (event) => this.#changed(resource, event),
      skip: (line) => !this.#concerns(resource, line),
      read: readMetadataEvent,
      readItem: readMetadata,
    });
  }

  /**
   * Whether an event must be parsed. Most objects have no owners and no finalizers: their ADDED events are skipped by
   * a search for these words, which is much cheaper than parsing. A deleted object may have been an owner; a modified
   * one may be in the graph.
   */
  #concerns(resource: DiscoveredResource, line: Buffer): boolean {
    if (line.includes('"ownerReferences"') || line.includes('"finalizers"')) return true;
    if (line.includes(addedEvent)) return false;
    return !line.includes(modifiedEvent) || this.#graph.countOf(resource) > 0;
  }

  async #listed(path: string, resource: DiscoveredResource, items: readonly Listed[]): Promise<void> {
    const again = !this.#unlisted.has(path);
    const uids = new Set<string>();
    for (const item of items) {
      await this.#slices.step();
      const uid = typeof item === 'string' ? item : item.uid;
      uids.add(uid);
      if (typeof item !== 'string') this.#see(item);
      else if (this.#graph.get(uid)) this.#disconnect(uid);
    }
    this.#unlisted.delete(path);
    if (again) await this.#forgetUnlisted(resource, uids);
  }

  /** Handles deletions that no event reported: of objects in the graph, and of owners of such objects. */
  async #forgetUnlisted(resource: DiscoveredResource, listed: ReadonlySet<string>): Promise<void> {
    for (const uid of [...this.#graph.ofResource(resource)]) {
      await this.#slices.step();
      if (!listed.has(uid)) this.#forget(uid, this.#graph.get(uid)?.namespace ?? '');
    }
    const isOfResource = ({ apiVersion, kind }: OwnerReference): boolean =>
      kind === resource.kind && groupOf(apiVersion) === groupOf(resource.apiVersion);
    for (const node of [...this.#graph.nodes()]) {
      await this.#slices.step();
      for (const owner of node.owners) {
        if (!isOfResource(owner) || listed.has(owner.uid)) continue;
        this.#present.delete(owner.uid);
        this.#toDelete.add(node.uid);
      }
    }
  }

  /** An object in the graph no longer has owners or finalizers of the collector. */
  #disconnect(uid: string): void {
    const before = this.#graph.forget(uid);
    this.#enqueueWaiting(before?.owners ?? []);
  }

  #changed(resource: DiscoveredResource, { type, object }: ObjectEvent): void {
    if (type === 'DELETED') this.#forget(object.metadata.uid ?? '', object.metadata.namespace ?? '');
    else this.#see(nodeOf(resource, object));
  }

  #see(node: GraphNode): void {
    const before = this.#graph.see(node);
    if (node.orphansDependents) this.#toOrphan.add(node.uid);
    if (node.waitsForDependents) this.#toDelete.add(node.uid);
    if (node.owners.length > 0 && !sameOwners(before?.owners, node.owners)) this.#toDelete.add(node.uid);
    this.#enqueueWaiting(before?.owners ?? []);
    for (const { uid } of node.owners) if (this.#graph.get(uid)?.waitsForDependents) this.#toDelete.add(node.uid);
    if (node.waitsForDependents && !before?.waitsForDependents) void this.#enqueueDependents(node.uid);
  }

  /** In slices: an owner may have very many dependents. */
  async #enqueueDependents(owner: string): Promise<void> {
    for (const uid of [...this.#graph.dependentUids(owner)]) {
      await this.#slices.step();
      if (this.#stop.signal.aborted) return;
      this.#toDelete.add(uid);
    }
  }

  #forget(uid: string, namespace: string): void {
    if (uid === '') return;
    this.#present.delete(uid);
    this.#rememberAbsent(uid, namespace);
    const before = this.#graph.forget(uid);
    void this.#enqueueDependents(uid);
    this.#enqueueWaiting(before?.owners ?? []);
  }

  /** Enqueues owners that wait for the object that has just changed. */
  #enqueueWaiting(owners: readonly OwnerReference[]): void {
    for (const { uid } of owners) if (this.#graph.get(uid)?.waitsForDependents) this.#toDelete.add(uid);
  }

  #rememberAbsent(uid: string, namespace: string): void {
    this.#absent.add(`${namespace}/${uid}`);
    if (this.#absent.size <= absentOwnersMax) return;
    const [oldest] = this.#absent;
    if (oldest !== undefined) this.#absent.delete(oldest);
  }

  #rememberPresent(uid: string, reference: string): void {
    const references = this.#present.get(uid) ?? new Set();
    this.#present.set(uid, references.add(reference));
    if (this.#present.size <= presentOwnersMax) return;
    const [oldest] = this.#present.keys();
    if (oldest !== undefined) this.#present.delete(oldest);
  }

  /** All owners are known to exist and none waits for its dependents, so that no request is needed. */
  #isSettled(node: GraphNode): boolean {
    return node.owners.every(
      (owner) =>
        this.#present.get(owner.uid)?.has(referenceText(node, owner)) &&
        !this.#graph.get(owner.uid)?.waitsForDependents,
    );
  }

  async #attemptToDelete(uid: string): Promise<void> {
    await this.#slices.step();
    const node = this.#graph.get(uid);
    if (!node || (node.deleting && !node.waitsForDependents)) return;
    if (!node.waitsForDependents && this.#isSettled(node)) return;
    if (node.waitsForDependents) this.#requireWholeGraph();
    const live = await this.#live(node);
    if (!live) return;
    if (node.waitsForDependents) return this.#finishForeground(node, live);
    const owners = await this.#classify(node, live.metadata.ownerReferences ?? []);
    if (owners.dangling.length === 0 && owners.waiting.length === 0) return;
    if (owners.solid.length > 0) return this.#keepOwners(node, live, owners.solid);
    // Dependents of an object that its owner waits for are deleted before it.
    const isAwaited = owners.waiting.length > 0 && this.#graph.dependentsOf(uid).length > 0;
    await this.#delete(node, live, isAwaited ? 'Foreground' : policyOf(live));
  }

  /** An owner's existence is checked by live reads, but its dependents are known only from complete lists. */
  #requireWholeGraph(): void {
    const [missing = this.#undiscovered[0]] = this.#unlisted;
    if (missing !== undefined) throw new Error(`not all resources have been listed yet: ${missing}`);
  }

  /** Current metadata of the object; undefined if it, or the object with this UID, is gone. */
  async #live(node: GraphNode): Promise<ApiObject | undefined> {
    try {
      const live = await this.#client.getMetadata(pathOf(node.resource, node.namespace, node.name), this.#stop.signal);
      if (live.metadata.uid === node.uid) return live;
    } catch (error) {
      if (!hasReason(error, 'NotFound')) throw error;
    }
    this.#forget(node.uid, node.namespace);
    return undefined;
  }

  /** Classifies owners: existing, waiting for this object to be deleted, or gone. */
  async #classify(node: GraphNode, references: readonly OwnerReference[]) {
    const owners: Record<OwnerState, OwnerReference[]> = { solid: [], waiting: [], dangling: [] };
    for (const reference of references) {
      await this.#slices.step();
      owners[await this.#stateOf(node, reference)].push(reference);
    }
    return owners;
  }

  async #stateOf(node: GraphNode, reference: OwnerReference): Promise<OwnerState> {
    const resource = this.#resourceOf(reference);
    if (!resource) {
      // Its kind may have gone after it, as custom resources do.
      if (this.#isKnownAbsent(node, reference)) return 'dangling';
      throw new Error(`no resource is served for the owner kind ${reference.kind} of ${reference.apiVersion}`);
    }
    // A cluster-scoped object cannot have a namespaced owner: the namespace would be ambiguous. The reference is
    // ignored.
    if (resource.namespaced && !node.resource.namespaced) {
      this.#foreignOwners.suspect({ node, owner: reference, resource });
      return 'solid';
    }
    const namespace = resource.namespaced ? node.namespace : '';
    if (this.#absent.has(`${namespace}/${reference.uid}`)) return 'dangling';
    const owner = await this.#owner(pathOf(resource, node.namespace, reference.name));
    if (owner?.metadata.uid !== reference.uid) {
      this.#rememberAbsent(reference.uid, namespace);
      if (resource.namespaced) this.#foreignOwners.suspect({ node, owner: reference, resource });
      return 'dangling';
    }
    if (nodeOf(resource, owner).waitsForDependents) return 'waiting';
    // A delete event may have arrived during the request.
    if (!this.#absent.has(`${namespace}/${reference.uid}`)) {
      this.#rememberPresent(reference.uid, referenceText(node, reference));
    }
    return 'solid';
  }

  async #owner(path: string): Promise<ApiObject | undefined> {
    try {
      return await this.#client.getMetadata(path, this.#stop.signal);
    } catch (error) {
      if (hasReason(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /** Any version of the group identifies the same objects. */
  #resourceOf({ apiVersion, kind }: OwnerReference): DiscoveredResource | undefined {
    const group = groupOf(apiVersion);
    for (const { resource } of this.#monitors.values()) {
      if (resource.kind === kind && groupOf(resource.apiVersion) === group) return resource;
    }
    return undefined;
  }

  /** Its deletion was seen, in the namespace of the object or without one. */
  #isKnownAbsent({ namespace }: GraphNode, { uid }: OwnerReference): boolean {
    return this.#absent.has(`${namespace}/${uid}`) || this.#absent.has(`/${uid}`);
  }

  /** Some owners remain: removes only the references to owners that are gone or waiting. */
  async #keepOwners(node: GraphNode, live: ApiObject, solid: readonly OwnerReference[]): Promise<void> {
    await this.#patch(node, live, { ownerReferences: solid });
  }

  /** Removes the finalizer of an object in foreground deletion once no blocking dependent is left. */
  async #finishForeground(node: GraphNode, live: ApiObject): Promise<void> {
    // An object that owns itself does not wait for itself.
    const blocking = this.#graph
      .dependentsOf(node.uid)
      .filter((each) => each !== node && blocks(each.owners, node.uid));
    if (blocking.length === 0) return this.#removeFinalizer(node, live, foregroundFinalizer);
    const toDelete = blocking.filter(({ waitsForDependents }) => !waitsForDependents);
    for (const { uid } of toDelete) this.#toDelete.add(uid);
    if (toDelete.length > 0) return;
    if (await this.#graph.waitsForItself(node, this.#slices)) await this.#unblockOwners(node, live);
  }

  /**
   * Ends a cycle of objects that wait for each other. It is looked for when each object of it waits: the owner that an object
   * is deleted for may be known to wait by a read before the graph knows it.
   */
  async #unblockOwners(node: GraphNode, live: ApiObject): Promise<void> {
    const references = live.metadata.ownerReferences ?? [];
    if (!references.some(({ blockOwnerDeletion }) => blockOwnerDeletion)) return;
    const ownerReferences = references.map((each) => ({ ...each, blockOwnerDeletion: false }));
    await this.#patch(node, live, { ownerReferences });
  }

  async #attemptToOrphan(uid: string): Promise<void> {
    const node = this.#graph.get(uid);
    if (!node?.orphansDependents) return;
    this.#requireWholeGraph();
    for (const dependent of this.#graph.dependentsOf(uid)) await this.#disown(dependent, uid);
    const live = await this.#live(node);
    if (live) await this.#removeFinalizer(node, live, orphanFinalizer);
  }

  async #disown(dependent: GraphNode, owner: string): Promise<void> {
    await this.#slices.step();
    const live = await this.#live(dependent);
    const references = live?.metadata.ownerReferences ?? [];
    const ownerReferences = references.filter(({ uid }) => uid !== owner);
    if (live && ownerReferences.length < references.length) await this.#patch(dependent, live, { ownerReferences });
  }

  async #removeFinalizer(node: GraphNode, live: ApiObject, finalizer: string): Promise<void> {
    const finalizers = live.metadata.finalizers ?? [];
    if (!finalizers.includes(finalizer)) return;
    await this.#patch(node, live, { finalizers: finalizers.filter((each) => each !== finalizer) });
  }

  /** Patches the metadata of exactly this version of the object; a newer one is a conflict, which is retried. */
  async #patch({ resource, namespace, name }: GraphNode, live: ApiObject, metadata: object): Promise<ApiObject> {
    const { uid, resourceVersion } = live.metadata;
    const patch = { metadata: { uid, resourceVersion, ...metadata } };
    return this.#client.mergePatchMetadata(pathOf(resource, namespace, name), patch, this.#stop.signal);
  }

  async #delete({ resource, namespace, name }: GraphNode, live: ApiObject, policy: string): Promise<void> {
    const { uid, resourceVersion } = live.metadata;
    const options = {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      preconditions: { uid, resourceVersion },
      propagationPolicy: policy,
    };
    try {
      await this.#client.delete(pathOf(resource, namespace, name), options, this.#stop.signal);
    } catch (error) {
      if (!hasReason(error, 'NotFound')) throw error;
    }
  }

  close(): void {
    this.#stop.abort(new Error('the controller was stopped'));
    this.#timer?.close();
    this.#following?.close();
    this.#toDelete.close();
    this.#toOrphan.close();
  }
}

/** As in kube-controller-manager: existing, waiting for its dependents' deletion, or gone. */
type OwnerState = 'solid' | 'waiting' | 'dangling';

/** A listed object: its node if it is kept in the graph, otherwise its UID. */
type Listed = GraphNode | string;

const addedEvent = '{"type":"ADDED"';
const modifiedEvent = '{"type":"MODIFIED"';

/** Events are short-lived and too numerous. */
function isCollected({ resource, verbs }: DiscoveredResource): boolean {
  return resource !== 'events' && ['list', 'watch', 'delete'].every((verb) => verbs.includes(verb));
}

/** Equal for references that resolve to the same object. */
const referenceText = ({ namespace }: GraphNode, { apiVersion, kind, name, uid }: OwnerReference): string =>
  JSON.stringify([namespace, apiVersion, kind, name, uid]);

const groupOf = (apiVersion: string): string => (apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '');

const blocks = (owners: readonly OwnerReference[], uid: string): boolean =>
  owners.some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true);

const sameOwners = (a: readonly OwnerReference[] | undefined, b: readonly OwnerReference[]): boolean =>
  a !== undefined && a.length === b.length && a.every(({ uid }, at) => uid === b[at]?.uid);

/** The deletion policy that the object's own finalizers request. */
function policyOf({ metadata: { finalizers = [] } }: ApiObject): string {
  if (finalizers.includes(orphanFinalizer)) return 'Orphan';
  return finalizers.includes(foregroundFinalizer) ? 'Foreground' : 'Background';
}
