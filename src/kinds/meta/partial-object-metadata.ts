import { kindSchema } from './kind-schema.ts';

/** Any object without its own fields: the form for clients that look at the metadata of any kind (spec section 4.3). */
export const partialObjectMetadata = kindSchema(
  'apimachinery.pkg.apis.meta.v1.PartialObjectMetadata',
  'The metadata of an object of any kind.',
  {},
);
