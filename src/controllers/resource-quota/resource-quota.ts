import type { Closable } from '../../base/disposable.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import { isAbsence } from '../../client/api-client.ts';
import { Informer } from '../../client/informer.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import { type Amounts, addTo, among, equalAmounts, excess, textsOf } from '../../kinds/quota/amounts.ts';
import type { Evaluator } from '../../kinds/quota/evaluator.ts';
import { Evaluators } from '../../kinds/quota/evaluators.ts';
import { isInScopes, type Quota, readQuota } from '../../kinds/quota/quota.ts';
import type { Quantity } from '../../meta/quantity.ts';
import { equalValues } from '../../schema/equal-values.ts';
import type { ControllerContext } from '../controller.ts';
import { ControllerStack } from '../controller-stack.ts';
import { DiscoveredResources, groupOf, type Monitor } from '../discovered-resources.ts';
import { CountedObjects, type Growth } from './counted-objects.ts';
import { chargePendingMs, PendingCharges } from './pending-charges.ts';

const parallel = 5;
/** Interval of counting everything anew, whatever was seen. */
const resyncMs = 5 * 60_000;

/** Delay of a count for an object that was not charged, as far as is known: its charge may be on its way. */
const unchargedMs = 200;

/**
 * Keeps the status of every ResourceQuota: what is enforced, and how much of it is used. Admission adds what it lets pass;
 * this counts what there is and what is under way: when a quota is new or changed, when an object that it counts is gone or
 * uses something else, and from time to time. Only what some quota counts is followed.
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

/** What is known of the writes of a quota. */
interface Written {
  readonly uid: string | undefined;
  readonly charges: PendingCharges;
  /** Raised by others, or by our own write, which has not been answered yet. */
  raised: { readonly revision: number; readonly amounts: Amounts }[];
  isWriting: boolean;
  /** Of our last write. */
  ownRevision: number;
}

class ResourceQuotaController implements Closable {
  readonly #context: ControllerContext;
  readonly #held = new ControllerStack();
  readonly #evaluators: Evaluators;
  /** Quotas that are new or were changed go first. */
  readonly #priority: WorkQueue<string>;
  readonly #primary: WorkQueue<string>;
  /** Namespaces in which less may be used. */
  readonly #changes: WorkQueue<string>;
  /** A quota may be in both. */
  readonly #inTurn = new KeyedMutex();
  readonly #quotas: Informer<Quota>;
  readonly #written = new Map<string, Written>();
  /** Keys of the quotas of each namespace. */
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
    const queue = (name: string, work: (item: string) => Promise<void>): WorkQueue<string> =>
      this.#held.add(new WorkQueue({ ...context, name, parallel, work }));
    const count = (key: string): Promise<void> => this.#inTurn.run(key, () => this.#count(key));
    this.#priority = queue('resourcequota_priority', count);
    this.#primary = queue('resourcequota_primary', count);
    this.#changes = queue('resource_quota_controller_resource_changes', async (namespace) => this.#countIn(namespace));
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
    this.#noteCharge(key, now, before);
    if (now && before && equalAmounts(now.wanted, before.wanted) && equalValues(now.scopes, before.scopes)) return;
    for (const name of now?.wanted.keys() ?? []) this.#nameUsed(name, 1);
    for (const name of before?.wanted.keys() ?? []) this.#nameUsed(name, -1);
    if (!now) return;
    this.#discover();
    const isKnown = equalAmounts(now.wanted, now.hard) && [...now.hard.keys()].every((name) => now.used.has(name));
    (isKnown ? this.#primary : this.#priority).add(key);
  }

