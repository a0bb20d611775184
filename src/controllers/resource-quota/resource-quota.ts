import type { Closable } from '../../base/disposable.ts';
import { isAbsence } from '../../client/api-client.ts';
import { Informer } from '../../client/informer.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import { type Amounts, addTo, equalAmounts, textsOf } from '../../kinds/quota/amounts.ts';
import type { Evaluator } from '../../kinds/quota/evaluator.ts';
import { Evaluators } from '../../kinds/quota/evaluators.ts';
import { type Quota, readQuota } from '../../kinds/quota/quota.ts';
import type { Quantity } from '../../meta/quantity.ts';
import type { ControllerContext } from '../controller.ts';
import { ControllerStack } from '../controller-stack.ts';
import { DiscoveredResources, groupOf, type Monitor } from '../discovered-resources.ts';
import { CountedObjects } from './counted-objects.ts';

const parallel = 5;
/** Interval of counting everything anew, whatever was seen. */
const resyncMs = 5 * 60_000;

/**
 * Keeps the status of every ResourceQuota: what is enforced, and how much of it is used. Admission adds what it lets pass;
 * this counts what there is, when a quota is new or changed, when an object that it counts is gone or uses something else,
 * and from time to time. Only what some quota counts is followed.
 */
export const startResourceQuota = (context: ControllerContext): Closable => new ResourceQuotaController(context);

/** A resource that can be counted. */
interface Countable {
  readonly monitor: Monitor;
  readonly evaluator: Evaluator;
  /** How many of the names that quotas have it counts. */
  wanted: number;
  counted: CountedObjects | undefined;
}

