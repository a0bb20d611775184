import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import { WorkSlices } from '../../base/time/work-slices.ts';
import { type ApiClient, isAbsence, type ObjectEvent } from '../../client/api-client.ts';
import { type DiscoveredResource, pathOf } from '../../client/discovery-client.ts';
import { readMetadata, readMetadataEvent } from '../../client/read-metadata.ts';
import { reflect } from '../../client/reflector.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import type { ApiObject, OwnerReference } from '../../meta/api-object.ts';
import type { ControllerContext } from '../controller.ts';
import { DiscoveredResources, groupKindOf, type Monitor } from '../discovered-resources.ts';
import { AwaitedKinds } from './awaited-kinds.ts';
import { ForeignOwners } from './foreign-owners.ts';
import {
  foregroundFinalizer,
  type GraphNode,
  isKept,
  nodeOf,
  OwnershipGraph,
  orphanFinalizer,
} from './ownership-graph.ts';
import { RemovedKinds } from './removed-kinds.ts';

type GarbageCollectorOptions = Pick<
  ControllerContext,
  'client' | 'clock' | 'random' | 'logger' | 'dialect' | 'queueMetrics' | 'events' | 'onGroupsChanged'
>;

const parallel = 16;
/**
 * Limit of the cache of absent owners, by namespace and UID; a UID never returns. The namespace is part of the key
 * because an owner that a reference from another namespace cannot reach may exist for references from its own.
 */
const absentOwnersMax = 1_000;
/** Limit of the cache of owners that existed when last read and have had no delete event since. */
const presentOwnersMax = 20_000;
/**
 * How long, and of how many owners, it is known that their dependents were to stay: events of one watch may come later than
 * those of another, so that a dependent may be seen after its owner has gone.
 */
const orphanedMs = 60_000;
const orphanedOwnersMax = 10_000;

/**
 * Deletes objects whose owners are gone, and processes foreground deletion and orphaning. In-process clients may
 * respond without a turn of the event loop, so steps over many objects yield.
 */
