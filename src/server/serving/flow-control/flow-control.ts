import type { Exchange } from '../../../http/exchange.ts';
import type { RequestInfo } from '../../../request/request-info.ts';
import type { UserInfo } from '../../../request/user-info.ts';
import type { FlowMetrics } from './flow-metrics.ts';
import { exemptSchema, type FlowSchema, flowSchemas, tenantName } from './flow-schemas.ts';
import type { SharedCapacity } from './shared-capacity.ts';
import type { Tenant } from './tenant.ts';
import { Ticket } from './ticket.ts';
import { tooManyRequests } from './too-many-requests.ts';
import { addUnread, cutOldestUnread, deleteUnread } from './unread-answers.ts';

/** What is to be known of those who ask in one scope. */
export interface FlowScope {
  readonly name: string;
  /** Requests of clients in this process, which are exempt. */
  readonly isOwn: (exchange: Exchange) => boolean;
  /** False for users of whom it is known that no role is given to them but those that everybody has. */
  readonly hasRole: (user: UserInfo) => boolean;
}

/** Who asks, and for what. */
interface Asker {
  readonly exchange: Exchange;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly impersonatedBy?: UserInfo | undefined;
}

/**
 * Sees to it that nobody takes all of what is short: places for requests, room for bodies and for answers that wait.
 * Everything is counted for the tenant that sends the request; users of several scopes are never one tenant.
 */
export class FlowControl {
  readonly pools: SharedCapacity['pools'];
  readonly bodies: SharedCapacity['bodies'];
  readonly #capacity: SharedCapacity;
  readonly #scope: FlowScope;
  readonly #metrics: FlowMetrics;
  readonly #schemas: readonly FlowSchema[];

  constructor(capacity: SharedCapacity, scope: FlowScope) {
    this.#capacity = capacity;
    this.#scope = scope;
    this.#metrics = capacity.metrics;
    this.#schemas = flowSchemas({ dialect: capacity.dialect, hasRole: scope.hasRole });
    this.pools = capacity.pools;
    this.bodies = capacity.bodies;
  }

  /**
   * What the request will hold is counted on the ticket, and given back with the exchange. Of a tenant that has too many
   * requests under way the one whose answer was left unread for longest makes room; where all are at work, it is refused
   * with 429.
   */
  admit(asker: Asker): Ticket {
    const { exchange, info, user } = asker;
    const schema = this.#schemaOf(asker);
    const commons = schema.level === 'exempt' ? this.#capacity.exempt : this.#capacity.others;
    const tenant = commons.tenant(this.#tenantName(asker.impersonatedBy ?? user));
    const key = schema.distinguisher === 'user' ? user.username : namespaceOf(info);
    if (!commons.requests.take(tenant.requests, 1) && !this.#replaceUnread(tenant)) {
      this.#metrics.rejected(schema, 'concurrency-limit');
      throw tooManyRequests();
    }
    const ticket = new Ticket(exchange, { schema, tenant, key });
    exchange.onEnd(() => {
      uncount(ticket);
      deleteUnread(ticket);
    });
    return ticket;
  }

  #replaceUnread(tenant: Tenant): boolean {
    const oldest = cutOldestUnread(tenant, this.#metrics);
    if (!oldest) return false;
    uncount(oldest);
    return tenant.commons.requests.take(tenant.requests, 1);
  }

  /**
   * The answer was handed over, or its first part: the request needs nothing any more, but for what the client leaves
   * unread. Watches that are open count no longer: what each may keep has bounds of its own.
   */
  answered(ticket: Ticket): void {
    ticket.giveBack();
    if (ticket.longRunning) uncount(ticket);
    else addUnread(ticket, this.#metrics);
  }

  #tenantName(user: UserInfo): string {
    const name = tenantName(user, this.#capacity.dialect);
    // No name of a user has NUL in it.
    return this.#scope.name === '' ? name : `${this.#scope.name}\0${name}`;
  }

  #schemaOf({ exchange, user, info }: Asker): FlowSchema {
    if (this.#scope.isOwn(exchange)) return exemptSchema;
    for (const schema of this.#schemas) if (schema.matches(user, info)) return schema;
    throw new Error('the last flow schema matches all requests');
  }
}

function uncount(ticket: Ticket): void {
  const { tenant } = ticket;
  if (ticket.counted) tenant.commons.requests.giveBack(tenant.requests, 1);
  ticket.counted = false;
}

const namespaceOf = (info: RequestInfo): string => (info.type === 'resource' ? info.namespace : '');
