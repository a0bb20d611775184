import type { RosterPlace } from '../../../base/collections/roster.ts';
import type { Exchange } from '../../../http/exchange.ts';
import type { ReceivedBody } from './body-intake.ts';
import type { SchemaUsage } from './flow-metrics.ts';
import type { FlowSchema } from './flow-schemas.ts';
import type { Tenant } from './tenant.ts';
import type { Seat } from './tenant-queue.ts';

/** The flow of a request. */
export interface Flow {
  readonly schema: FlowSchema;
  readonly tenant: Tenant;
  /** Distinguishes the flows of a tenant, which are served round-robin. */
  readonly key: string;
}

/** What one request holds of the shared capacity. Each request has one from authentication on. */
export class Ticket implements Flow {
  readonly exchange: Exchange;
  readonly schema: FlowSchema;
  readonly tenant: Tenant;
  readonly key: string;
  /** True while the request counts among the tenant's requests under way. */
  counted = true;
  /** True if the answer is a watch. */
  longRunning = false;
  body: ReceivedBody | undefined = undefined;
  /** Length of the body, also after its release; undefined if none was received. */
  bodyBytes: number | undefined = undefined;
  #seat: Seat | undefined = undefined;
  /** Bytes of the answer that were handed over and are accounted as unread by the client. */
  unreadBytes = 0;
  /** Among the unread answers of the tenant. */
  unreadPlace: RosterPlace = 0;

  readonly #usage: SchemaUsage;

  /** `usage` counts the requests of the schema. */
  constructor(exchange: Exchange, { schema, tenant, key }: Flow, usage: SchemaUsage) {
    this.#usage = usage;
    this.exchange = exchange;
    this.schema = schema;
    this.tenant = tenant;
    this.key = key;
  }

  /** The request got its seat. */
  seated(seat: Seat): void {
    this.#seat = seat;
    this.#usage.dispatched += 1;
    this.#usage.executing += 1;
  }

  /** Releases seat and body when the work is done. */
  release(): void {
    this.body?.release();
    this.body = undefined;
    if (!this.#seat) return;
    this.#usage.executing -= 1;
    this.#seat.release();
    this.#seat = undefined;
  }
}
