import { compareKeys, sortsNatively } from './key-order.ts';

/** An item with the key that the tree sorts by. */
export interface Keyed {
  readonly key: string;
}

/** Most items of a leaf, and most children of a branch. A write copies at most this many references per level. */
const nodeItemsMax = 64;
/** A smaller node is merged with a neighbor if both fit into one. */
const nodeItemsMin = nodeItemsMax / 4;

/** A node may be modified in place by the tree whose owner token it carries; all others copy it first. */
class Leaf<T extends Keyed> {
  readonly owner: object;
  items: T[];
  /** The cached summary of the items, valid until they change: see `summaries`. */
  summary: unknown;

  constructor(owner: object, items: T[]) {
    this.owner = owner;
    this.items = items;
  }

  get size(): number {
    return this.items.length;
  }
}

/**
 * How keys are compared: 'native' while every key ever inserted sorts natively, which is the common case and faster.
 */
type KeyOrder = 'native' | 'bytes';

class Branch<T extends Keyed> {
  readonly owner: object;
  children: Node<T>[];
  /**
   * `lows[i]` is a lower bound of the keys of `children[i]`, and above all keys of `children[i - 1]`. `lows[0]` is
   * unused.
   */
  lows: string[];
  /** Number of items below this branch. */
  size: number;

  constructor(owner: object, children: Node<T>[], lows: string[], size: number) {
    this.owner = owner;
    this.children = children;
    this.lows = lows;
    this.size = size;
  }
}

type Node<T extends Keyed> = Leaf<T> | Branch<T>;

/** Items of a leaf, from index `from` (inclusive) to `to` (exclusive). */
interface Stretch<T extends Keyed> {
  readonly leaf: Leaf<T>;
  readonly from: number;
  readonly to: number;
}

/** Where a range starts: at `key`, or after it. */
export interface RangeStart {
  readonly key: string;
  readonly exclusive: boolean;
}

/** The read-only part of SortedEntries. */
export type ReadonlySortedEntries<T extends Keyed> = Pick<
  SortedEntries<T>,
  'size' | 'get' | 'at' | 'range' | 'rank' | 'summaries'
>;

/**
 * Objects sorted by key in UTF-8 byte order: a copy-on-write B+ tree whose branches count the items below them. `get`,
 * `set`, `delete` and `rank` are O(log n); `snapshot` is O(1).
 *
 * Our own, because library trees count the keys of a range (`remainingItemCount`) in O(n), and because the items carry
 * their keys.
 */
export class SortedEntries<T extends Keyed> {
  #owner: object = {};
  #root: Node<T>;
  #order: KeyOrder;

  private constructor(root: Node<T>, order: KeyOrder) {
    this.#root = root;
    this.#order = order;
  }

  static empty<T extends Keyed>(): SortedEntries<T> {
    return new SortedEntries<T>(new Leaf<T>({}, []), 'native');
  }

  /** Builds a tree from items sorted by key, without duplicates. O(n). */
  static fromSorted<T extends Keyed>(items: readonly T[]): SortedEntries<T> {
    const owner = {};
    const order = items.every(({ key }) => sortsNatively(key)) ? 'native' : 'bytes';
    // Not full, so that the first write to a node does not split it.
    const perNode = (nodeItemsMax * 3) / 4;
    let level: Node<T>[] = [];
    let lows: string[] = [];
    for (let at = 0; at < items.length; at += perNode) {
      level.push(new Leaf(owner, items.slice(at, at + perNode)));
      lows.push(items[at]?.key ?? '');
    }
    while (level.length > 1) {
      const above: Node<T>[] = [];
      const lowsAbove: string[] = [];
      for (let at = 0; at < level.length; at += perNode) {
        const children = level.slice(at, at + perNode);
        above.push(new Branch(owner, children, lows.slice(at, at + perNode), totalSize(children)));
        lowsAbove.push(lows[at] ?? '');
      }
      level = above;
      lows = lowsAbove;
    }
    return new SortedEntries<T>(level[0] ?? new Leaf<T>(owner, []), order);
  }

  get size(): number {
    return this.#root.size;
  }

