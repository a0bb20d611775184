import { formatDuration } from '../../../base/time/duration.ts';
import type { Dialect } from '../../../dialect/dialect.ts';

/** Requests that take longer say in which layers. As in kube-apiserver. */
export const slowMs = 500;

type RequestTimes = Readonly<Record<'receivedMs' | 'endedMs' | 'waitedMs', number>> & {
  readonly answeredMs: number | undefined;
};

/** Where a request spent its time. Monotonic milliseconds; only what was noted is shown. */
export class LayerLatencies {
  #storeSinceMs: number | undefined;
  #storeUntilMs: number | undefined;

  /** The store is asked: by a read that has to wait, or by a write that is sent. The first time counts. */
  storeAsked(nowMs: number): void {
    this.#storeSinceMs ??= nowMs;
  }

  /** The result is there. */
  served(nowMs: number): void {
    if (this.#storeSinceMs !== undefined) this.#storeUntilMs ??= nowMs;
  }

  /** The published annotations of a slow request. `answeredMs`: its answer, or the first part of that, was handed over. */
  annotations(
    dialect: Dialect,
    { receivedMs, endedMs, waitedMs, answeredMs: answered }: RequestTimes,
  ): readonly (readonly [key: string, value: string])[] {
    const totalMs = endedMs - receivedMs;
    if (totalMs <= slowMs) return [];
    const [since, until] = [this.#storeSinceMs, this.#storeUntilMs];
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
