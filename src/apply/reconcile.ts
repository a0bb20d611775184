import type { PathElement } from './field-path.ts';
import { type FieldNode, type FieldSet, leafNode } from './field-set.ts';
import { partShapeOf } from './remove-fields.ts';
import type { Shape } from './shape.ts';

/**
 * A set that was written under an older schema, as it reads under this one (spec section 4.7): where a granular value has
 * become atomic, an owner of any part of it owns the whole. Where an atomic one has become granular nothing is inferred.
 * Values without a schema, and fields that it does not know, stay as they are. Gives the set itself where nothing changes.
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