  /** What is used grows by charges, and by our own counts. */
  #noteCharge(key: string, now: Quota | undefined, before: Quota | undefined): void {
    if (!now) {
      this.#written.delete(key);
      return;
    }
    const { uid, resourceVersion } = now.object.metadata;
    const known = this.#written.get(key);
    if (known?.uid !== uid || !known) {
      this.#written.set(key, { uid, charges: new PendingCharges(), raised: [], isWriting: false, ownRevision: 0 });
      return;
    }
    const amounts = excess(now.used, before?.used ?? now.used);
    if (amounts.size === 0) return;
    known.raised.push({ revision: Number(resourceVersion), amounts });
    this.#takeRaised(key, known);
  }

  #takeRaised(key: string, written: Written): void {
    if (written.isWriting) return;
    const raised = written.raised.filter(({ revision }) => revision !== written.ownRevision);
    written.raised = [];
    for (const { amounts, revision } of raised) {
      written.charges.charged(amounts, revision, this.#context.clock.monotonic());
      this.#primary.addAfter(key, chargePendingMs);
    }
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
      changed: (namespace) => {
        if (this.#byNamespace.has(namespace)) this.#changes.add(namespace);
      },
      grown: (growth) => this.#grown(growth),
      settled: () => this.#countFor(evaluator),
    });
  }

  #grown({ namespace, measured, more, revision }: Growth): void {
    for (const key of this.#byNamespace.get(namespace) ?? []) {
      const quota = this.#quotas.get(key);
      if (!quota || !isInScopes(quota, measured)) continue;
      const amounts = among(more, quota.wanted);
      const isCharged = amounts.size === 0 || this.#written.get(key)?.charges.arrived(amounts, revision);
      if (!isCharged) this.#primary.addAfter(key, unchargedMs);
    }
  }

  /** Counts the quotas of a namespace anew, or those of them that this concerns. */
  #countIn(namespace: string, evaluator?: Evaluator): void {
    for (const key of this.#byNamespace.get(namespace) ?? []) {
      const names = [...(this.#quotas.get(key)?.wanted.keys() ?? [])];
      if (!evaluator || names.some(evaluator.counts)) this.#primary.add(key);
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
    const used = await this.#usage(key, quota);
    if (!used) return;
    if (equalAmounts(quota.wanted, quota.hard) && equalAmounts(used, quota.used)) return;
    await this.#write(key, quota, used);
  }

  /** Undefined if it is not known yet. What cannot be known stays as it was. */
  async #usage(key: string, quota: Quota): Promise<Amounts | undefined> {
    const names = [...quota.wanted.keys()];
    const used = new Map<string, Quantity>([...quota.used].filter(([name]) => quota.wanted.has(name)));
    const { clock } = this.#context;
    const nowMs = clock.now();
    // Before what is there is counted: what comes meanwhile may count twice for a moment, but is not left out.
    const pending = this.#written.get(key)?.charges.pending(clock.monotonic()) ?? new Map<string, Quantity>();
    const seen = new Map<string, Quantity>();
    for (const { evaluator, counted } of this.#countable) {
      const own = names.filter(evaluator.counts);
      if (own.length === 0) continue;
      if (!counted || counted.state === 'unlisted') return undefined;
      if (counted.state === 'unreadable') continue;
      const usage = await counted.usage(namespaceOf(key), quota, nowMs);
      addTo(seen, new Map(own.map((name) => [name, usage.get(name) ?? zero])));
    }
    addTo(seen, among(pending, seen));
    for (const [name, quantity] of seen) used.set(name, quantity);
    return used;
  }

  /** Rejects if somebody else wrote the quota meanwhile. */
  async #write(key: string, { object, name, wanted }: Quota, used: Amounts): Promise<void> {
    const { namespace } = object.metadata;
    const path = resourcePath({ resource: 'resourcequotas', namespace, name, subresource: 'status' });
    const status = { hard: textsOf(wanted), used: textsOf(used) };
    const written = this.#written.get(key);
    if (written) written.isWriting = true;
    try {
      const { metadata } = await this.#context.client.update(path, { ...object, status }, this.#held.signal);
      if (written) written.ownRevision = Number(metadata.resourceVersion);
    } catch (error) {
      if (!isAbsence(error)) throw error;
    } finally {
      if (written) {
        written.isWriting = false;
        this.#takeRaised(key, written);
      }
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