  get(key: string): T | undefined {
    let node = this.#root;
    while (node instanceof Branch) node = childAt(node, childIndex(this.#order, node.lows, key));
    const item = node.items[firstNotBelow(this.#order, node.items, key)];
    return item?.key === key ? item : undefined;
  }

  /** Inserts the item, or replaces the item with its key and returns that. */
  set(item: T): T | undefined {
    if (this.#order === 'native' && !sortsNatively(item.key)) this.#order = 'bytes';
    const { node, split, replaced } = this.#set(this.#root, item);
    this.#root = split
      ? new Branch(this.#owner, [node, split.node], ['', split.low], node.size + split.node.size)
      : node;
    return replaced;
  }

  /** Removes the item with that key, and returns it. */
  delete(key: string): T | undefined {
    const item = this.get(key);
    if (!item) return undefined;
    let root = this.#delete(this.#root, key);
    while (root instanceof Branch && root.children.length === 1) root = childAt(root, 0);
    this.#root = root instanceof Branch && root.children.length === 0 ? new Leaf<T>(this.#owner, []) : root;
    return item;
  }

  /** The same items as a separate tree. O(1): writes to either copy what they change. */
  snapshot(): SortedEntries<T> {
    this.#owner = {};
    return new SortedEntries<T>(this.#root, this.#order);
  }

  /** Number of keys that sort before `key`. */
  rank(key: string): number {
    let rank = 0;
    let node = this.#root;
    while (node instanceof Branch) {
      const index = childIndex(this.#order, node.lows, key);
      for (let before = 0; before < index; before++) rank += childAt(node, before).size;
      node = childAt(node, index);
    }
    return rank + firstNotBelow(this.#order, node.items, key);
  }

  /** The item at position `index`. O(log n). */
  at(index: number): T | undefined {
    let rest = index;
    let node = this.#root;
    while (node instanceof Branch) {
      const { children } = node;
      let child = 0;
      for (; child < children.length - 1 && rest >= childAt(node, child).size; child++)
        rest -= childAt(node, child).size;
      node = childAt(node, child);
    }
    return node.items[rest];
  }

  /**
   * Items in order, from `start` (inclusive, unless after) to `end` (exclusive; undefined: to the last). The tree must
   * not change meanwhile.
   */
  *range(start: RangeStart, end: string | undefined): IterableIterator<T> {
    for (const { leaf, from, to } of this.#leaves(start, end)) {
      const { items } = leaf;
      for (let at = from; at < to; at++) yield items[at] as T;
    }
  }

  /**
   * The results of `summarize` for the items of a range, leaf by leaf. Those of leaves entirely within the range are
   * cached until the leaf changes, so a repeated call costs only what has changed since. All callers for one tree and
   * its snapshots must pass the same function.
   */
  *summaries<S>(
    start: RangeStart,
    end: string | undefined,
    summarize: (items: readonly T[]) => S,
  ): IterableIterator<S> {
    for (const { leaf, from, to } of this.#leaves(start, end)) {
      if (from > 0 || to < leaf.items.length) yield summarize(leaf.items.slice(from, to));
      else {
        leaf.summary ??= summarize(leaf.items);
        yield leaf.summary as S;
      }
    }
  }

  *#leaves(start: RangeStart, end: string | undefined): IterableIterator<Stretch<T>> {
    const path: { readonly branch: Branch<T>; index: number }[] = [];
    let node = this.#root;
    while (node instanceof Branch) {
      const index = childIndex(this.#order, node.lows, start.key);
      path.push({ branch: node, index });
      node = childAt(node, index);
    }
    let at = firstNotBelow(this.#order, node.items, start.key);
    if (start.exclusive && node.items[at]?.key === start.key) at++;
    for (let leaf: Leaf<T> | undefined = node; leaf; leaf = nextLeaf(path), at = 0) {
      const { items } = leaf;
      const last = items.at(-1);
      const inside = last === undefined || end === undefined || isBelow(this.#order, last.key, end);
      const stop = inside ? items.length : firstNotBelow(this.#order, items, end);
      if (at < stop) yield { leaf, from: at, to: stop };
      if (!inside) return;
    }
  }

  #set(node: Node<T>, item: T): { node: Node<T>; split?: { low: string; node: Node<T> }; replaced?: T } {
    if (node instanceof Leaf) return this.#setInLeaf(node, item);
    const branch = this.#ownedBranch(node);
    const index = childIndex(this.#order, branch.lows, item.key);
    const { node: child, split, replaced } = this.#set(childAt(branch, index), item);
    branch.children[index] = child;
    if (!replaced) branch.size++;
    if (split) {
      branch.children.splice(index + 1, 0, split.node);
      branch.lows.splice(index + 1, 0, split.low);
    }
    const sibling = branch.children.length > nodeItemsMax ? this.#splitBranch(branch) : undefined;
    return { node: branch, ...(sibling && { split: sibling }), ...(replaced && { replaced }) };
  }

  #setInLeaf(node: Leaf<T>, item: T): { node: Node<T>; split?: { low: string; node: Node<T> }; replaced?: T } {
    const leaf = this.#ownedLeaf(node);
    const at = firstNotBelow(this.#order, leaf.items, item.key);
    const there = leaf.items[at];
    if (there?.key === item.key) {
      leaf.items[at] = item;
      return { node: leaf, replaced: there };
    }
    leaf.items.splice(at, 0, item);
    if (leaf.items.length <= nodeItemsMax) return { node: leaf };
    // Objects created in order of name are appended at the end: an even split would leave the left half half empty
    // forever.
    const cut = at === leaf.items.length - 1 ? at : leaf.items.length >>> 1;
    const sibling = new Leaf(this.#owner, leaf.items.splice(cut));
    return { node: leaf, split: { low: sibling.items[0]?.key ?? '', node: sibling } };
  }

  #splitBranch(branch: Branch<T>): { low: string; node: Node<T> } {
    const cut = branch.children.length >>> 1;
    const children = branch.children.splice(cut);
    const lows = branch.lows.splice(cut);
    const size = totalSize(children);
    branch.size -= size;
    return { low: lows[0] ?? '', node: new Branch(this.#owner, children, lows, size) };
  }

  /** Requires that the key exists. */
  #delete(node: Node<T>, key: string): Node<T> {
    if (node instanceof Leaf) {
      const leaf = this.#ownedLeaf(node);
      leaf.items.splice(firstNotBelow(this.#order, leaf.items, key), 1);
      return leaf;
    }
    const branch = this.#ownedBranch(node);
    const index = childIndex(this.#order, branch.lows, key);
    branch.children[index] = this.#delete(childAt(branch, index), key);
    branch.size--;
    this.#mergeSmall(branch, index);
    return branch;
  }

  /** Removes an empty child, and merges a small one with its left or right neighbor if both fit into one node. */
  #mergeSmall(branch: Branch<T>, index: number): void {
    const width = nodeWidth(childAt(branch, index));
    if (width >= nodeItemsMin) return;
    if (width === 0) {
      branch.children.splice(index, 1);
      branch.lows.splice(index, 1);
      return;
    }
    for (const left of [index - 1, index]) {
      const [a, b] = [branch.children[left], branch.children[left + 1]];
      if (!a || !b || nodeWidth(a) + nodeWidth(b) > nodeItemsMax) continue;
      branch.children.splice(left, 2, this.#join(a, b, branch.lows[left + 1] ?? ''));
      branch.lows.splice(left + 1, 1);
      return;
    }
  }

  /** Both nodes are on the same level. */
  #join(a: Node<T>, b: Node<T>, lowOfB: string): Node<T> {
    if (a instanceof Leaf && b instanceof Leaf) return new Leaf(this.#owner, [...a.items, ...b.items]);
    const [left, right] = [a as Branch<T>, b as Branch<T>];
    const lows = [...left.lows, lowOfB, ...right.lows.slice(1)];
    return new Branch(this.#owner, [...left.children, ...right.children], lows, left.size + right.size);
  }

  #ownedLeaf(leaf: Leaf<T>): Leaf<T> {
    if (leaf.owner !== this.#owner) return new Leaf(this.#owner, leaf.items.slice());
    leaf.summary = undefined;
    return leaf;
  }

  #ownedBranch(branch: Branch<T>): Branch<T> {
    if (branch.owner === this.#owner) return branch;
    return new Branch(this.#owner, branch.children.slice(), branch.lows.slice(), branch.size);
  }
}

/** Advances to the leaf after the one that `path` leads to. */
function nextLeaf<T extends Keyed>(path: { readonly branch: Branch<T>; index: number }[]): Leaf<T> | undefined {
  for (let step = path.pop(); step; step = path.pop()) {
    if (step.index + 1 >= step.branch.children.length) continue;
    path.push({ branch: step.branch, index: step.index + 1 });
    let node = childAt(step.branch, step.index + 1);
    while (node instanceof Branch) {
      path.push({ branch: node, index: 0 });
      node = childAt(node, 0);
    }
    return node;
  }
  return undefined;
}

const childAt = <T extends Keyed>(branch: Branch<T>, index: number): Node<T> => branch.children[index] as Node<T>;

const nodeWidth = <T extends Keyed>(node: Node<T>): number =>
  node instanceof Leaf ? node.items.length : node.children.length;

const totalSize = <T extends Keyed>(nodes: readonly Node<T>[]): number =>
  nodes.reduce((total, node) => total + node.size, 0);

/** One of the two is, or was, a key of the tree. */
const isBelow = (order: KeyOrder, a: string, b: string): boolean =>
  order === 'native' ? a < b : compareKeys(a, b) < 0;

/** The child that contains `key`, or would: the last one whose low is not above it. */
function childIndex(order: KeyOrder, lows: readonly string[], key: string): number {
  let low = 0;
  let high = lows.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (isBelow(order, key, lows[middle] as string)) high = middle - 1;
    else low = middle;
  }
  return low;
}

/** Index of the first item whose key is not below `key`. */
function firstNotBelow<T extends Keyed>(order: KeyOrder, items: readonly T[], key: string): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBelow(order, (items[middle] as T).key, key)) low = middle + 1;
    else high = middle;
  }
  return low;
}
