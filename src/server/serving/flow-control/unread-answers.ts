import type { FlowMetrics } from './flow-metrics.ts';
import type { Tenant } from './tenant.ts';
import type { Ticket } from './ticket.ts';

/*
 * The bytes of answers that wait for their clients. A request gives its place back as soon as it is answered, so that
 * clients who do not read hold up nobody; what they make the server keep is shared fairly among tenants.
 */

/**
 * An answer, or the first part of one, was handed over to its connection. A tenant whose clients leave too much there loses
 * the answers that wait longest.
 */
export function addUnread(ticket: Ticket, metrics: FlowMetrics): void {
  const bytes = ticket.exchange.unsent;
  if (bytes === 0 || take(ticket, bytes)) return;
  cutOldest(ticket.tenant, metrics);
  if (!take(ticket, bytes)) cutOff(ticket, metrics);
}

/** The client has taken all of it, or is gone. */
export function deleteUnread(ticket: Ticket): void {
  const { tenant } = ticket;
  if (tenant.unread.delete(ticket)) recount(ticket, 0);
}

/** Cuts off the answer that a tenant's clients have left for longest; undefined where there is none. */
export function cutOldestUnread({ unread }: Tenant, metrics: FlowMetrics): Ticket | undefined {
  const [oldest] = unread;
  if (!oldest) return undefined;
  deleteUnread(oldest);
  cutOff(oldest, metrics);
  return oldest;
}

function take(ticket: Ticket, bytes: number): boolean {
  const { tenant } = ticket;
  if (!tenant.commons.unreadBytes.take(tenant.unreadBytes, bytes)) return false;
  ticket.unreadBytes = bytes;
  tenant.unread.add(ticket);
  return true;
}

function recount(ticket: Ticket, bytes: number): void {
  const { tenant } = ticket;
  tenant.commons.unreadBytes.giveBack(tenant.unreadBytes, ticket.unreadBytes - bytes);
  ticket.unreadBytes = bytes;
}

/** Down to half of what was counted, so that it is long until all have to be looked at again. Most will have been taken. */
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
