import { getOrAdd } from '../../base/collections/get-or-add.ts';
import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Gauge, MetricDefinition, Metrics } from '../../base/metrics.ts';
import type { Clock } from '../../base/time/clock.ts';
import { RepeatedWork } from '../../base/time/repeated-work.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import type { Freshness } from '../../cache/cache.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import { parseStored } from '../../codec/json.ts';
import { type Claim, isInPool, type ValuePool } from '../../kinds/allocation.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import {
  claimKey,
  claimPrefix,
  claimValue,
  type Holder,
  holderOf,
  isSameHolder,
  readClaim,
} from '../../registry/write/claims.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import { isStoreError, type Revision, type Store, type StoreRecord } from '../../store/store.ts';

/** How often claims are compared with objects; published. The first look waits until a start has other things behind it. */
const intervalMs = 3 * 60_000;
const firstLookMs = 5_000;

interface ClaimRepairOptions {
  readonly store: Pick<Store, 'get' | 'list' | 'create' | 'update' | 'delete'>;
  readonly cache: Pick<Freshness, 'fresh'>;
  readonly resources: Pick<ResourceRegistry, 'stored' | 'scope'>;
  /** As they are now. */
  readonly pools: () => readonly ValuePool[];
  readonly events: EventRecorder;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Brings claims in line with objects. In ordinary life there is nothing to do, since both are written together; what makes work are
 * objects that were written otherwise: before there were claims, by a copy of a part of a store, or removed because they could not
 * be read. Idempotent, so all servers of a store may do it.
 */
export class ClaimRepair implements Closable {
  readonly #options: ClaimRepairOptions;
  /** Claims that nobody needed at the last look. They go if the next one finds them the same: meanwhile their object may have come. */
  #unneeded: ReadonlyMap<string, Revision> = new Map();
  readonly #gauges = new Map<MetricDefinition<string>, Gauge<string>>();
  /** Pools of which the gauges show something. */
  #shown: ReadonlyMap<string, ValuePool> = new Map();
  readonly #looks: RepeatedWork;