class ResourceQuotaController implements Closable {
  readonly #context: ControllerContext;
  readonly #held = new ControllerStack();
  readonly #evaluators: Evaluators;
  /** Quotas that are new or were changed go first. */
  readonly #priority: WorkQueue<string>;
  readonly #primary: WorkQueue<string>;
  readonly #quotas: Informer<Quota>;
  /** Names of the quotas of each namespace. */
  readonly #byNamespace = new Map<string, Set<string>>();
  /** In how many quotas there is each name. */
  readonly #names = new Map<string, number>();
  readonly #countable = new Set<Countable>();
  /** While there is no quota, nothing is looked for. */
  #resources: DiscoveredResources | undefined;
  #looked = false;
  #timer: Closable | undefined;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#evaluators = new Evaluators(context.dialect);
    const queue = (name: string): WorkQueue<string> =>
      this.#held.add(
        new WorkQueue({ ...context, name: `resourcequota_${name}`, parallel, work: (key) => this.#count(key) }),
      );
    this.#priority = queue('priority');
    this.#primary = queue('primary');
    this.#quotas = this.#held.add(
      new Informer<Quota>({
        ...context,
        client: context.reader,
        path: resourcePath({ resource: 'resourcequotas' }),
        select: readQuota,
        changed: (key, now, before) => this.#quotaChanged(key, now, before),
      }),
    );
    this.#resyncLater();
  }

  #resyncLater(): void {
    this.#timer = this.#context.clock.after(resyncMs, () => {
      this.#countAll();
      this.#resyncLater();
    });
  }

  #countAll(): void {
    for (const key of this.#quotas.keys()) this.#primary.add(key);
  }

  #quotaChanged(key: string, now: Quota | undefined, before: Quota | undefined): void {
    this.#place(key, now !== undefined);
    if (now && before && equalAmounts(now.wanted, before.wanted)) return;
    for (const name of now?.wanted.keys() ?? []) this.#nameUsed(name, 1);
    for (const name of before?.wanted.keys() ?? []) this.#nameUsed(name, -1);
    if (!now) return;
    this.#discover();
    const isKnown = equalAmounts(now.wanted, now.hard) && [...now.hard.keys()].every((name) => now.used.has(name));
    (isKnown ? this.#primary : this.#priority).add(key);
  }

  #place(key: string, isThere: boolean): void {
    const namespace = namespaceOf(key);
    const keys = this.#byNamespace.get(namespace) ?? new Set<string>();
    if (isThere) this.#byNamespace.set(namespace, keys.add(key));
    else if (keys.delete(key) && keys.size === 0) this.#byNamespace.delete(namespace);
  }

  #nameUsed(name: string, added: 1 | -1): void {
    const before = this.#names.get(name) ?? 0;
    if (before + added === 0) this.#names.delete(name);
    else this.#names.set(name, before + added);
    if (before !== 0 && before + added !== 0) return;
    for (const each of this.#countable) if (each.evaluator.counts(name)) this.#want(each, added);
  }

  #want(countable: Countable, added: number): void {
    countable.wanted += added;
    if (countable.wanted === 0) {
      countable.counted?.close();
      countable.counted = undefined;
    } else {
      countable.counted ??= this.#follow(countable);
    }
  }

  #follow({ monitor: { resource }, evaluator }: Countable): CountedObjects {
    return new CountedObjects({
      ...this.#context,
      ...{ resource, evaluator },
      changed: (namespace) => this.#countIn(namespace, evaluator),
      settled: () => this.#countFor(evaluator),
    });
  }

  /** Counts the quotas of a namespace anew which this concerns. */
  #countIn(namespace: string, evaluator: Evaluator): void {
    for (const key of this.#byNamespace.get(namespace) ?? []) {
      const quota = this.#quotas.get(key);
      if (quota && [...quota.wanted.keys()].some(evaluator.counts)) this.#primary.add(key);
    }
  }

  #countFor(evaluator: Evaluator): void {
    for (const namespace of this.#byNamespace.keys()) this.#countIn(namespace, evaluator);
  }

  #discover(): void {
    if (this.#resources) return;
    this.#resources = this.#held.add(
      new DiscoveredResources({
        ...this.#context,
        client: this.#context.reader,
        isFollowed: ({ namespaced, verbs }) =>
          namespaced && ['create', 'list', 'watch', 'delete'].every((verb) => verbs.includes(verb)),
        looked: () => this.#resourcesLooked(),
        entered: (monitor) => this.#entered(monitor),
        left: async (monitors) => this.#left(new Set(monitors)),
      }),
    );
    this.#resources.start();
  }

  #resourcesLooked(): void {
    if (this.#looked) return;
    this.#looked = true;
    for (const key of this.#quotas.keys()) this.#priority.add(key);
  }

  #entered(monitor: Monitor): void {
    const { resource, apiVersion } = monitor.resource;
    const evaluator = this.#evaluators.of({ group: groupOf(apiVersion), resource });
    if (!evaluator) return;
    const countable: Countable = { monitor, evaluator, wanted: 0, counted: undefined };
    this.#countable.add(countable);
    const names = [...this.#names.keys()].filter(evaluator.counts);
    if (names.length > 0) this.#want(countable, names.length);
  }

  #left(monitors: ReadonlySet<Monitor>): void {
    for (const countable of this.#countable) {
      if (!monitors.has(countable.monitor)) continue;
      countable.counted?.close();
      this.#countable.delete(countable);
    }
  }

  async #count(key: string): Promise<void> {
    const quota = this.#quotas.get(key);
    // It comes back when it is known what can be counted.
    if (!quota || !this.#looked) return;
    const used = await this.#usage(namespaceOf(key), quota);
    if (!used) return;
    if (equalAmounts(quota.wanted, quota.hard) && equalAmounts(used, quota.used)) return;
    await this.#write(quota, used);
  }

  /** Undefined if it is not known yet. What cannot be known stays as it was. */
  async #usage(namespace: string, quota: Quota): Promise<Amounts | undefined> {
    const names = [...quota.wanted.keys()];
    const used = new Map<string, Quantity>([...quota.used].filter(([name]) => quota.wanted.has(name)));
    const nowMs = this.#context.clock.now();
    const seen = new Map<string, Quantity>();
    for (const { evaluator, counted } of this.#countable) {
      const own = names.filter(evaluator.counts);
      if (own.length === 0) continue;
      if (!counted || counted.state === 'unlisted') return undefined;
      if (counted.state === 'unreadable') continue;
      const usage = await counted.usage(namespace, quota, nowMs);
      addTo(seen, new Map(own.map((name) => [name, usage.get(name) ?? zero])));
    }
    for (const [name, quantity] of seen) used.set(name, quantity);
    return used;
  }

  /** Rejects if somebody else wrote the quota meanwhile. */
  async #write({ object, name, wanted }: Quota, used: Amounts): Promise<void> {
    const { namespace } = object.metadata;
    const path = resourcePath({ resource: 'resourcequotas', namespace, name, subresource: 'status' });
    const status = { hard: textsOf(wanted), used: textsOf(used) };
    try {
      await this.#context.client.update(path, { ...object, status }, this.#held.signal);
    } catch (error) {
      if (!isAbsence(error)) throw error;
    }
  }

  close(): void {
    this.#timer?.close();
    for (const { counted } of this.#countable) counted?.close();
    this.#held.close();
  }
}

const zero: Quantity = { nanos: 0n, family: 'decimal' };

const namespaceOf = (key: string): string => key.slice(0, key.indexOf('/'));
