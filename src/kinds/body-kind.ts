import type { StructSchema } from '../schema/schema.ts';
import { scale } from './autoscaling/scale.ts';
import type { GroupVersionKind, Kind, Subresource } from './kind.ts';

/** A kind of bodies and answers. */
export type BodyKind = GroupVersionKind & { readonly schema: StructSchema };

/** What a subresource takes and answers: a kind of its own, or the object. */
export function subresourceKind(kind: Kind, subresource: Subresource): BodyKind {
  switch (subresource.type) {
    case 'view':
      return kind;
    case 'action':
      return subresource.body;
    case 'scale':
      return scale;
    case 'connect':
      // Its options are never a body. As published, text is listed under the kind that it is read of.
      return subresource.carries === 'text' ? kind : subresource.options;
  }
}

/** What a path of a kind takes and answers. `subresource` is '' for the object itself. */
export function bodyKind(kind: Kind, subresource: string): BodyKind {
  const found = subresource === '' ? undefined : kind.subresources.find(({ name }) => name === subresource);
  return found ? subresourceKind(kind, found) : kind;
}

/** The columns of tables at a path of a kind, and what their rows are marked with. */
export function rowsOf(kind: Kind, subresource: string): Pick<Kind, 'columns' | 'rowConditions'> {
  const found = subresource === '' ? undefined : kind.subresources.find(({ name }) => name === subresource);
  return found?.type === 'scale' && found.columns ? { columns: found.columns } : kind;
}
