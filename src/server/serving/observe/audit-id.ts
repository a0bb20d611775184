import { limits } from '../../../base/limits.ts';
import type { Random } from '../../../base/random.ts';
import type { Exchange } from '../../../http/exchange.ts';

/** The header of kube-apiserver, in lower case as HTTP/2 requires. */
const header = 'audit-id';

/** Visible ASCII: nothing that ends a header line or controls a terminal. */
const accepted = /^[\x21-\x7e]+$/;

/**
 * The ID that correlates a request's answer, log lines and audit events: the value sent by the client or a proxy if
 * valid, otherwise a new UUID. Every answer carries it as a header. Clients choose it freely, so it proves nothing and
 * must not be used as a key.
 */
export function assignAuditId(exchange: Exchange, random: Random): string {
  const sent = exchange.header(header);
  const id =
    sent !== undefined && sent.length <= limits.auditIdCharactersMax && accepted.test(sent) ? sent : random.uuid();
  exchange.auditId = id;
  exchange.setHeader(header, id);
  return id;
}
