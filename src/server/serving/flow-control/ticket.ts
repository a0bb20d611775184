import type { RosterPlace } from '../../../base/collections/roster.ts';
import { untilAborted } from '../../../base/time/until-aborted.ts';
import type { Exchange } from '../../../http/exchange.ts';
import type { RequestInfo } from '../../../request/request-info.ts';
import type { UserInfo } from '../../../request/user-info.ts';
import type { ReceivedBody } from './body-intake.ts';
import type { FairShare, Holding } from './fair-share.ts';
import type { SchemaUsage } from './flow-metrics.ts';
import type { FlowSchema } from './flow-schemas.ts';
import type { Tenant } from './tenant.ts';
import type { Seat } from './tenant-queue.ts';
import { tooManyRequests } from './too-many-requests.ts';

/** The flow of a request. */
export interface Flow {
  readonly schema: FlowSchema;
  readonly tenant: Tenant;
  /** Distinguishes the flows of a tenant, which are served round-robin. */
  readonly key: string;
  /** For who looks at what waits. */
  readonly request?: SentRequest | undefined;
}

/** Whose a request is, and what it asks for. */
interface SentRequest {
  readonly user: UserInfo;
  readonly info: RequestInfo;
}

interface SeatSource {
  /** A seat, which is waited for if none is free. */
  take(flow: Flow, signal: AbortSignal): Seat | Promise<Seat>;
}

/** What one request holds of the shared capacity. Each request has one from authentication on. */
export class Ticket implements Flow {
  readonly exchange: Exchange;
  readonly schema: FlowSchema;
  readonly tenant: Tenant;
  readonly key: string;
  readonly request: SentRequest | undefined;
  /** True while the request counts among the tenant's requests under way. */
  counted = true;
  /** True if the answer is a watch, or comes from another server that the client is connected to. */
  longRunning = false;
  body: ReceivedBody | undefined = undefined;
  /** Length of the body, also after its release; undefined if none was received. */
  bodyBytes: number | undefined = undefined;
  #seat: Seat | undefined = undefined;
  /** Where the seat came from. */
  #pool: SeatSource | undefined = undefined;
  /** Waits for webhooks under way; the request counts once. */
  #waits = 0;
  /** The seat that is taken again. */
  #returning: Promise<void> | undefined = undefined;
  #released = false;
  /** Bytes of the answer that were handed over and are accounted as unread by the client. */
  unreadBytes = 0;
  /** Among the unread answers of the tenant. */
  unreadPlace: RosterPlace = 0;

  readonly #usage: SchemaUsage;

  /** `usage` counts the requests of the schema. */
  constructor(exchange: Exchange, { schema, tenant, key, request }: Flow, usage: SchemaUsage) {
    this.#usage = usage;
    this.exchange = exchange;
    this.schema = schema;
    this.tenant = tenant;
    this.key = key;
    this.request = request;
  }

  /** The request got its seat, from a pool in which it will wait for another one. */
  seated(seat: Seat, pool: SeatSource): void {
    this.#pool = pool;
    this.#usage.dispatched += 1;
    this.#sit(seat);
  }

  /** The same after it had to wait. */
  seatedLate(seat: Seat, pool: SeatSource): void {
    this.#usage.late += 1;
    this.seated(seat, pool);
  }

  #sit(seat: Seat): void {
    this.#seat = seat;
    this.#usage.executing += 1;
  }

  #stand(): void {
    if (!this.#seat) return;
    this.#usage.executing -= 1;
    this.#seat.release();
    this.#seat = undefined;
  }

  /**
   * See `Caller.awaitWebhook`. Parts of a request may wait at the same time: it has a seat again as soon as one of them goes
   * on, until the next one waits.
   */
  async awaitWebhook<T>(ask: () => Promise<T>): Promise<T> {
    const { signal } = this.exchange;
    signal.throwIfAborted();
    const { webhookWaits } = this.tenant.shared;
    if (this.#waits === 0 && !webhookWaits.take(this.tenant.webhookWaits, 1)) throw tooManyRequests();
    this.#waits += 1;
    this.#stand();
    try {
      return await untilAborted(ask(), signal);
    } finally {
      this.#waits -= 1;
      if (this.#waits === 0) webhookWaits.release(this.tenant.webhookWaits, 1);
      if (!signal.aborted) await this.#return();
    }
  }

  async #return(): Promise<void> {
    if (!this.#pool || this.#seat || this.#released) return;
    this.#returning ??= this.#takeAgain(this.#pool).finally(() => {
      this.#returning = undefined;
    });
    await this.#returning;
  }

  async #takeAgain(pool: SeatSource): Promise<void> {
    const seat = await pool.take(this, this.exchange.signal);
    if (this.#released) seat.release();
    else this.#sit(seat);
  }

  /** Takes a place among connections to other servers until the exchange ends; false if the tenant has too many. */
  holdConnection(): boolean {
    const { shared, connections } = this.tenant;
    return this.#hold(shared.connections, connections);
  }

  /** The same for a list that is compressed while it is sent. */
  holdCompressor(): boolean {
    const { shared, compressors } = this.tenant;
    return this.#hold(shared.compressors, compressors);
  }

  #hold(share: FairShare, holding: Holding): boolean {
    if (!share.take(holding, 1)) return false;
    this.exchange.onEnd(() => share.release(holding, 1));
    return true;
  }

  /** Releases seat and body when the work is done. */
  release(): void {
    this.body?.release();
    this.body = undefined;
    this.#released = true;
    this.#stand();
  }
}
