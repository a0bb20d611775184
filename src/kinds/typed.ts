import type { ApiObject } from '../meta/api-object.ts';
import type { Infer, StructSchema } from '../schema/schema.ts';

/** Casts a decoded object to the static type of its schema; decoding has checked it. */
export const typed = <const S extends StructSchema>(_schema: S, object: ApiObject): Infer<S> =>
  object as unknown as Infer<S>;
