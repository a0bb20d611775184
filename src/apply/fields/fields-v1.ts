import { limits } from '../../base/limits.ts';
import { isRecord } from '../../schema/own-property.ts';
import { isKeyless, type PathElement, PathElementError, readElement, sortElements } from './field-path.ts';
import { type FieldNode, type FieldSet, leafNode, makeNode } from './field-set.ts';

/**
 * Encodes a set as FieldsV1: its tree as JSON, where `{}` is a member and `.` marks a member with others below it.
 * Sorted as in kube-apiserver: `.`, then fields, keys, values and indexes.
 */
export const encodeFields = (set: FieldSet): Record<string, unknown> => encodeBelow({}, set);

/** The most frequent value: a member with nothing below it. */
const leaf: Record<string, unknown> = Object.freeze({});

function encodeBelow(out: Record<string, unknown>, set: FieldSet): Record<string, unknown> {
  for (const element of sortElements([...set.keys()])) {
    const node = set.get(element);
    if (node) out[element] = encodeNode(node);
  }
  return out;
}

const encodeNode = ({ member, below }: FieldNode): Record<string, unknown> =>
  below.size === 0 ? leaf : encodeBelow(member ? { '.': leaf } : {}, below);

/**
 * Decodes FieldsV1. Accepts elements in any order and equivalent form; drops unknown kinds of elements. Throws
 * PathElementError for anything else, and for nesting deeper than `limits.depthMax`.
 */
export const decodeFields = (fields: unknown): FieldSet => decodeBelow(fields, 1).below;

/** True if there is a list element without a value for one of its keys, at any depth. */
export function namesKeyless(set: FieldSet): boolean {
  for (const [element, { below }] of set)
    if (isKeyless(element) || (below.size > 0 && namesKeyless(below))) return true;
  return false;
}

/** A node without known children is itself a member. */
function decodeBelow(fields: unknown, depth: number): FieldNode {
  if (fields === null) return leafNode;
  if (!isRecord(fields)) throw new PathElementError('a field set must be an object');
  if (depth > limits.depthMax) throw new PathElementError(`a field set has more than ${limits.depthMax} levels`);
  let member = false;
  let below: Map<PathElement, FieldNode> | undefined;
  for (const text in fields) {
    if (text === '.') {
      member = true;
      continue;
    }
    const element = readElement(text);
    if (element === undefined) continue;
    const node = decodeBelow(fields[text], depth + 1);
    below ??= new Map();
    below.set(element, joined(below.get(element), node));
  }
  return below ? { member, below } : leafNode;
}

/** The same element may occur in two forms. */
function joined(a: FieldNode | undefined, b: FieldNode): FieldNode {
  if (!a) return b;
  const below = new Map(a.below);
  for (const [element, node] of b.below) below.set(element, joined(below.get(element), node));
  return makeNode(a.member || b.member, below) ?? leafNode;
}
