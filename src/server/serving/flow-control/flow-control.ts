import type { Clock } from '../../../base/clock.ts';
import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import type { Metrics } from '../../../base/metrics.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import type { Exchange } from '../../../http/exchange.ts';
import type { RequestInfo } from '../../../request/request-info.ts';
import type { UserInfo } from '../../../request/user-info.ts';
import { BodyIntake } from './body-intake.ts';
import { type FlowMetrics, flowMetrics, observePools } from './flow-metrics.ts';
import { exemptSchema, type FlowSchema, flowSchemas, tenantName } from './flow-schemas.ts';
import { PlacePool } from './place-pool.ts';
import { Commons, type Tenant } from './tenant.ts';
import { Ticket } from './ticket.ts';
import { tooManyRequests } from './too-many-requests.ts';
import { addUnread, cutOldestUnread, deleteUnread } from './unread-answers.ts';

/** What a request needs a place for. Reviews are answered and write nothing. */
export type PlaceKind = 'readOnly' | 'mutating' | 'review';

export interface FlowControlOptions {
  readonly clock: Clock;
  readonly dialect: Dialect;
  readonly metrics: Metrics;
  /** Places for requests that read, and for requests that write; 0 where there is no limit. */
  readonly max: { readonly reads: number; readonly writes: number };
  /** What a request may take in all. Milliseconds. */
  readonly requestMsMax: number;
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
 * Everything is counted for the tenant that sends the request.
 */
export class FlowControl implements Closable {
  readonly pools: Readonly<Record<PlaceKind, PlacePool>>;
  readonly bodies: BodyIntake;
  readonly #options: FlowControlOptions;
  readonly #metrics: FlowMetrics;
  readonly #schemas: readonly FlowSchema[];
  readonly #exempt = new Commons();
  readonly #others = new Commons();

  constructor(options: FlowControlOptions) {
    const { clock, max, requestMsMax } = options;
    this.#options = options;
    this.#metrics = flowMetrics(options.metrics);
    this.#schemas = flowSchemas(options);
    this.bodies = new BodyIntake({ clock, metrics: this.#metrics });
    const pool = { clock, waitMsMax: requestMsMax * limits.waitingPart, metrics: this.#metrics };
    this.pools = {
      readOnly: new PlacePool({ ...pool, max: max.reads }),
      mutating: new PlacePool({ ...pool, max: max.writes }),
      review: new PlacePool({ ...pool, max: max.writes }),
    };
    observePools(options.metrics, this.pools);
  }

  /**
   * What the request will hold is counted on the ticket, and given back with the exchange. Of a tenant that has too many
   * requests under way the one whose answer was left unread for longest makes room; where all are at work, it is refused
   * with 429.
   */
  admit(asker: Asker): Ticket {
    const { exchange, info, user } = asker;
    const schema = this.#schemaOf(asker);
    const commons = schema.level === 'exempt' ? this.#exempt : this.#others;
    const tenant = commons.tenant(tenantName(asker.impersonatedBy ?? user, this.#options.dialect));
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

  /** Why writes do not go on; undefined where they do. */
  writeTrouble(): string | undefined {
    const stalledMs = this.pools.mutating.stalledMs;
    if (stalledMs <= limits.writesStalledMsMax) return undefined;
    return `no write has ended for ${Math.floor(stalledMs / 1000)} s while others wait`;
  }

  close(): void {
    this.bodies.close();
    for (const pool of Object.values(this.pools)) pool.close();
  }

  #schemaOf({ exchange, user, info }: Asker): FlowSchema {
    if (this.#options.isOwn(exchange)) return exemptSchema;
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