  constructor(options: ClaimRepairOptions) {
    const { clock, logger } = options;
    this.#options = options;
    this.#looks = new RepeatedWork({
      clock,
      intervalMs,
      work: () => this.pass(),
      failed: (error) => logger.warn('what objects hold could not be compared with what they say', { error }),
    });
    for (const { metrics } of options.pools()) {
      this.#gauge(metrics.held);
      this.#gauge(metrics.free);
    }
  }

  /** Looks soon, and every three minutes from then on. */
  start(): void {
    this.#looks.start(firstLookMs);
  }

  /** One look at all claims, and at all objects of kinds that have some. */
  async pass(): Promise<void> {
    const { resources, cache, clock } = this.#options;
    const claims = await this.#claims();
    // What had a claim then is in the cache now, unless it is gone.
    await cache.fresh();
    const slice = new TimeSlice(clock);
    const needed = new Set<string>();
    const pools = this.#options.pools();
    const held = new Map(pools.map((pool) => [pool, 0]));
    for (const { stored: served } of resources.stored()) {
      if (!served.kind.claims) continue;
      const { collection } = served;
      for (const entry of collection.snapshot().entries(collection.prefix)) {
        if (slice.over) await slice.next();
        if (this.#looks.closed) return;
        const object = parseStored(entry.bytes) as unknown as ApiObject;
        for (const claim of served.kind.claims(object)) {
          const key = claimKey(resources.scope, claim);
          await this.#check({
            served,
            object,
            claim,
            holder: holderOf(entry.key, object),
            record: claims.get(key),
            isFirst: !needed.has(key),
          });
          for (const pool of needed.has(key) ? [] : pools) {
            if (isInPool(pool, claim)) held.set(pool, (held.get(pool) ?? 0) + 1);
          }
          needed.add(key);
        }
      }
    }
    this.#show(held);
    await this.#release([...claims.values()].filter(({ key }) => !needed.has(key)));
  }

  /** Pools that are gone are shown no more. */
  #show(held: ReadonlyMap<ValuePool, number>): void {
    const before = this.#shown;
    this.#shown = new Map([...held.keys()].map((pool) => [JSON.stringify([pool.folder, pool.labels]), pool]));
    for (const [pool, count] of held) {
      this.#gauge(pool.metrics.held).set(pool.labels, count);
      this.#gauge(pool.metrics.free).set(pool.labels, pool.size - count);
    }
    for (const [key, { metrics, labels }] of before) {
      if (this.#shown.has(key)) continue;
      this.#gauge(metrics.held).remove(labels);
      this.#gauge(metrics.free).remove(labels);
    }
  }

  #gauge(definition: MetricDefinition<string>): Gauge<string> {
    return getOrAdd(this.#gauges, definition, () => this.#options.metrics.gauge(definition));
  }

  async #claims(): Promise<ReadonlyMap<string, StoreRecord>> {
    const { store, resources } = this.#options;
    const prefix = claimPrefix(resources.scope);
    const found = new Map<string, StoreRecord>();
    for (let after: string | undefined; ; ) {
      const page = { limit: limits.poolPageMax, remaining: 'whether', ...(after !== undefined && { after }) } as const;
      const { records } = await store.list(prefix, page);
      for (const record of records) found.set(record.key, record);
      after = records.at(-1)?.key;
      if (records.length < limits.poolPageMax) return found;
    }
  }

  /** One value of one object. */
  async #check(held: HeldValue): Promise<void> {
    const { store, resources } = this.#options;
    const { claim, holder, isFirst } = held;
    const pools = this.#options.pools();
    const inRange = pools.find((pool) => isInPool(pool, claim));
    const pool = inRange ?? pools.find(({ folder }) => folder === claim.folder);
    if (!pool) return;
    if (!inRange) this.#tell(held, pool, 'OutOfRange', `is not within ${pool.told.range}; please recreate service`);
    if (isSameHolder(held.record && readClaim(held.record.value), holder)) return;
    const key = claimKey(resources.scope, claim);
    // The object may be younger than the list of claims.
    const record = await store.get(key);
    const found = record && readClaim(record.value);
    if (isSameHolder(found, holder)) return;
    const value = claimValue(holder);
    if (!record) {
      this.#tell(held, pool, 'NotAllocated', 'is not allocated; repairing');
      await unlessChanged(store.create(key, value));
    } else if (isFirst && !this.#isHeld(found, claim)) {
      await unlessChanged(store.update(key, value, record.revision));
    } else {
      this.#tell(held, pool, 'AlreadyAllocated', 'was assigned to multiple services; please recreate service');
    }
  }

  /** Whether the object that a claim names is there and says that it holds the value. */
  #isHeld(holder: Holder | undefined, { folder, value }: Claim): boolean {
    if (!holder) return false;
    for (const { stored: served } of this.#options.resources.stored()) {
      const entry = holder.key.startsWith(served.collection.prefix) ? served.collection.get(holder.key) : undefined;
      if (!entry || !served.kind.claims) continue;
      const object = parseStored(entry.bytes) as unknown as ApiObject;
      if (!isSameHolder(holder, holderOf(entry.key, object))) return false;
      return served.kind.claims(object).some((each) => each.folder === folder && each.value === value);
    }
    return false;
  }

  #tell({ served, object, claim }: HeldValue, { told }: ValuePool, reason: string, message: string): void {
    const { name = '', namespace, uid } = object.metadata;
    const about = { apiVersion: served.apiVersion, kind: served.kind.kind, name, namespace, uid };
    const text = `${told.value(claim.value)} ${message}`;
    this.#options.events.record({ about, type: 'Warning', reason: `${told.reason}${reason}`, message: text });
  }

  async #release(unneeded: readonly StoreRecord[]): Promise<void> {
    const { store } = this.#options;
    const before = this.#unneeded;
    this.#unneeded = new Map(unneeded.map(({ key, revision }) => [key, revision]));
    for (const { key, revision } of unneeded) {
      if (this.#looks.closed) return;
      if (before.get(key) === revision) await unlessChanged(store.delete(key, revision));
    }
  }

  close(): void {
    this.#looks.close();
  }
}

/** A value that an object says it holds. */
interface HeldValue {
  readonly served: ServedResource;
  readonly object: ApiObject;
  readonly claim: Claim;
  readonly holder: Holder;
  /** The claim as it was listed. */
  readonly record: StoreRecord | undefined;
  /** No other object of this look says so. */
  readonly isFirst: boolean;
}

/** Somebody else wrote the claim: the next look tells what is still to do. */
async function unlessChanged(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!(['exists', 'conflict', 'notFound'] as const).some((code) => isStoreError(error, code))) throw error;
  }
}
