import { formatDuration } from '../../../base/time/duration.ts';
import type { Dialect } from '../../../dialect/dialect.ts';

/** Requests that take longer say in which layers. As in kube-apiserver. */
export const slowMs = 500;

/** Where a request spent its time. Monotonic milliseconds; only what was noted is shown. */
export class LayerLatencies {
  #storeSinceMs: number | undefined;
  #storeUntilMs: number | undefined;
  #answeredMs: number | undefined;

  /** The store is asked: by a read that has to wait, or by a write that is sent. The first time counts. */
  storeAsked(nowMs: number): void {
    this.#storeSinceMs ??= nowMs;
  }

  /** The result is there. */
  served(nowMs: number): void {
    if (this.#storeSinceMs !== undefined) this.#storeUntilMs ??= nowMs;
  }

  /** The answer, or its first part, was handed over. */
  answered(nowMs: number): void {
    this.#answeredMs ??= nowMs;
  }

  /** The published annotations of a slow request. */
  annotations(
    dialect: Dialect,
    { receivedMs, endedMs, waitedMs }: Readonly<Record<'receivedMs' | 'endedMs' | 'waitedMs', number>>,
  ): readonly (readonly [key: string, value: string])[] {
    const totalMs = endedMs - receivedMs;
    if (totalMs <= slowMs) return [];
    const [since, until, answered] = [this.#storeSinceMs, this.#storeUntilMs, this.#answeredMs];
    const layers = {
      'apf-queue-wait': waitedMs,
      etcd: since === undefined ? 0 : (until ?? endedMs) - since,
      'response-write': answered === undefined ? 0 : endedMs - answered,
      total: totalMs,
    };
    const domain = dialect.group('apiserver.latency');
    return Object.entries(layers).flatMap(([layer, ms]) =>
      ms > 0 ? [[`${domain}/${layer}`, formatDuration(ms)] as const] : [],
    );
  }
}
