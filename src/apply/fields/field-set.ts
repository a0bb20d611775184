import { type FieldPath, fieldElement, type PathElement, sortElements } from './field-path.ts';

/**
 * A set of fields as a tree. Membership of a field does not imply that of its children or parents; nodes that are
 * neither members nor lead to one are not kept. Sets are immutable; operations share parts with their inputs.
 */
export type FieldSet = ReadonlyMap<PathElement, FieldNode>;

export interface FieldNode {
  /** The field itself is in the set. */
  readonly member: boolean;
  /** Members below the field. */
  readonly below: FieldSet;
}

export const noFields: FieldSet = new Map();
/** A member with nothing below. */
export const leafNode: FieldNode = { member: true, below: noFields };

/** Undefined if the node would be neither a member nor lead to one. */
export function makeNode(member: boolean, below: FieldSet): FieldNode | undefined {
  if (below.size === 0) return member ? leafNode : undefined;
  return { member, below };
}

/** The set of these paths. The empty path is ignored: nobody owns a whole object. */
export function fieldSetOf(...paths: readonly FieldPath[]): FieldSet {
  return paths.reduce<FieldSet>((set, path) => union(set, single(path)), noFields);
}

/** The set of fields with these names: `['metadata', 'labels']`. */
export const fieldSetOfNames = (...paths: readonly (readonly string[])[]): FieldSet =>
  fieldSetOf(...paths.map((names) => names.map(fieldElement)));

function single(path: FieldPath): FieldSet {
  const [first, ...rest] = path;
  if (first === undefined) return noFields;
  return new Map([[first, rest.length === 0 ? leafNode : { member: false, below: single(rest) }]]);
}

export function has(set: FieldSet, path: FieldPath): boolean {
  let [node, below]: [FieldNode | undefined, FieldSet] = [undefined, set];
  for (const element of path) {
    node = below.get(element);
    if (!node) return false;
    below = node.below;
  }
  return node?.member ?? false;
}

/** Number of members. */
export function sizeOf(set: FieldSet): number {
  let size = 0;
  for (const { member, below } of set.values()) size += (member ? 1 : 0) + sizeOf(below);
  return size;
}

export function equalSets(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  if (a.size !== b.size) return false;
  for (const [element, node] of a) {
    const other = b.get(element);
    if (!other || other.member !== node.member || !equalSets(node.below, other.below)) return false;
  }
  return true;
}

/** Fields in either set. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || b.size === 0) return a;
  if (a.size === 0) return b;
  const out = new Map(a);
  for (const [element, node] of b) {
    const other = a.get(element);
    out.set(element, other ? unionNodes(other, node) : node);
  }
  return out;
}

const unionNodes = (a: FieldNode, b: FieldNode): FieldNode => ({
  member: a.member || b.member,
  below: union(a.below, b.below),
});

/** Fields in both sets. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  const out = new Map<PathElement, FieldNode>();
  for (const [element, node] of a) {
    const other = b.get(element);
    if (other) keep(out, element, makeNode(node.member && other.member, intersection(node.below, other.below)));
  }
  return out;
}

/** Fields of `a` that are not in `b`. Not recursive: fields below a removed field stay unless they are in `b` too. */
export const difference = (a: FieldSet, b: FieldSet): FieldSet =>
  subtract(a, b, (node, other) => makeNode(node.member && !other.member, difference(node.below, other.below)));

/** Fields of `a` that are neither in `b` nor below a member of `b`. */
export const recursiveDifference = (a: FieldSet, b: FieldSet): FieldSet =>
  subtract(a, b, (node, other) =>
    other.member ? undefined : makeNode(node.member, recursiveDifference(node.below, other.below)),
  );

function subtract(
  a: FieldSet,
  b: FieldSet,
  rest: (node: FieldNode, other: FieldNode) => FieldNode | undefined,
): FieldSet {
  let out: Map<PathElement, FieldNode> | undefined;
  for (const [element, other] of b) {
    const node = a.get(element);
    if (!node) continue;
    out ??= new Map(a);
    const left = rest(node, other);
    if (left) out.set(element, left);
    else out.delete(element);
  }
  return out ?? a;
}

function keep(out: Map<PathElement, FieldNode>, element: PathElement, node: FieldNode | undefined): void {
  if (node) out.set(element, node);
}

/** Members without members below them. */
export function leavesOf(set: FieldSet): FieldSet {
  const out = new Map<PathElement, FieldNode>();
  for (const [element, node] of set) {
    keep(out, element, makeNode(node.member && node.below.size === 0, leavesOf(node.below)));
  }
  return out;
}

/** All members in the order in which kube-apiserver lists them: those of a level before all that are below it. */
export function* pathsOf(set: FieldSet, prefix: FieldPath = []): Generator<FieldPath, void> {
  const elements = sortElements([...set.keys()]);
  for (const element of elements) if (set.get(element)?.member) yield [...prefix, element];
  for (const element of elements) yield* pathsOf(set.get(element)?.below ?? noFields, [...prefix, element]);
}
