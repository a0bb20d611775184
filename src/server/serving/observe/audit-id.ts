import { limits } from '../../../base/limits.ts';
import type { Random } from '../../../base/random.ts';
import type { Exchange } from '../../../http/exchange.ts';

/** As published; HTTP/2 has header names in lower case. */
const header = 'audit-id';

/** Visible ASCII: nothing that ends a header line, or steers a terminal. */
const accepted = /^[\x21-\x7e]+$/;

/**
 * The id of a request, by which its answer, the log and the audit are found together: that of the client, or of a proxy
 * before us, where it sent one that can be one, else a new UUID. Every answer has it as a header. Clients choose theirs
 * freely, so it proves nothing and is no key.
 */
export function assignAuditId(exchange: Exchange, random: Random): string {
  const sent = exchange.header(header);
  const id =
    sent !== undefined && sent.length <= limits.auditIdCharactersMax && accepted.test(sent) ? sent : random.uuid();
  exchange.setHeader(header, id);
  return id;
}
