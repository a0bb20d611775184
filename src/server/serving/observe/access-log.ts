import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import type { RequestContext } from '../request-context.ts';
import type { Outcome, RequestObserver } from './request-observer.ts';
import { methodLabel, resourceVerbLabel } from './verb-label.ts';

/** Query parameters of the API, whose values are never secret. Names and values of all others are masked. */
const known: ReadonlySet<string> = new Set([
  ...['allowWatchBookmarks', 'continue', 'dryRun', 'fieldManager', 'fieldSelector', 'fieldValidation', 'force'],
  ...['gracePeriodSeconds', 'hash', 'ignoreStoreReadErrorWithClusterBreakingPotential', 'labelSelector', 'limit'],
  ...['orphanDependents', 'pretty', 'propagationPolicy', 'resourceVersion', 'resourceVersionMatch'],
  ...['sendInitialEvents', 'timeout', 'timeoutSeconds', 'verbose', 'watch', 'includeObject'],
]);

/**
 * Writes one line for each request when it ends, watches included, with the field names of kube-apiserver and nothing
 * else.
 */
export const accessLog = (logger: Logger): RequestObserver => ({
  ended: (context, outcome) => logger.info('HTTP', accessFields(context, outcome)),
});

function accessFields({ exchange, info, operation, auditId }: RequestContext, outcome: Outcome) {
  const { address, port } = exchange.peer;
  const form = operation?.type === 'resource' ? operation.form : undefined;
  return {
    verb: info.type === 'resource' ? resourceVerbLabel(info.verb, form) : methodLabel(exchange.method),
    URI: short(loggedTarget(exchange.target), limits.accessLogUriCharactersMax),
    latency: `${outcome.durationMs.toFixed(3)}ms`,
    userAgent: short(exchange.header('user-agent') ?? '', limits.accessLogAgentCharactersMax),
    'audit-ID': short(auditId, limits.accessLogAuditIdCharactersMax),
    srcIP: address === '' ? 'loopback' : address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`,
    resp: outcome.status,
    ...(outcome.ending !== 'complete' && { ending: outcome.ending }),
  };
}

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

/** Three dots mark the omission, as in kube-apiserver. */
const short = (text: string, charactersMax: number): string =>
  text.length <= charactersMax ? text : `${text.slice(0, charactersMax)}...`;
