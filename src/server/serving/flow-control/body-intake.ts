import { Roster } from '../../../base/collections/roster.ts';
import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import type { Clock } from '../../../base/time/clock.ts';
import type { Exchange } from '../../../http/exchange.ts';
import { StatusError } from '../../../meta/status-error.ts';
import type { FlowMetrics } from './flow-metrics.ts';
import type { Tenant } from './tenant.ts';
import { tooManyRequests } from './too-many-requests.ts';

/** A body that was received in full. */
export interface ReceivedBody {
  readonly bytes: Buffer;
  /** Releases the bytes. Call once, when the bytes are no longer needed. */
  release(): void;
}

/** The sender of a body. */
interface Sender {
  readonly exchange: Exchange;
  readonly tenant: Tenant;
}

/**
 * Receives bodies before their requests take a seat, so that a client that withholds its body blocks nobody else. The
 * number of concurrent bodies and their bytes are shared fairly among tenants; a body that arrives too slowly is
 * aborted with 408.
 */
export class BodyIntake implements Closable {
  readonly #clock: Clock;
  readonly #metrics: FlowMetrics;
  readonly #arriving = new Roster<Arrival>();
  #sweep: Closable | undefined;

  constructor({ clock, metrics }: { readonly clock: Clock; readonly metrics: FlowMetrics }) {
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** Bodies being received. */
  get arriving(): number {
    return this.#arriving.size;
  }

  async receive({ exchange, tenant }: Sender): Promise<ReceivedBody> {
    const { shared } = tenant;
    if (!shared.bodies.take(tenant.bodies, 1)) {
      this.#metrics.bodyGivenUp('share');
      throw tooManyRequests();
    }
    const arrival = new Arrival({ exchange, tenant }, this.#metrics, this.#clock.monotonic());
    const place = this.#arriving.add(arrival);
    this.#sweep ??= this.#clock.after(sweepMs, () => this.#giveUpSlow());
    try {
      const bytes = await exchange.body(limits.bodyBytesMax, arrival.received);
      return { bytes, release: () => arrival.release() };
    } catch (error) {
      arrival.release();
      throw error;
    } finally {
      this.#arriving.delete(place, arrival);
      shared.bodies.release(tenant.bodies, 1);
    }
  }

  #giveUpSlow(): void {
    const now = this.#clock.monotonic();
    for (const arrival of this.#arriving) arrival.check(now);
    this.#sweep = this.#arriving.size > 0 ? this.#clock.after(sweepMs, () => this.#giveUpSlow()) : undefined;
  }

  close(): void {
    this.#sweep?.close();
    this.#sweep = undefined;
  }
}

const sweepMs = 1_000;

/** Time credit per byte at the minimum allowed rate. */
const msPerByte = 1000 / limits.bodyBytesPerSecondMin;

/** One body in transit. */
class Arrival {
  readonly #sender: Sender;
  readonly #metrics: FlowMetrics;
  #bytes = 0;
  /** Time left until the body counts as too slow. Bytes add to it, up to the grace period; elapsed time reduces it. */
  #creditMs: number = limits.bodyGraceMs;
  #checkedMs: number;

  constructor(sender: Sender, metrics: FlowMetrics, nowMs: number) {
    this.#sender = sender;
    this.#metrics = metrics;
    this.#checkedMs = nowMs;
  }

  readonly received = (bytes: number): void => {
    const { tenant } = this.#sender;
    this.#creditMs = Math.min(limits.bodyGraceMs, this.#creditMs + bytes * msPerByte);
    if (tenant.shared.bodyBytes.take(tenant.bodyBytes, bytes)) this.#bytes += bytes;
    else this.#giveUp('share', tooManyRequests());
  };

  check(nowMs: number): void {
    this.#creditMs -= nowMs - this.#checkedMs;
    this.#checkedMs = nowMs;
    if (this.#creditMs < 0) this.#giveUp('slow', tooSlow());
  }

  #giveUp(reason: 'slow' | 'share', error: StatusError): void {
    this.#metrics.bodyGivenUp(reason);
    this.#sender.exchange.abort(error);
  }

  release(): void {
    const { tenant } = this.#sender;
    tenant.shared.bodyBytes.release(tenant.bodyBytes, this.#bytes);
    this.#bytes = 0;
  }
}

const tooSlow = (): StatusError =>
  new StatusError('Timeout', 'the body of the request came too slowly', { code: 408, details: {} });