export function startGarbageCollector(options: GarbageCollectorOptions): Closable {
  const collector = new GarbageCollector(options);
  collector.start();
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
  /** By owner UID: when the last of its known dependents was orphaned, monotonic. */
  readonly #orphaned = new Map<string, number>();
  readonly #foreignOwners: ForeignOwners;
  readonly #slices = new WorkSlices(limits.collectorStepsPerSlice);
  readonly #stop = new AbortController();
  readonly #resources: DiscoveredResources;
  readonly #awaited = new AwaitedKinds();
  readonly #removed: RemovedKinds;
  /** One item: objects whose owners may be of kinds that were removed. */
  readonly #toLookAgain: WorkQueue<string>;

  constructor(options: GarbageCollectorOptions) {
    this.#options = options;
    this.#client = options.client;
    const queue = (name: string, work: (uid: string) => Promise<void>): WorkQueue<string> =>
      new WorkQueue({ ...options, name: `garbage_collector_${name}`, parallel, work });
    this.#removed = new RemovedKinds({ ...options, signal: this.#stop.signal });
    this.#toLookAgain = queue('removed_kinds', () => this.#lookAgain());
    this.#toDelete = queue('attempt_to_delete', (uid) => this.#attemptToDelete(uid));
    this.#toOrphan = queue('attempt_to_orphan', (uid) => this.#attemptToOrphan(uid));
    this.#foreignOwners = new ForeignOwners({ ...options, signal: this.#stop.signal });
    this.#resources = new DiscoveredResources({
      ...options,
      isFollowed: isCollected,
      looked: () => this.#looked(),
      entered: (monitor) => this.#follow(monitor),
      left: (monitors) => this.#left(monitors),
    });
  }

  start(): void {
    this.#resources.start();
  }

  #looked(): void {
    this.#removed.expire();
    if (this.#awaited.size > 0) this.#toLookAgain.add('all');
  }

  /** Looks again at objects with owners of kinds that were removed. */
  async #lookAgain(): Promise<void> {
    for (const [key, kind] of await this.#removed.all()) {
      if (this.#resources.ofOwner({ ...kind, apiVersion: `${kind.group}/` })) continue;
      for (const uid of this.#awaited.take(key)) {
        await this.#slices.step();
        this.#toDelete.add(uid);
      }
    }
  }

  #follow(monitor: Monitor): void {
    const { resource, signal } = monitor;
    void reflect<Listed>({
      ...this.#options,
      path: pathOf(resource, ''),
      signal,
      select: (object) => {
        const node = nodeOf(resource, object);
        return isKept(node) ? node : node.uid;
      },
      listed: (items) => this.#listed(monitor, items),
      changed: (event) => this.#changed(monitor, event),
      skip: (line) => !this.#concerns(resource, line),
      read: readMetadataEvent,
      readItem: readMetadata,
    });
  }

  /**
   * Objects of resources that are no longer served may still be there: a version is switched off, or comes back. They are not
   * taken for deleted; but from now on their deletion may be seen by nobody.
   */
  async #left(monitors: readonly Monitor[]): Promise<void> {
    const resources = new Set(monitors.map(({ resource }) => resource));
    const kinds = new Set(monitors.map(({ resource }) => groupKindOf(resource)));
    for (const { uid } of [...this.#graph.nodes()]) {
      await this.#slices.step();
      const node = this.#graph.get(uid);
      if (node && resources.has(node.resource)) this.#disconnect(uid);
      else if (node) this.#checkOwners(node, (owner) => kinds.has(groupKindOf(owner)));
    }
  }

  /** Looks again whether the owners are there that are selected, at those who have some. */
  #checkOwners(node: GraphNode, isSelected: (owner: OwnerReference) => boolean): void {
    const owners = node.owners.filter(isSelected);
    for (const { uid } of owners) this.#present.delete(uid);
    if (owners.length > 0) this.#toDelete.add(node.uid);
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

  async #listed(monitor: Monitor, items: readonly Listed[]): Promise<void> {
    const { resource } = monitor;
    const uids = new Set<string>();
    for (const item of items) {
      await this.#slices.step();
      if (!monitor.isServed) return;
      const uid = typeof item === 'string' ? item : item.uid;
      uids.add(uid);
      if (typeof item !== 'string') this.#see(item);
      else if (this.#graph.get(uid)) this.#disconnect(uid);
    }
    if (!monitor.isServed) return;
    this.#resources.listed(monitor);
    if (monitor.lists > 1) await this.#forgetUnlisted(resource, uids);
    for (const uid of this.#awaited.take(groupKindOf(resource))) {
      await this.#slices.step();
      this.#toDelete.add(uid);
    }
  }

  /** Handles deletions that no event reported: of objects in the graph, and of owners of such objects. */
  async #forgetUnlisted(resource: DiscoveredResource, listed: ReadonlySet<string>): Promise<void> {
    const kind = groupKindOf(resource);
    const isMissing = (owner: OwnerReference): boolean => groupKindOf(owner) === kind && !listed.has(owner.uid);
    for (const { uid } of [...this.#graph.nodes()]) {
      await this.#slices.step();
      const node = this.#graph.get(uid);
      if (node?.resource === resource && !listed.has(uid)) this.#forget(uid, node.namespace);
      else if (node) this.#checkOwners(node, isMissing);
    }
  }

  /** An object in the graph no longer has owners or finalizers of the collector. */
  #disconnect(uid: string): void {
    const before = this.#graph.forget(uid);
    this.#awaited.drop(uid);
    this.#enqueueWaiting(before?.owners ?? []);
  }

  #changed({ resource, isServed }: Monitor, { type, object }: ObjectEvent): void {
    if (type === 'DELETED') this.#forget(object.metadata.uid ?? '', object.metadata.namespace ?? '');
    else if (isServed) this.#see(nodeOf(resource, object));
  }

  #see(node: GraphNode): void {
    const before = this.#graph.see(node);
    const isSame = sameOwners(before?.owners, node.owners);
    if (!isSame) this.#awaited.drop(node.uid);
    if (node.orphansDependents) this.#toOrphan.add(node.uid);
    if (node.waitsForDependents) this.#toDelete.add(node.uid);
    if (node.owners.length > 0 && !isSame) this.#toDelete.add(node.uid);
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
    this.#awaited.drop(uid);
    const before = this.#graph.forget(uid);
    void this.#enqueueDependents(uid);
    this.#enqueueWaiting(before?.owners ?? []);
  }

  /** Enqueues owners that wait for the object that has just changed. */
  #enqueueWaiting(owners: readonly OwnerReference[]): void {
    for (const { uid } of owners) if (this.#graph.get(uid)?.waitsForDependents) this.#toDelete.add(uid);
  }

  #rememberAbsent(uid: string, namespace: string): void {
    this.#graph.noteAbsent(uid, namespace);
    this.#absent.add(`${namespace}/${uid}`);
    if (this.#absent.size <= absentOwnersMax) return;
    const [oldest] = this.#absent;
    if (oldest !== undefined) this.#absent.delete(oldest);
  }

  #isAbsent(uid: string, namespace: string): boolean {
    return this.#absent.has(`${namespace}/${uid}`) || this.#graph.isAbsent(uid, namespace);
  }

  #rememberPresent(uid: string, reference: string): void {
    const references = this.#present.get(uid) ?? new Set();
    this.#present.set(uid, references.add(reference));
    if (this.#present.size <= presentOwnersMax) return;
    const [oldest] = this.#present.keys();
    if (oldest !== undefined) this.#present.delete(oldest);
  }

  #rememberOrphaned(uid: string): void {
    const now = this.#options.clock.monotonic();
    this.#orphaned.delete(uid);
    this.#orphaned.set(uid, now);
    for (const [oldest, since] of this.#orphaned) {
      if (now - since <= orphanedMs && this.#orphaned.size <= orphanedOwnersMax) return;
      this.#orphaned.delete(oldest);
    }
  }

  #wasOrphaned({ uid }: OwnerReference): boolean {
    const since = this.#orphaned.get(uid);
    return since !== undefined && this.#options.clock.monotonic() - since <= orphanedMs;
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
    if (owners.unknown.length > 0) return;
    if (owners.orphaned.length > 0) return this.#keepOwners(node, live, without(live, owners.orphaned));
    if (owners.dangling.length === 0 && owners.waiting.length === 0) return;
    if (owners.solid.length > 0) return this.#keepOwners(node, live, owners.solid);
    // Dependents of an object that its owner waits for are deleted before it.
    const isAwaited = owners.waiting.length > 0 && this.#graph.dependentsOf(uid).length > 0;
    await this.#delete(node, live, isAwaited ? 'Foreground' : policyOf(live));
  }

  /** An owner's existence is checked by live reads, but its dependents are known only from complete lists. */
  #requireWholeGraph(): void {
    const { unseen } = this.#resources;
    if (unseen !== undefined) throw new Error(`not all resources have been listed yet: ${unseen}`);
  }

  /** Current metadata of the object; undefined if it, or the object with this UID, is gone. */
  async #live(node: GraphNode): Promise<ApiObject | undefined> {
    try {
      const live = await this.#client.getMetadata(pathOf(node.resource, node.namespace, node.name), this.#stop.signal);
      if (live.metadata.uid === node.uid) return live;
    } catch (error) {
      if (!isAbsence(error)) throw error;
    }
    this.#forget(node.uid, node.namespace);
    return undefined;
  }

  /** Classifies owners. */
  async #classify(node: GraphNode, references: readonly OwnerReference[]) {
    const owners: Record<OwnerState, OwnerReference[]> = {
      solid: [],
      waiting: [],
      dangling: [],
      orphaned: [],
      unknown: [],
    };
    for (const reference of references) {
      await this.#slices.step();
      const state = await this.#stateOf(node, reference);
      owners[state === 'dangling' && this.#wasOrphaned(reference) ? 'orphaned' : state].push(reference);
    }
    return owners;
  }

  async #stateOf(node: GraphNode, reference: OwnerReference): Promise<OwnerState> {
    const monitor = this.#resources.ofOwner(reference);
    const lists = monitor?.lists ?? 0;
    // Before the owner is looked for: it may go before the first list, and be in no event.
    if (lists === 0 && this.#graph.get(node.uid)) this.#awaited.add(groupKindOf(reference), node.uid);
    // Its kind may have gone after it, as custom resources do.
    if (!monitor)
      return this.#wasSeenToGo(node, reference) || (await this.#wentWithItsKind(node, reference))
        ? 'dangling'
        : 'unknown';
    const { resource } = monitor;
    // A cluster-scoped object cannot have a namespaced owner: the namespace would be ambiguous. The reference is
    // ignored.
    if (resource.namespaced && !node.resource.namespaced) {
      this.#foreignOwners.suspect({ node, owner: reference, resource });
      return 'solid';
    }
    const namespace = resource.namespaced ? node.namespace : '';
    if (this.#isAbsent(reference.uid, namespace)) return 'dangling';
    const owner = await this.#owner(pathOf(resource, node.namespace, reference.name));
    if (owner?.metadata.uid !== reference.uid) {
      this.#rememberAbsent(reference.uid, namespace);
      if (resource.namespaced) this.#foreignOwners.suspect({ node, owner: reference, resource });
      return 'dangling';
    }
    if (nodeOf(resource, owner).waitsForDependents) return 'waiting';
    // A delete event may have arrived during the request, or a list that it is missing from.
    if (lists > 0 && lists === monitor.lists && monitor.isServed && !this.#isAbsent(reference.uid, namespace)) {
      this.#rememberPresent(reference.uid, referenceText(node, reference));
    }
    return 'solid';
  }

  async #owner(path: string): Promise<ApiObject | undefined> {
    try {
      return await this.#client.getMetadata(path, this.#stop.signal);
    } catch (error) {
      if (isAbsence(error)) return undefined;
      throw error;
    }
  }

  /** In the namespace of the object, or without one. */
  #wasSeenToGo({ namespace }: GraphNode, { uid }: OwnerReference): boolean {
    return this.#isAbsent(uid, namespace) || this.#isAbsent(uid, '');
  }

  /** What the object says of its owners was read before. */
  async #wentWithItsKind({ resource }: GraphNode, reference: OwnerReference): Promise<boolean> {
    const kind = await this.#removed.find(reference);
    return kind !== undefined && (resource.namespaced || !kind.namespaced) && (await this.#removed.isGone(kind));
  }

  /** Removes only references to others: to owners that are gone or waiting where some remain, or that were orphaned. */
  async #keepOwners(node: GraphNode, live: ApiObject, kept: readonly OwnerReference[]): Promise<void> {
    await this.#patch(node, live, { ownerReferences: kept });
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
    if (!live) return;
    this.#rememberOrphaned(uid);
    await this.#removeFinalizer(node, live, orphanFinalizer);
  }

  async #disown(dependent: GraphNode, owner: string): Promise<void> {
    await this.#slices.step();
    const live = await this.#live(dependent);
    const references = live?.metadata.ownerReferences ?? [];
    const kept = references.filter(({ uid }) => uid !== owner);
    if (live && kept.length < references.length) await this.#keepOwners(dependent, live, kept);
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
      if (!isAbsence(error)) throw error;
    }
  }

  close(): void {
    this.#stop.abort(new Error('the controller was stopped'));
    this.#resources.close();
    this.#toDelete.close();
    this.#toLookAgain.close();
    this.#toOrphan.close();
  }
}

