/** A node that something is known about. One value for each name, compared by identity. */
export interface GraphNode {
  readonly name: string;
  /** How many objects tie something to it. */
  objects: number;
}

/** An object, or the name of one, that nodes can be entitled to. */
export interface ObjectName {
  readonly resource: string;
  /** '' for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/** What one object adds to the graph. */
export interface Links {
  readonly node: GraphNode | undefined;
  /** Vertices that `node` is entitled to because of this object. */
  readonly granted: readonly Vertex[];
  readonly followed: readonly Followed[];
}

/** Who is entitled to `to` is entitled to `from`. */
export interface Followed {
  readonly from: Vertex;
  readonly to: Vertex;
}

/**
 * One object of the graph with the nodes that are entitled to it, each with the number of reasons for that: pods on the node
 * that name it, and vertices that it follows and that the node is entitled to. Most have one node: it stands in the vertex
 * itself, since a map for each of 100,000 would weigh more than all else.
 */
export class Vertex implements ObjectName {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** What the object itself adds, where it is one that adds something, and is there. */
  links: Links | undefined;
  /** How many vertices this one follows. */
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

  /** Nothing is known about it any more. What has links is tied by them. */
  get idle(): boolean {
    const tied = this.#first !== undefined || this.#others !== undefined;
    return !tied && this.#follows === 0 && this.#followers === undefined;
  }

  has(node: GraphNode): boolean {
    return this.#first === node || this.#others?.has(node) === true;
  }

  /** One more reason. The first for this node is one for every follower too. */
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

  /** One reason less: as many as there were `grant`s, no more. */
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

  /** From now on every node that is entitled to `other` is entitled to this. Not twice for the same one. */
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
