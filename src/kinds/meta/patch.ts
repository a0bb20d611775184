import { struct } from '../../schema/schema.ts';

/** The body of a PATCH request. Its media type, not a schema, determines its fields. */
export const patch = struct('apimachinery.pkg.apis.meta.v1.Patch', 'A change, in the form that its media type says.', {});
