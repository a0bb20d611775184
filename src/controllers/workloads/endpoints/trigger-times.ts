import type { Pod } from '../../../kinds/core/pod/pod-schema.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { formatTime, parseTime } from '../../../meta/time.ts';

interface Known {
  readonly serviceMs: number;
  /** When pods became ready, or ceased to be, by their names. */
  readonly podsMs: ReadonlyMap<string, number>;
}

/**
 * When what endpoints follow from has changed: their annotation says so, for whoever measures how long a change takes to reach
 * nodes. Counted are the creation of the service, and that pods became ready or ceased to be.
 */
export class TriggerTimes {
  /** By `namespace/name` of services. */
  readonly #known = new Map<string, Known>();

  /**
   * The earliest change since this service was looked at last; at the first look its creation, since its pods may be much
   * older. Undefined if nothing has changed.
   */
  next(key: string, { metadata }: ApiObject, pods: readonly Pod[]): string | undefined {
    const before = this.#known.get(key);
    const serviceMs = parseTime(metadata.creationTimestamp ?? '') ?? 0;
    const podsMs = new Map<string, number>();
    let earliestMs = before && serviceMs <= before.serviceMs ? Number.POSITIVE_INFINITY : serviceMs;
    for (const { metadata: { name = '' } = {}, status } of pods) {
      const readiness = status?.conditions?.find(({ type }) => type === 'Ready');
      const changedMs = parseTime(readiness?.lastTransitionTime ?? '');
      if (changedMs === undefined) continue;
      podsMs.set(name, changedMs);
      if (before && changedMs > (before.podsMs.get(name) ?? 0)) earliestMs = Math.min(earliestMs, changedMs);
    }
    this.#known.set(key, { serviceMs, podsMs });
    return Number.isFinite(earliestMs) ? formatTime(earliestMs) : undefined;
  }

  forget(key: string): void {
    this.#known.delete(key);
  }
}
