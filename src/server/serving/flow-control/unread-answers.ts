import type { FlowMetrics } from './flow-metrics.ts';
import type { Tenant } from './tenant.ts';
import type { Ticket } from './ticket.ts';

/**
 * Accounting of answer bytes that clients have not read. A request releases its seat as soon as it is answered, so a
 * client that does not read blocks nobody; the memory that its answers use is shared fairly among tenants.
 */

/**
 * Called when an answer, or its first part, was handed over to its connection. A tenant that leaves too much unread
 * loses its oldest answers.
 */
export function addUnread(ticket: Ticket, metrics: FlowMetrics): void {
  const bytes = ticket.exchange.unsent;
  if (bytes === 0 || take(ticket, bytes)) return;
  cutOldest(ticket.tenant, metrics);
  if (!take(ticket, bytes)) cutOff(ticket, metrics);
}

/** Called when the client has read the whole answer or is gone. */
export function deleteUnread(ticket: Ticket): void {
  const { tenant } = ticket;
  if (tenant.unread.delete(ticket.unreadPlace, ticket)) recount(ticket, 0);
}

/** Cuts off the oldest unread answer of a tenant; undefined if there is none. */
export function cutOldestUnread({ unread }: Tenant, metrics: FlowMetrics): Ticket | undefined {
  const oldest = unread.first()?.member;
  if (!oldest) return undefined;
  deleteUnread(oldest);
  cutOff(oldest, metrics);
  return oldest;
}

function take(ticket: Ticket, bytes: number): boolean {
  const { tenant } = ticket;
  if (!tenant.shared.unreadBytes.take(tenant.unreadBytes, bytes)) return false;
  ticket.unreadBytes = bytes;
  ticket.unreadPlace = tenant.unread.add(ticket);
  return true;
}

function recount(ticket: Ticket, bytes: number): void {
  const { tenant } = ticket;
  tenant.shared.unreadBytes.release(tenant.unreadBytes, ticket.unreadBytes - bytes);
  ticket.unreadBytes = bytes;
}

/**
 * Reduces the account to half, so that the next full pass is a long way off. Most answers will have been read by then.
 */
function cutOldest(tenant: Tenant, metrics: FlowMetrics): void {
  const { unread, unreadBytes } = tenant;
  const keep = unreadBytes.held / 2;
  for (const ticket of unread) recount(ticket, Math.min(ticket.unreadBytes, ticket.exchange.unsent));
  while (unreadBytes.held > keep && cutOldestUnread(tenant, metrics));
}

function cutOff({ exchange }: Ticket, metrics: FlowMetrics): void {
  metrics.answerCutOff();
  exchange.destroy();
}
