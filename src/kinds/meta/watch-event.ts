import { req, string, struct } from '../../schema/schema.ts';

const rawExtension = struct('apimachinery.pkg.runtime.RawExtension', 'An object of any kind.', {});

/** One event of a watch stream (spec section 6). */
export const watchEvent = struct('apimachinery.pkg.apis.meta.v1.WatchEvent', 'One change that a watch is told of.', {
  type: req(1, string(), '`ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`.'),
  object: req(2, rawExtension, 'The object as it is then, as it was before it was deleted, a bookmark that carries a version alone, or a Status.'),
});
