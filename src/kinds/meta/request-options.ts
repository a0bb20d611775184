import { boolean, int64, list, optional, string, struct } from '../../schema/schema.ts';

const prefix = 'apimachinery.pkg.apis.meta.v1';

const dryRun = (number: number) =>
  optional(number, list(string()), '`All` runs every stage of the request but keeps nothing.');
const fieldManager = (number: number) =>
  optional(number, string(), 'Names the writer, for the ownership of fields; at most 128 characters.');
const fieldValidation = (number: number) =>
  optional(number, string(), 'What to do with unknown and duplicate fields: `Ignore`, `Warn` or `Strict`.');

/*
 * The options of each verb, which requests give as parameters (spec section 4.1). A parameter has the name and type of
 * its field. Those of DELETE may stand in a body as well: `delete-options.ts`.
 */

export const getOptions = struct(`${prefix}.GetOptions`, 'How to read an object.', {
  resourceVersion: optional(1, string(), 'The version that the answer must not be older than.'),
});

export const listOptions = struct(`${prefix}.ListOptions`, 'How to list or watch a collection.', {
  labelSelector: optional(1, string(), 'Only objects whose labels match: `a=b,c in (d,e),!f`.'),
  fieldSelector: optional(2, string(), 'Only objects whose fields match: `metadata.name=a,status.phase!=b`.'),
  watch: optional(3, boolean(), 'Stream changes as events instead of answering a list.'),
  allowWatchBookmarks: optional(9, boolean(), 'Send BOOKMARK events, which carry a version and no change.'),
  resourceVersion: optional(4, string(), 'The version that the answer must show, as `resourceVersionMatch` says.'),
  resourceVersionMatch: optional(10, string(), 'How `resourceVersion` is meant: `Exact` or `NotOlderThan`.'),
  timeoutSeconds: optional(5, int64(), 'Ends a list or watch after this many seconds.', { presence: 'explicit' }),
  limit: optional(7, int64(), 'At most this many items; `metadata.continue` of the answer leads to the rest.'),
  continue: optional(8, string(), 'Where a chunked list goes on: `metadata.continue` of the chunk before.'),
  sendInitialEvents: optional(
    11,
    boolean(),
    'Starts a watch with the objects that are there; needs `resourceVersionMatch=NotOlderThan`.',
    { presence: 'explicit' },
  ),
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
  force: optional(2, boolean(), 'Take fields over from other managers; only for apply.', { presence: 'explicit' }),
  fieldManager: fieldManager(3),
  fieldValidation: fieldValidation(4),
});
