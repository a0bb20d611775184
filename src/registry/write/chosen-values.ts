import { limits } from '../../base/limits.ts';
import type { Random } from '../../base/random.ts';
import type { Clock } from '../../base/time/clock.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import { type Allocated, type Pools, poolIsFull, type ValuePool } from '../../kinds/allocation.ts';
import type { Counted } from '../../kinds/kind.ts';
import type { Scope } from '../../meta/scope.ts';
import { keyPrefix } from '../../resources/resource.ts';
import type { Store } from '../../store/store.ts';
import { claimPrefix } from './claims.ts';

interface ChosenValuesOptions {
  readonly pools: readonly ValuePool[];
  readonly store: Pick<Store, 'get' | 'list'>;
  readonly scope: Scope;
  readonly random: Random;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly count: (counted: Counted) => void;
}

/**
 * The pools as one write sees them. That a value is free is what the store says now: whether the write gets it, the batch
 * decides that it is written in.
 */
export class ChosenValues implements Pools {
  readonly #options: ChosenValuesOptions;
  /** Keys of what the write was given. */
  readonly #given = new Set<string>();

  constructor(options: ChosenValuesOptions) {
    this.#options = options;
  }

  get names(): readonly string[] {
    return [...new Set(this.#options.pools.map(({ name }) => name))];
  }

  async take(name: string, value: string): Promise<Allocated> {
    const pools = this.#pools(name);
    const pool = pools.find((each) => !each.closed && each.canonical(value) !== undefined) ?? pools[0];
    const found = await this.#taking(pool, value);
    this.#count(pool, 'static', found);
    return found;
  }

  /** At random, from the upper parts of the ranges as long as there is something left in them. */
  async choose(name: string): Promise<Allocated> {
    const pools = this.#pools(name).filter(({ closed }) => !closed);
    const found = (await this.#probe(pools)) ?? (await this.#search(pools));
    if (found) {
      this.#count(found.pool, 'dynamic', found);
      return { value: found.value };
    }
    const full = { problem: poolIsFull };
    for (const pool of pools) this.#count(pool, 'dynamic', full);
    return full;
  }

  #count({ metrics, labels }: ValuePool, scope: 'static' | 'dynamic', found: Allocated): void {
    const counter = 'value' in found ? metrics.allocations : metrics.failures;
    this.#options.count({ counter, labels: { ...labels, scope } });
  }

  async #taking(pool: ValuePool, value: string): Promise<Allocated> {
    const canonical = pool.closed ? undefined : pool.canonical(value);
    if (canonical === undefined) return { problem: pool.outside(value) };
    return (await this.#give(pool, canonical)) ?? { problem: pool.taken };
  }

  /** Tries a few values, each value of the upper parts with the same chance. */
  async #probe(pools: readonly ValuePool[]): Promise<Chosen | undefined> {
    const ends: number[] = [];
    for (const { size, reserved } of pools) ends.push((ends.at(-1) ?? 0) + Math.max(0, size - reserved));
    const all = ends.at(-1) ?? 0;
    for (let probe = 0; all > 0 && probe < limits.poolProbesMax; probe++) {
      const at = this.#below(all);
      const index = ends.findIndex((end) => at < end);
      const pool = pools[index];
      if (!pool) continue;
      const found = await this.#give(pool, pool.valueAt(pool.reserved + at - (ends[index - 1] ?? 0)));
      if (found) return { ...found, pool };
    }
    return undefined;
  }

  /** Looks through all that is taken. The pools of a name have one folder. */
  async #search(pools: readonly ValuePool[]): Promise<Chosen | undefined> {
    const [first] = pools;
    if (!first) return undefined;
    const taken = await this.#taken(first);
    const parts = [
      ...pools.map((pool) => ({ pool, from: pool.reserved, to: pool.size })),
      ...pools.map((pool) => ({ pool, from: 0, to: Math.min(pool.reserved, pool.size) })),
    ];
    for (const { pool, from, to } of parts) {
      const value = await this.#scan(pool, taken, from, to);
      if (value === undefined) continue;
      this.#given.add(this.#key(pool, value));
      return { pool, value };
    }
    return undefined;
  }

  #pools(name: string): readonly [ValuePool, ...ValuePool[]] {
    const [first, ...others] = this.#options.pools.filter((each) => each.name === name);
    if (!first) throw new Error(`there is no pool ${name}`);
    return [first, ...others];
  }

  #key(pool: ValuePool, value: string): string {
    return `${claimPrefix(this.#options.scope, pool.folder)}${value}`;
  }

  async #give(pool: ValuePool, value: string): Promise<{ readonly value: string } | undefined> {
    const { store, scope } = this.#options;
    const key = this.#key(pool, value);
    if (this.#given.has(key)) return undefined;
    const keys = pool.shownBy ? [key, `${keyPrefix(scope, pool.shownBy)}${value}`] : [key];
    const held = await Promise.all(keys.map((each) => store.get(each)));
    if (held.some((record) => record !== undefined)) return undefined;
    this.#given.add(key);
    return { value };
  }

  /** Keys of all claims of the folder, and of those that objects would show. */
  async #taken(pool: ValuePool): Promise<ReadonlySet<string>> {
    const { scope } = this.#options;
    const taken = new Set(this.#given);
    const folder = claimPrefix(scope, pool.folder);
    for await (const key of this.#keys(folder)) taken.add(key);
    if (!pool.shownBy) return taken;
    const shown = keyPrefix(scope, pool.shownBy);
    for await (const key of this.#keys(shown)) taken.add(`${folder}${key.slice(shown.length)}`);
    return taken;
  }

  async *#keys(prefix: string): AsyncGenerator<string> {
    for (let after: string | undefined; ; ) {
      const { records } = await this.#options.store.list(prefix, {
        limit: limits.poolPageMax,
        remaining: 'whether',
        ...(after !== undefined && { after }),
      });
      for (const { key } of records) yield key;
      after = records.at(-1)?.key;
      if (records.length < limits.poolPageMax) return;
    }
  }

  /** The first free value from a random one on, in a part of the pool. */
  async #scan(pool: ValuePool, taken: ReadonlySet<string>, from: number, to: number): Promise<string | undefined> {
    const count = to - from;
    if (count <= 0) return undefined;
    const start = this.#below(count);
    const slice = new TimeSlice(this.#options.clock);
    for (let step = 0; step < count; step++) {
      if (slice.over) await slice.next();
      const value = pool.valueAt(from + ((start + step) % count));
      if (!taken.has(this.#key(pool, value))) return value;
    }
    return undefined;
  }

  /** A random number below `count`. Of large ones not all are as likely. */
  #below(count: number): number {
    const [a = 0, b = 0, c = 0, d = 0] = this.#options.random.bytes(4);
    return Math.floor(((a * 2 ** 24 + b * 2 ** 16 + c * 2 ** 8 + d) / 2 ** 32) * count);
  }
}

interface Chosen {
  readonly pool: ValuePool;
  readonly value: string;
}
