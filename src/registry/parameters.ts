import { booleanParameter, integerParameter } from '../request/request-info.ts';

/** A query or path parameter, for the OpenAPI documents. */
export interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'path';
  readonly type: 'string' | 'integer' | 'boolean';
  readonly description: string;
}

const query = (name: string, type: Parameter['type'], description: string): Parameter => ({
  name,
  in: 'query',
  type,
  description,
});

const pretty = query('pretty', 'string', 'Indent the answer: `true` or `false`.');
const dryRun = query('dryRun', 'string', '`All` runs every stage of the request but keeps nothing.');
const gracePeriodSeconds = query(
  'gracePeriodSeconds',
  'integer',
  'Seconds until the object is removed; 0 removes it at once. Absent: what its kind says.',
);
const propagationPolicy = query(
  'propagationPolicy',
  'string',
  'What becomes of the objects that it owns: `Orphan`, `Background` or `Foreground`.',
);
const timeoutSeconds = query('timeoutSeconds', 'integer', 'Ends a list or watch after this many seconds.');
const selection: readonly Parameter[] = [
  query('continue', 'string', 'Where a chunked list goes on: `metadata.continue` of the chunk before.'),
  query('fieldSelector', 'string', 'Only objects whose fields match: `metadata.name=a,status.phase!=b`.'),
  query('labelSelector', 'string', 'Only objects whose labels match: `a=b,c in (d,e),!f`.'),
  query('limit', 'integer', 'At most this many items; `metadata.continue` of the answer leads to the rest.'),
  query('resourceVersion', 'string', 'The version that the answer must show, as `resourceVersionMatch` says.'),
  query('resourceVersionMatch', 'string', 'How `resourceVersion` is meant: `Exact` or `NotOlderThan`.'),
  query(
    'sendInitialEvents',
    'boolean',
    'Starts a watch with the objects that are there; needs `resourceVersionMatch=NotOlderThan`.',
  ),
];
const write: readonly Parameter[] = [
  dryRun,
  query('fieldManager', 'string', 'Names the writer, for the ownership of fields; at most 128 characters.'),
  query('fieldValidation', 'string', 'What to do with unknown and duplicate fields: `Ignore`, `Warn` or `Strict`.'),
  pretty,
];

/** The parameter sets of spec section 4.1. */
export const parameterSets = {
  get: [pretty],
  list: [
    query('allowWatchBookmarks', 'boolean', 'Send BOOKMARK events, which carry a version and no change.'),
    ...selection,
    pretty,
    timeoutSeconds,
    query('watch', 'boolean', 'Stream changes as events instead of answering a list.'),
  ],
  write,
  patch: [...write, query('force', 'boolean', 'Take fields over from other managers; only for apply.')],
  delete: [dryRun, gracePeriodSeconds, pretty, propagationPolicy],
  deleteCollection: [dryRun, gracePeriodSeconds, ...selection, pretty, propagationPolicy, timeoutSeconds],
} as const satisfies Readonly<Record<string, readonly Parameter[]>>;

/**
 * Checks every parameter of a set by its type, whether it is looked at later or not (spec section 7). Others are none of
 * ours and ignored, as published.
 */
export function checkParameters(query: URLSearchParams, set: keyof typeof parameterSets): void {
  if (query.size === 0) return;
  for (const { name, type } of parameterSets[set]) {
    if (type === 'integer') integerParameter(query, name, Number.MIN_SAFE_INTEGER);
    else if (type === 'boolean') booleanParameter(query, name);
  }
}

/** The parameters in a path's braces. */
export const pathParameters = (path: string): readonly Parameter[] =>
  [...path.matchAll(/\{([^}]+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    type: 'string',
    description: name === 'namespace' ? 'The namespace of the object.' : `The ${name} of the object.`,
  }));
