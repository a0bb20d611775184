import type { Exchange } from '../../../http/exchange.ts';
import type { RequestInfo } from '../../../request/request-info.ts';
import type { UserInfo } from '../../../request/user-info.ts';
import { initialConfiguration } from './flow-configuration.ts';
import type { FlowMetrics } from './flow-metrics.ts';
import { exemptSchema, FlowClassifier, type FlowSchema, type ReadFlowSchema, tenantName } from './flow-schemas.ts';
import { exemptLevel } from './priority-levels.ts';
import type { SharedCapacity } from './shared-capacity.ts';
import type { Tenant } from './tenant.ts';
import { Ticket } from './ticket.ts';
import { tooManyRequests } from './too-many-requests.ts';
import { addUnread, cutOldestUnread, deleteUnread } from './unread-answers.ts';

/** What flow control needs to know about the users of one scope. */
export interface FlowScope {
  readonly name: string;
  /** True for requests of in-process clients, which are exempt. */
  readonly isLoopback: (exchange: Exchange) => boolean;
  /** False for users known to have no role other than those that everybody has. */
  readonly hasRole: (user: UserInfo) => boolean;
}

/** The sender of a request, and the request. */
interface FlowRequest {
  readonly exchange: Exchange;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly impersonatedBy?: UserInfo | undefined;
}

/**
 * Shares scarce capacity fairly: seats, bodies in transit, and unread answers. Everything is accounted to the tenant
 * that sends the request; users of different scopes are never the same tenant.
 */
export class FlowControl {
  readonly pools: SharedCapacity['pools'];
  readonly bodies: SharedCapacity['bodies'];
  readonly #capacity: SharedCapacity;
  readonly #scope: FlowScope;
  readonly #metrics: FlowMetrics;
  #classifier: FlowClassifier;

  constructor(capacity: SharedCapacity, scope: FlowScope) {
    this.#capacity = capacity;
    this.#scope = scope;
    this.#metrics = capacity.metrics;
    this.#classifier = new FlowClassifier(initialConfiguration(capacity.dialect).schemas, scope.hasRole);
    this.pools = capacity.pools;
    this.bodies = capacity.bodies;
  }

  /** Sorts requests by other schemas from now on. Those whose level is not there do not count. */
  configure(schemas: readonly ReadFlowSchema[]): void {
    this.#classifier = new FlowClassifier(schemas, this.#scope.hasRole);
  }

  /**
   * Records on the ticket what the request holds, and releases it when the exchange ends. If the tenant has too many
   * requests under way, its oldest unread answer is cut off to make room; if there is none, the request is refused with
   * 429.
   */
  admit(request: FlowRequest): Ticket {
    const { exchange, info, user } = request;
    const schema = this.#schemaOf(request);
    this.#nameIn(exchange, schema);
    const shared = schema.level === exemptLevel ? this.#capacity.exempt : this.#capacity.others;
    const tenant = shared.tenant(this.#tenantName(request.impersonatedBy ?? user));
    exchange.sentBy?.(shared === this.#capacity.exempt ? undefined : tenant.sender);
    if (!shared.requests.take(tenant.requests, 1) && !this.#replaceUnread(tenant)) {
      this.#metrics.rejected(schema, 'concurrency-limit');
      throw tooManyRequests();
    }
    const ticket = new Ticket(
      exchange,
      { schema, tenant, key: flowKey(schema, user, info), request },
      this.#metrics.usageOf(schema),
    );
    exchange.onEnd(() => {
      uncount(ticket);
      deleteUnread(ticket);
    });
    return ticket;
  }

  /** Answers name what sorted their request, refusals too. */
  #nameIn(exchange: Exchange, { uid, levelUid }: FlowSchema): void {
    const { flowHeaders } = this.#capacity.dialect;
    if (levelUid !== undefined) exchange.setHeader(flowHeaders.level, levelUid);
    if (uid !== undefined) exchange.setHeader(flowHeaders.schema, uid);
  }

  #replaceUnread(tenant: Tenant): boolean {
    const oldest = cutOldestUnread(tenant, this.#metrics);
    if (!oldest) return false;
    uncount(oldest);
    return tenant.shared.requests.take(tenant.requests, 1);
  }

  /**
   * Called when the answer, or its first part, was handed over: the request then holds only what the client leaves
   * unread. An open watch is no longer counted, since the memory of each watch has its own bounds.
   */
  answered(ticket: Ticket): void {
    ticket.release();
    if (ticket.longRunning) uncount(ticket);
    else addUnread(ticket, this.#metrics);
  }

  #tenantName(user: UserInfo): string {
    const name = tenantName(user, this.#capacity.dialect);
    // User names never contain NUL.
    return this.#scope.name === '' ? name : `${this.#scope.name}\0${name}`;
  }

  #schemaOf({ exchange, user, info }: FlowRequest): FlowSchema {
    if (this.#scope.isLoopback(exchange)) return exemptSchema;
    return this.#classifier.schemaOf(user, info, (level) => this.#capacity.hasLevel(level));
  }
}

function uncount(ticket: Ticket): void {
  const { tenant } = ticket;
  if (ticket.counted) tenant.shared.requests.release(tenant.requests, 1);
  ticket.counted = false;
}

function flowKey({ distinguisher }: FlowSchema, { username }: UserInfo, info: RequestInfo): string {
  if (distinguisher === 'none') return '';
  return distinguisher === 'user' ? username : namespaceOf(info);
}

const namespaceOf = (info: RequestInfo): string => (info.type === 'resource' ? info.namespace : '');
