import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import { loggedTarget } from '../../../http/logged-target.ts';
import type { RequestContext } from '../request-context.ts';
import type { Outcome, RequestObserver } from './request-observer.ts';
import { methodLabel, resourceVerbLabel } from './verb-label.ts';

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

/** Three dots mark the omission, as in kube-apiserver. */
const short = (text: string, charactersMax: number): string =>
  text.length <= charactersMax ? text : `${text.slice(0, charactersMax)}...`;
