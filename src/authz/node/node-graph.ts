import { getOrAdd } from '../../base/collections/get-or-add.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type GraphResource, readers } from './graph-sources.ts';
import { type Followed, type GraphNode, type Links, type ObjectName, Vertex } from './vertex.ts';

/**
 * Which nodes are entitled to which objects, because of the pods that run on them (spec section 5.7):
 *
 *     pod a on n1, names secret s           secret s:  n1 (2 reasons), n2 (1)
 *     pod b on n1, names secret s           claim c:   n2
 *     pod c on n2, names s and claim c      volume v:  n2       follows claim c
 *     volume v bound to c, with secret k    secret k:  n2       follows volume v
 *
 * Each object stores the nodes entitled to it, so that a decision needs no graph traversal; the cost of an event depends on the
 * references of its object. Updated from watch events in any order. Updates are synchronous, so decisions never see a partial
 * change.
 */
export class NodeGraph {
  readonly #dialect: Dialect;
  /** By resource, namespace and name. Nested maps, since a joined key could be ambiguous. */
  readonly #vertices = new Map<string, Map<string, Map<string, Vertex>>>();
  readonly #nodes = new Map<string, GraphNode>();

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** Adds or replaces an object. `object` is decoded. */
  put(resource: GraphResource, object: ApiObject): void {
    const { namespace = '', name = '' } = object.metadata;
    const own: ObjectName = { resource, namespace, name };
    const { node, granted, followed } = readers[resource](object, own, this.#dialect);
    if (node === '' && followed.length === 0) {
      this.remove(resource, namespace, name);
      return;
    }
    const vertex = this.#at(own);
    const after: Links = {
      node: node === '' ? undefined : this.#nodeNamed(node),
      granted: granted.map((each) => this.#at(each)),
      followed: this.#followedOf(followed),
    };
    const before = vertex.links;
    // Most updates change nothing that concerns the graph.
    if (before && areSame(before, after)) return;
    if (before) unlink(before);
    vertex.links = after;
    link(after);
    if (before) this.#sweep(before);
  }

  /** Removes an object, if present. `namespace` is empty for cluster-scoped objects. */
  remove(resource: GraphResource, namespace: string, name: string): void {
    const vertex = this.#vertices.get(resource)?.get(namespace)?.get(name);
    const before = vertex?.links;
    if (!vertex || !before) return;
    unlink(before);
    vertex.links = undefined;
    this.#sweep(before);
    this.#drop(vertex);
  }

  /** True if the node is entitled to the object; false for unknown nodes and objects. */
  isEntitled(node: string, { resource, namespace, name }: ObjectName): boolean {
    const known = this.#nodes.get(node);
    return known !== undefined && this.#vertices.get(resource)?.get(namespace)?.get(name)?.has(known) === true;
  }

  /** Number of objects, namespaces and nodes held. 0 once everything is removed. */
  get size(): number {
    let size = this.#nodes.size;
    for (const namespaces of this.#vertices.values()) {
      for (const names of namespaces.values()) size += 1 + names.size;
    }
    return size;
  }

  #at(wanted: ObjectName): Vertex {
    const { resource, namespace, name } = wanted;
    const namespaces = getOrAdd(this.#vertices, resource, () => new Map<string, Map<string, Vertex>>());
    const names = getOrAdd(namespaces, namespace, () => new Map<string, Vertex>());
    return getOrAdd(names, name, () => new Vertex(wanted));
  }

  #nodeNamed(name: string): GraphNode {
    return getOrAdd(this.#nodes, name, () => ({ name, objects: 0 }));
  }

  /** A volume may use one secret for several purposes; one edge is enough. */
  #followedOf(pairs: readonly { readonly from: ObjectName; readonly to: ObjectName }[]): readonly Followed[] {
    const found: Followed[] = [];
    for (const pair of pairs) {
      const [from, to] = [this.#at(pair.from), this.#at(pair.to)];
      if (!found.some((each) => each.from === from && each.to === to)) found.push({ from, to });
    }
    return found;
  }

  /** Removes what only these links kept in the graph. */
  #sweep({ node, granted, followed }: Links): void {
    if (node?.objects === 0) this.#nodes.delete(node.name);
    for (const vertex of granted) this.#drop(vertex);
    for (const { from, to } of followed) {
      this.#drop(from);
      this.#drop(to);
    }
  }

  #drop(vertex: Vertex): void {
    if (!vertex.idle) return;
    const namespaces = this.#vertices.get(vertex.resource);
    const names = namespaces?.get(vertex.namespace);
    names?.delete(vertex.name);
    if (names?.size === 0) namespaces?.delete(vertex.namespace);
  }
}

function link({ node, granted, followed }: Links): void {
  if (node) {
    node.objects++;
    for (const vertex of granted) vertex.grant(node);
  }
  for (const { from, to } of followed) from.follow(to);
}

function unlink({ node, granted, followed }: Links): void {
  if (node) {
    node.objects--;
    for (const vertex of granted) vertex.revoke(node);
  }
  for (const { from, to } of followed) from.unfollow(to);
}

const areSame = (a: Links, b: Links): boolean =>
  a.node === b.node &&
  a.granted.length === b.granted.length &&
  a.granted.every((vertex, at) => vertex === b.granted[at]) &&
  a.followed.length === b.followed.length &&
  a.followed.every(({ from, to }, at) => from === b.followed[at]?.from && to === b.followed[at]?.to);
