import { struct } from '../../schema/schema.ts';

/** The body of a PATCH request: which fields it may have is told by its media type, not by a schema. */
export const patch = struct('apimachinery.pkg.apis.meta.v1.Patch', 'A change, in the form that its media type says.', {});
