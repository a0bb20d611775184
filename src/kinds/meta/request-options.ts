import { bool, int64, list, opt, ptr, string, struct } from '../../schema/schema.ts';

const prefix = 'apimachinery.pkg.apis.meta.v1';

const dryRun = (number: number) => opt(number, list(string()), '`All` runs every stage of the request but keeps nothing.');
const fieldManager = (number: number) => opt(number, string(), 'Names the writer, for the ownership of fields; at most 128 characters.');
const fieldValidation = (number: number) => opt(number, string(), 'What to do with unknown and duplicate fields: `Ignore`, `Warn` or `Strict`.');

/*
 * Options of each verb, sent as query parameters (spec section 4.1) with the name and type of the field. Options of DELETE
 * may also be sent as a body: `delete-options.ts`.
 */

export const getOptions = struct(`${prefix}.GetOptions`, 'How to read an object.', {
  resourceVersion: opt(1, string(), 'The version that the answer must not be older than.'),
});

export const listOptions = struct(`${prefix}.ListOptions`, 'How to list or watch a collection.', {
  labelSelector: opt(1, string(), 'Only objects whose labels match: `a=b,c in (d,e),!f`.'),
  fieldSelector: opt(2, string(), 'Only objects whose fields match: `metadata.name=a,status.phase!=b`.'),
  watch: opt(3, bool(), 'Stream changes as events instead of answering a list.'),
  allowWatchBookmarks: opt(9, bool(), 'Send BOOKMARK events, which carry a version and no change.'),
  resourceVersion: opt(4, string(), 'The version that the answer must show, as `resourceVersionMatch` says.'),
  resourceVersionMatch: opt(10, string(), 'How `resourceVersion` is meant: `Exact` or `NotOlderThan`.'),
  timeoutSeconds: ptr(5, int64(), 'Ends a list or watch after this many seconds.'),
  limit: opt(7, int64(), 'At most this many items; `metadata.continue` of the answer leads to the rest.'),
  continue: opt(8, string(), 'Where a chunked list goes on: `metadata.continue` of the chunk before.'),
  sendInitialEvents: ptr(11, bool(), 'Starts a watch with the objects that are there; needs `resourceVersionMatch=NotOlderThan`.'),
});

export const createOptions = struct(`${prefix}.CreateOptions`, 'How to create an object.', {
  dryRun: dryRun(1),
  fieldManager: fieldManager(3),
  fieldValidation: fieldValidation(4),
});

export const updateOptions = struct(`${prefix}.UpdateOptions`, 'How to replace an object.', {
  dryRun: dryRun(1),
  fieldManager: fieldManager(2),
  fieldValidation: fieldValidation(3),
});

export const patchOptions = struct(`${prefix}.PatchOptions`, 'How to patch an object.', {
  dryRun: dryRun(1),
  force: ptr(2, bool(), 'Take fields over from other managers; only for apply.'),
  fieldManager: fieldManager(3),
  fieldValidation: fieldValidation(4),
});

/** The body of a PATCH request. Its media type, not a schema, determines its fields. */
export const patch = struct(`${prefix}.Patch`, 'A change, in the form that its media type says.', {});
