import type { Closable } from '../../base/disposable.ts';
import { WorkSlices } from '../../base/time/work-slices.ts';
import type { ObjectEvent } from '../../client/api-client.ts';
import { type DiscoveredResource, pathOf } from '../../client/discovery-client.ts';
import { readMetadata, readMetadataEvent } from '../../client/read-metadata.ts';
import { reflect } from '../../client/reflector.ts';
import { type Amounts, addTo, describeAmounts, excess } from '../../kinds/quota/amounts.ts';
import { type Evaluator, type Measured, usageAt } from '../../kinds/quota/evaluator.ts';
import { isInScopes, type Quota } from '../../kinds/quota/quota.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { Quantity } from '../../meta/quantity.ts';
import type { ControllerContext } from '../controller.ts';

interface CountedObjectsOptions extends Pick<ControllerContext, 'clock' | 'random' | 'logger' | 'reader'> {
  readonly resource: DiscoveredResource;
  readonly evaluator: Evaluator;
  /** Called when an object of the namespace is gone, or uses something else than before. */
  readonly changed: (namespace: string) => void;
  /** Called when an object comes that was not there when all were listed first, or uses more than before. */
  readonly grown: (growth: Growth) => void;
  /** Called when all objects were listed, and when that failed. */
  readonly settled: () => void;
}

/** What an object uses more than before. */
export interface Growth {
  readonly namespace: string;
  readonly measured: Measured;
  readonly more: Amounts;
  readonly revision: number;
}

/** The objects of a namespace. */
interface Content {
  readonly byName: Map<string, Measured>;
  /** How many there are of each measure: most objects of a namespace are alike. */
  readonly counts: Map<Measured, number>;
}

const stepsPerSlice = 500;
const modifiedEvent = '{"type":"MODIFIED"';

/** What the objects of one resource use, followed by a watch. Of each object its measure is kept, and equal ones once. */
export class CountedObjects implements Closable {
  readonly #options: CountedObjectsOptions;
  readonly #stop = new AbortController();
  readonly #slices = new WorkSlices(stepsPerSlice);
  readonly #byNamespace = new Map<string, Content>();
  /** Equal measures are one object, for as long as one is in use. */
  readonly #known = new Map<string, { readonly measured: Measured; uses: number }>();
  readonly #texts = new WeakMap<Measured, string>();
  #state: 'unlisted' | 'unreadable' | 'listed' = 'unlisted';

  constructor(options: CountedObjectsOptions) {
    this.#options = options;
    const { evaluator, resource, reader } = options;
    void reflect<Seen>({
      ...options,
      client: reader,
      path: pathOf(resource, ''),
      signal: this.#stop.signal,
      select: (object) => seen(object, evaluator.measure(object)),
      listed: (items) => this.#listed(items),
      changed: (event) => this.#changed(event),
      failed: () => this.#failed(),
      ...(evaluator.reads === 'metadata' && {
        skip: (line) => line.includes(modifiedEvent),
        read: readMetadataEvent,
        readItem: readMetadata,
      }),
    });
  }

  get evaluator(): Evaluator {
    return this.#options.evaluator;
  }

  /** `unreadable`: what is used cannot be known for now. */
  get state(): 'unlisted' | 'unreadable' | 'listed' {
    return this.#state;
  }

  /** What the objects use that a quota counts. */
  async usage(namespace: string, quota: Quota, nowMs: number): Promise<Amounts> {
    const usage = new Map<string, Quantity>();
    for (const [measured, count] of this.#byNamespace.get(namespace)?.counts ?? []) {
      const step = this.#slices.step();
      if (step) await step;
      if (isInScopes(quota, measured)) addTo(usage, times(usageAt(measured, nowMs), count));
    }
    return usage;
  }

  async #listed(items: readonly Seen[]): Promise<void> {
    const found = new Map<string, Set<string>>();
    for (const each of items) {
      await this.#slices.step();
      const { namespace, name } = each;
      found.set(namespace, (found.get(namespace) ?? new Set()).add(name));
      this.#set(each);
    }
    for (const [namespace, { byName }] of [...this.#byNamespace]) {
      for (const name of [...byName.keys()]) {
        await this.#slices.step();
        if (!found.get(namespace)?.has(name)) this.#set({ namespace, name, measured: undefined, revision: 0 });
      }
    }
    this.#state = 'listed';
    this.#options.settled();
  }

  #failed(): void {
    if (this.#state !== 'unlisted') return;
    this.#state = 'unreadable';
    this.#options.settled();
  }

  #changed({ type, object }: ObjectEvent): void {
    this.#set(seen(object, type === 'DELETED' ? undefined : this.#options.evaluator.measure(object)));
  }

  #set({ namespace, name, measured, revision }: Seen): void {
    const content = this.#byNamespace.get(namespace) ?? { byName: new Map(), counts: new Map() };
    const before = content.byName.get(name);
    const now = measured && this.#share(measured);
    if (before) this.#release(before);
    if (now === before) return;
    if (before) addCount(content.counts, before, -1);
    if (now) {
      addCount(content.counts, now, 1);
      this.#byNamespace.set(namespace, content);
      content.byName.set(name, now);
    } else {
      content.byName.delete(name);
      if (content.byName.size === 0) this.#byNamespace.delete(namespace);
    }
    if (before) this.#options.changed(namespace);
    if (!now || this.#state === 'unlisted') return;
    const more = excess(now.usage, before?.usage ?? new Map());
    if (more.size > 0) this.#options.grown({ namespace, measured: now, more, revision });
  }

  #share(measured: Measured): Measured {
    const text = textOf(measured);
    const known = this.#known.get(text) ?? { measured, uses: 0 };
    known.uses++;
    this.#known.set(text, known);
    this.#texts.set(known.measured, text);
    return known.measured;
  }

  #release(measured: Measured): void {
    const text = this.#texts.get(measured) ?? '';
    const known = this.#known.get(text);
    if (known && --known.uses === 0) this.#known.delete(text);
  }

  close(): void {
    this.#stop.abort(new Error('no quota counts these objects'));
  }
}

interface Seen {
  readonly namespace: string;
  readonly name: string;
  readonly revision: number;
  /** Undefined: it is gone. */
  readonly measured: Measured | undefined;
}

const seen = ({ metadata: { namespace = '', name = '', resourceVersion } }: ApiObject, measured?: Measured): Seen => ({
  ...{ namespace, name, measured },
  revision: Number(resourceVersion),
});

function addCount(counts: Map<Measured, number>, measured: Measured, added: 1 | -1): void {
  const count = (counts.get(measured) ?? 0) + added;
  if (count === 0) counts.delete(measured);
  else counts.set(measured, count);
}

const times = (amounts: Amounts, count: number): Amounts =>
  new Map([...amounts].map(([name, { nanos, family }]) => [name, { nanos: nanos * BigInt(count), family }]));

/** The same for equal measures. */
const textOf = ({ usage, later, scopes }: Measured): string =>
  JSON.stringify([
    describeAmounts(usage),
    ...(later ? [later.fromMs, describeAmounts(later.usage)] : []),
    ...(scopes ? [[...scopes.plain].sort(), scopes.values] : []),
  ]);
