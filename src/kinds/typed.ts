import type { ApiObject } from '../meta/api-object.ts';
import type { Infer, StructSchema } from '../schema/schema.ts';

/** An object by the static type of its schema, not checked again: decoding has done that. */
export const typed = <const S extends StructSchema>(_schema: S, object: ApiObject): Infer<S> =>
  object as unknown as Infer<S>;
