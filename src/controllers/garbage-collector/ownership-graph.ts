import { type DiscoveredResource, pathOf } from '../../client/discovery-client.ts';
import type { ApiObject, OwnerReference } from '../../meta/api-object.ts';

/** Finalizers by which a deletion waits for the collector. */
export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';

/** An object that owns, is owned, or waits for the collector; as it was last seen. */
export interface GraphNode {
  readonly resource: DiscoveredResource;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly owners: readonly OwnerReference[];
  readonly deleting: boolean;
  /** Being deleted, after the objects that it owns. */
  readonly waitsForDependents: boolean;
  /** Being deleted, and leaving the objects that it owns behind. */
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

/** Objects that neither are owned nor wait for the collector are not kept. */
export const isKept = ({ owners, waitsForDependents, orphansDependents }: GraphNode): boolean =>
  owners.length > 0 || waitsForDependents || orphansDependents;

/**
 * Who owns whom, by uid. Objects that neither are owned nor wait for the collector are not kept: whether such an owner is
 * there is asked of the server.
 *
 *     see(pod owned by set): nodes {pod}, dependents {set: {pod}}
 *     forget(set):           nodes {pod}, dependents {set: {pod}}  - pod is to be looked at
 *     forget(pod):           nodes {},    dependents {}
 */
export class OwnershipGraph {
  readonly #nodes = new Map<string, GraphNode>();
  readonly #dependents = new Map<string, Set<string>>();
  /** Kept objects by the path of their collection. */
  readonly #counts = new Map<string, number>();

  get(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid);
  }

  /** Nodes that are kept. */
  get size(): number {
    return this.#nodes.size;
  }

  /** The objects that the object of that uid owns. */
  dependentsOf(uid: string): readonly GraphNode[] {
    const uids = this.#dependents.get(uid) ?? [];
    return Array.from(uids, (each) => this.#nodes.get(each)).filter((node) => node !== undefined);
  }

  /** Uids of the objects that the object of that uid owns. */
  dependentUids(uid: string): Iterable<string> {
    return this.#dependents.get(uid) ?? [];
  }

  /** Takes in the newest state of an object; gives the one before, if it was kept. */
  see(node: GraphNode): GraphNode | undefined {
    const before = this.forget(node.uid);
    if (!isKept(node)) return before;
    this.#nodes.set(node.uid, node);
    const path = pathOf(node.resource, '');
    this.#counts.set(path, (this.#counts.get(path) ?? 0) + 1);
    for (const { uid } of node.owners) {
      const dependents = this.#dependents.get(uid);
      if (dependents) dependents.add(node.uid);
      else this.#dependents.set(uid, new Set([node.uid]));
    }
    return before;
  }

  /** The object is gone. */
  forget(uid: string): GraphNode | undefined {
    const before = this.#nodes.get(uid);
    if (before) this.#remove(before);
    return before;
  }

  #remove({ uid, owners, resource }: GraphNode): void {
    this.#nodes.delete(uid);
    const path = pathOf(resource, '');
    this.#counts.set(path, (this.#counts.get(path) ?? 0) - 1);
    for (const owner of owners) {
      const dependents = this.#dependents.get(owner.uid);
      dependents?.delete(uid);
      if (dependents?.size === 0) this.#dependents.delete(owner.uid);
    }
  }

  /** All that are kept. */
  nodes(): IterableIterator<GraphNode> {
    return this.#nodes.values();
  }

  /** How many objects of a resource are kept. */
  countOf(resource: DiscoveredResource): number {
    return this.#counts.get(pathOf(resource, '')) ?? 0;
  }

  /** Uids of kept objects of a resource; to find those that a list no longer shows. */
  *ofResource({ root, resource }: DiscoveredResource): IterableIterator<string> {
    for (const node of this.#nodes.values()) {
      if (node.resource.root === root && node.resource.resource === resource) yield node.uid;
    }
  }
}
