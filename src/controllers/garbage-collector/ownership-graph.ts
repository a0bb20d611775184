import type { WorkSlices } from '../../base/time/work-slices.ts';
import { type DiscoveredResource, pathOf } from '../../client/discovery-client.ts';
import type { ApiObject, OwnerReference } from '../../meta/api-object.ts';

/** Finalizers that make a deletion wait for the garbage collector. */
export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';

/** Last observed state of an object that is owned or waits for the garbage collector. */
export interface GraphNode {
  readonly resource: DiscoveredResource;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly owners: readonly OwnerReference[];
  readonly deleting: boolean;
  /** In foreground deletion: its dependents are deleted first. */
  readonly waitsForDependents: boolean;
  /** Being deleted with its dependents orphaned. */
  readonly orphansDependents: boolean;
}

export const nodeOf = (resource: DiscoveredResource, { metadata }: ApiObject): GraphNode => {
  const deleting = metadata.deletionTimestamp !== undefined;
  const finalizers = metadata.finalizers ?? [];
  return {
    resource,
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    owners: metadata.ownerReferences ?? [],
    deleting,
    waitsForDependents: deleting && finalizers.includes(foregroundFinalizer),
    orphansDependents: deleting && finalizers.includes(orphanFinalizer),
  };
};

/** Objects that neither have owners nor wait for the collector are not kept in the graph. */
export const isKept = ({ owners, waitsForDependents, orphansDependents }: GraphNode): boolean =>
  owners.length > 0 || waitsForDependents || orphansDependents;

/**
 * Ownership by UID. Objects that neither have owners nor wait for the collector are not kept: the existence of such
 * an owner is checked by a request.
 *
 *     see(pod owned by set): nodes {pod}, dependents {set: {pod}}
 *     forget(set):           nodes {pod}, dependents {set: {pod}}  - pod must be checked
 *     forget(pod):           nodes {},    dependents {}
 */
export class OwnershipGraph {
  readonly #nodes = new Map<string, GraphNode>();
  readonly #dependents = new Map<string, Set<string>>();
  /** By UID of an owner: the namespaces from which it is known not to be there. */
  readonly #absent = new Map<string, Set<string>>();
  /** Number of kept objects by the path of their collection. */
  readonly #counts = new Map<string, number>();

  get(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid);
  }

  /** Number of kept objects. */
  get size(): number {
    return this.#nodes.size;
  }

  /** The dependents of the object with this UID. */
  dependentsOf(uid: string): readonly GraphNode[] {
    const uids = this.#dependents.get(uid) ?? [];
    return Array.from(uids, (each) => this.#nodes.get(each)).filter((node) => node !== undefined);
  }

  /** UIDs of the dependents of the object with this UID. */
  dependentUids(uid: string): Iterable<string> {
    return this.#dependents.get(uid) ?? [];
  }

  /**
   * Whether an object in foreground deletion waits for itself, through others that wait too. Searched from dependent to
   * owner: an object has few owners, and may have very many dependents.
   */
  async waitsForItself(node: GraphNode, slices: WorkSlices): Promise<boolean> {
    const found = new Set<string>();
    const toSearch = [node];
    for (let each = toSearch.pop(); each; each = toSearch.pop()) {
      for (const { uid, blockOwnerDeletion } of each.owners) {
        await slices.step();
        const owner = this.#nodes.get(uid);
        if (!blockOwnerDeletion || !owner?.waitsForDependents || owner.uid === each.uid || found.has(uid)) continue;
        if (uid === node.uid) return true;
        found.add(uid);
        toSearch.push(owner);
      }
    }
    return false;
  }

  /** Records the latest state of an object; returns the previous one if it was kept. */
  see(node: GraphNode): GraphNode | undefined {
    if (!isKept(node)) return this.forget(node.uid);
    const before = this.#nodes.get(node.uid);
    this.#nodes.set(node.uid, node);
    this.#count(node.resource, 1);
    const owners = new Set(node.owners.map(({ uid }) => uid));
    for (const uid of owners) {
      const dependents = this.#dependents.get(uid);
      if (dependents) dependents.add(node.uid);
      else this.#dependents.set(uid, new Set([node.uid]));
    }
    if (before) this.#remove(before, owners);
    return before;
  }

  /** Removes an object; returns its last state if it was kept. */
  forget(uid: string): GraphNode | undefined {
    const before = this.#nodes.get(uid);
    if (!before) return undefined;
    this.#nodes.delete(uid);
    this.#remove(before, new Set());
    return before;
  }

  /** Removes what is known by a state that is no longer the latest, but for these owners. */
  #remove({ uid, owners, resource }: GraphNode, except: ReadonlySet<string>): void {
    this.#count(resource, -1);
    for (const owner of owners) {
      if (except.has(owner.uid)) continue;
      const dependents = this.#dependents.get(owner.uid);
      dependents?.delete(uid);
      if (dependents?.size !== 0) continue;
      this.#dependents.delete(owner.uid);
      this.#absent.delete(owner.uid);
    }
  }

  #count(resource: DiscoveredResource, by: number): void {
    const path = pathOf(resource, '');
    const count = (this.#counts.get(path) ?? 0) + by;
    if (count === 0) this.#counts.delete(path);
    else this.#counts.set(path, count);
  }

  /** Notes that references from a namespace to the object with this UID lead nowhere, for as long as it has dependents. */
  noteAbsent(uid: string, namespace: string): void {
    if (!this.#dependents.has(uid)) return;
    const namespaces = this.#absent.get(uid);
    if (namespaces) namespaces.add(namespace);
    else this.#absent.set(uid, new Set([namespace]));
  }

  isAbsent(uid: string, namespace: string): boolean {
    return this.#absent.get(uid)?.has(namespace) === true;
  }

  /** All kept objects. */
  nodes(): IterableIterator<GraphNode> {
    return this.#nodes.values();
  }

  /** Number of kept objects of a resource. */
  countOf(resource: DiscoveredResource): number {
    return this.#counts.get(pathOf(resource, '')) ?? 0;
  }
}
