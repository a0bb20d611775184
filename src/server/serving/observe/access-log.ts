import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import type { RequestContext } from '../request-context.ts';
import type { Outcome, RequestObserver } from './request-observer.ts';
import { methodLabel, resourceVerbLabel } from './verb-label.ts';

/** Query parameters of the API, whose values are no secrets. Of all others neither name nor value is written. */
const known: ReadonlySet<string> = new Set([
  ...['allowWatchBookmarks', 'continue', 'dryRun', 'fieldManager', 'fieldSelector', 'fieldValidation', 'force'],
  ...['gracePeriodSeconds', 'hash', 'ignoreStoreReadErrorWithClusterBreakingPotential', 'labelSelector', 'limit'],
  ...['orphanDependents', 'pretty', 'propagationPolicy', 'resourceVersion', 'resourceVersionMatch'],
  ...['sendInitialEvents', 'timeout', 'timeoutSeconds', 'verbose', 'watch', 'includeObject'],
]);

/** One line for each request when it is over, watches too, with the published fields. Nothing else of it is written. */
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

/** First segments of what may be served. A path that begins otherwise may be anything, a token too. */
const roots: ReadonlySet<string> = new Set([
  ...['', 'api', 'apis', 'healthz', 'livez', 'readyz', 'metrics', 'openapi', 'openid', 'version', '.well-known'],
]);

/** The target without what may be a secret: a token that somebody put into the query, or took for a path. */
export function loggedTarget(target: string): string {
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const [, root] = path.split('/', 2);
  const logged = root !== undefined && roots.has(root) && path.startsWith('/') ? path : '***';
  if (mark < 0) return logged;
  // No more is read than could be written.
  const query = target.slice(mark + 1, mark + 1 + limits.accessLogUriCharactersMax);
  return `${logged}?${query.split('&').map(loggedParameter).join('&')}`;
}

function loggedParameter(text: string): string {
  const [name = ''] = text.split('=', 1);
  return known.has(name) ? text : '***';
}

/** As published, three dots stand for the rest. */
const short = (text: string, charactersMax: number): string =>
  text.length <= charactersMax ? text : `${text.slice(0, charactersMax)}...`;
