/** A node in the graph. One instance per name, compared by identity. */
export interface GraphNode {
  readonly name: string;
  /** Number of objects with links to this node. */
  objects: number;
}

/** Identifies an object that nodes can be entitled to. */
export interface ObjectName {
  readonly resource: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/** What one object adds to the graph. */
export interface Links {
  readonly node: GraphNode | undefined;
  /** Vertices that the object entitles `node` to. */
  readonly granted: readonly Vertex[];
  readonly followed: readonly Followed[];
}

/** Nodes entitled to `to` are entitled to `from`. */
export interface Followed {
  readonly from: Vertex;
  readonly to: Vertex;
}

/**
 * An object in the graph with the nodes entitled to it and, for each, the number of reasons: pods on the node that refer to the
 * object, and followed vertices the node is entitled to. Most vertices have a single node, which is held in fields: a map for
 * each of 100,000 vertices would dominate memory.
 */
export class Vertex implements ObjectName {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** Links that the object itself adds; undefined if it adds none or does not exist. */
  links: Links | undefined;
  /** Number of vertices that this one follows. */
  #follows = 0;
  #followers: Set<Vertex> | undefined;
  #first: GraphNode | undefined;
  #firstReasons = 0;
  #others: Map<GraphNode, number> | undefined;

  constructor({ resource, namespace, name }: ObjectName) {
    this.resource = resource;
    this.namespace = namespace;
    this.name = name;
  }

  /** True if the vertex can be removed. A vertex with links is never idle, because of them. */
  get idle(): boolean {
    const tied = this.#first !== undefined || this.#others !== undefined;
    return !tied && this.#follows === 0 && this.#followers === undefined;
  }

  has(node: GraphNode): boolean {
    return this.#first === node || this.#others?.has(node) === true;
  }

  /** Adds a reason. The first one for a node is passed on to every follower. */
  grant(node: GraphNode): void {
    if (this.#first === node) this.#firstReasons++;
    else if (this.#first === undefined && !this.#others?.has(node)) {
      this.#first = node;
      this.#firstReasons = 1;
      for (const follower of this.#followers ?? []) follower.grant(node);
    } else {
      this.#others ??= new Map();
      const reasons = this.#others.get(node) ?? 0;
      this.#others.set(node, reasons + 1);
      if (reasons === 0) for (const follower of this.#followers ?? []) follower.grant(node);
    }
  }

  /** Removes a reason. Must be called at most once per `grant`. */
  revoke(node: GraphNode): void {
    const reasons = (this.#first === node ? this.#firstReasons : (this.#others?.get(node) ?? 0)) - 1;
    if (reasons > 0) {
      if (this.#first === node) this.#firstReasons = reasons;
      else this.#others?.set(node, reasons);
      return;
    }
    if (this.#first === node) this.#first = undefined;
    else if (this.#others?.delete(node) && this.#others.size === 0) this.#others = undefined;
    for (const follower of this.#followers ?? []) follower.revoke(node);
  }

  /** Entitles every node that is entitled to `other`, now or later, to this vertex. At most once per `other`. */
  follow(other: Vertex): void {
    this.#follows++;
    other.#followers ??= new Set();
    other.#followers.add(this);
    for (const node of other.#nodes()) this.grant(node);
  }

  unfollow(other: Vertex): void {
    this.#follows--;
    if (other.#followers?.delete(this) && other.#followers.size === 0) other.#followers = undefined;
    for (const node of other.#nodes()) this.revoke(node);
  }

  *#nodes(): Generator<GraphNode> {
    if (this.#first) yield this.#first;
    if (this.#others) yield* this.#others.keys();
  }
}
