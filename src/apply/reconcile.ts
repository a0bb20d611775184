import type { PathElement } from './fields/field-path.ts';
import { type FieldNode, type FieldSet, leafNode } from './fields/field-set.ts';
import { partShapeOf } from './fields/remove-fields.ts';
import type { Shape } from './fields/shape.ts';

/**
 * Adapts a set that was recorded under an older schema (spec section 4.7). If a granular value has become atomic, an
 * owner of any part owns the whole. If an atomic value has become granular, nothing is inferred. Values without a
 * schema and unknown fields stay as they are. Returns the set itself if nothing changes.
 */
export function reconcile(shape: Shape, fields: FieldSet): FieldSet {
  let out: Map<PathElement, FieldNode> | undefined;
  for (const [element, node] of fields) {
    const partShape = partShapeOf(shape, element);
    const reconciled = partShape ? reconcileNode(partShape, node) : node;
    if (reconciled === node) continue;
    out ??= new Map(fields);
    out.set(element, reconciled);
  }
  return out ?? fields;
}

function reconcileNode(shape: Shape, node: FieldNode): FieldNode {
  if (shape.type === 'deduced' || node.below.size === 0) return node;
  if (shape.type === 'leaf') return shape.atomic ? leafNode : node;
  const below = reconcile(shape, node.below);
  return below === node.below ? node : { member: node.member, below };
}