/**
 * As in kube-controller-manager: existing, waiting for its dependents' deletion, or gone; or gone and its dependents are to
 * stay. Of a kind that is not served it is unknown, and the object is looked at again when the kind comes.
 */
type OwnerState = 'solid' | 'waiting' | 'dangling' | 'orphaned' | 'unknown';

/** A listed object: its node if it is kept in the graph, otherwise its UID. */
type Listed = GraphNode | string;

/** Events are short-lived and too numerous. */
const isCollected = ({ resource, verbs }: DiscoveredResource): boolean =>
  resource !== 'events' && ['list', 'watch', 'delete'].every((verb) => verbs.includes(verb));

const addedEvent = '{"type":"ADDED"';
const modifiedEvent = '{"type":"MODIFIED"';

/** Equal for references that resolve to the same object. */
const referenceText = ({ namespace }: GraphNode, { apiVersion, kind, name, uid }: OwnerReference): string =>
  JSON.stringify([namespace, apiVersion, kind, name, uid]);

const without = ({ metadata }: ApiObject, others: readonly OwnerReference[]): readonly OwnerReference[] =>
  (metadata.ownerReferences ?? []).filter(({ uid }) => !others.some((other) => other.uid === uid));

const blocks = (owners: readonly OwnerReference[], uid: string): boolean =>
  owners.some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true);

const sameOwners = (a: readonly OwnerReference[] | undefined, b: readonly OwnerReference[]): boolean =>
  a !== undefined && a.length === b.length && a.every(({ uid }, at) => uid === b[at]?.uid);

/** The deletion policy that the object's own finalizers request. */
function policyOf({ metadata: { finalizers = [] } }: ApiObject): string {
  if (finalizers.includes(orphanFinalizer)) return 'Orphan';
  return finalizers.includes(foregroundFinalizer) ? 'Foreground' : 'Background';
}
