import { limits } from '../base/limits.ts';

/** Query parameters of the API, whose values are never secret. Names and values of all others are masked. */
const known: ReadonlySet<string> = new Set([
  ...['allowWatchBookmarks', 'continue', 'dryRun', 'fieldManager', 'fieldSelector', 'fieldValidation', 'force'],
  ...['gracePeriodSeconds', 'hash', 'ignoreStoreReadErrorWithClusterBreakingPotential', 'labelSelector', 'limit'],
  ...['orphanDependents', 'pretty', 'propagationPolicy', 'resourceVersion', 'resourceVersionMatch'],
  ...['sendInitialEvents', 'timeout', 'timeoutSeconds', 'verbose', 'watch', 'includeObject'],
]);

/** First segments of known paths. A path with another first segment may contain anything, even a token. */
const roots: ReadonlySet<string> = new Set([
  ...['', 'api', 'apis', 'healthz', 'livez', 'readyz', 'metrics', 'openapi', 'openid', 'version', '.well-known'],
]);

/** The target with everything masked that may be secret, for example a token sent in the query or as the path. */
export function loggedTarget(target: string): string {
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const [, root] = path.split('/', 2);
  const logged = root !== undefined && roots.has(root) && path.startsWith('/') ? path : '***';
  if (mark < 0) return logged;
  // Reads no more than could be logged.
  const query = target.slice(mark + 1, mark + 1 + limits.accessLogUriCharactersMax);
  return `${logged}?${query.split('&').map(loggedParameter).join('&')}`;
}

function loggedParameter(text: string): string {
  const [name = ''] = text.split('=', 1);
  return known.has(name) ? text : '***';
}
