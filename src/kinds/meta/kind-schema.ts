import { always, type Field, type Fields, type StructSchema, struct } from '../../schema/schema.ts';
import { objectMeta } from './object-meta.ts';
import { typeMeta } from './type-meta.ts';

const metadata = always(1, objectMeta, 'Name, labels and all else that every object carries.') satisfies Field;

/** The schema of a kind: `apiVersion`, `kind` and `metadata`, then its own fields. */
export const kindSchema = <const F extends Fields>(
  name: string,
  description: string,
  fields: F,
  options: Pick<StructSchema, 'freeze' | 'checkedFirst'> = {},
): StructSchema<typeof typeMeta & { readonly metadata: typeof metadata } & F> => struct(name, description, { ...typeMeta, metadata, ...fields }, options);
