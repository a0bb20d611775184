import type { Closable } from './disposable.ts';
import { exponentText } from './exponent-text.ts';
import { limits } from './limits.ts';
import {
  type Combine,
  combined,
  largest,
  latest,
  type MetricState,
  type MetricsState,
  type SeriesState,
  sum,
} from './metrics-state.ts';
import type { Clock } from './time/clock.ts';

/**
 * Counters, gauges and histograms in the Prometheus text format 0.0.4. Our own, because the usual library adds 15 ms to
 * every start, and because the number of series is limited: label values chosen by clients must not grow memory
 * (CVE-2020-8552).
 */
type Labels<Name extends string> = Readonly<Record<Name, string>>;

export interface Counter<Name extends string> {
  /** `by` must not be negative. */
  add(labels: Labels<Name>, by?: number): void;
  /** The series of these labels: avoids the lookup for callers that increment often. */
  of(labels: Labels<Name>): { add(by?: number): void };
}

/** A counter without labels. */
export interface Count {
  inc(): void;
}

export interface Gauge<Name extends string> {
  set(labels: Labels<Name>, value: number): void;
  add(labels: Labels<Name>, by: number): void;
  /** Removes the series, and frees its place for others. */
  remove(labels: Labels<Name>): void;
  /** As `Counter.of`. */
  of(labels: Labels<Name>): { set(value: number): void; add(by: number): void };
}

export interface Histogram<Name extends string> {
  observe(labels: Labels<Name>, value: number): void;
  /** As `Counter.of`. */
  of(labels: Labels<Name>): HistogramSeries;
}

/** One series of a histogram. */
export interface HistogramSeries {
  observe(value: number): void;
  /** The same value so many times: for what is counted on the path of every request and observed when it is looked at. */
  observeTimes(value: number, times: number): void;
}

export interface MetricDefinition<Name extends string> {
  /** Ends with its unit; names of counters end with `_total`. */
  readonly name: string;
  readonly help: string;
  readonly labels: readonly Name[];
  /** Stability level, as in Kubernetes metrics. Default: `ALPHA`. */
  readonly stability?: 'BETA' | 'STABLE';
  /**
   * All servers of a process see the same here: the largest value is shown. Default: the sum. Of state that they
   * share, and of the process.
   */
  readonly common?: boolean;
  /** The release that deprecated it: `1.28`. It is hidden some releases later: see `releasesShown`. */
  readonly deprecatedIn?: string;
}

/** What is shown of the metrics that are defined (spec section 9). */
export interface MetricsOptions {
  /** The release of this server, which decides what is hidden: `1.32`. Default: nothing is hidden. */
  readonly release?: string;
  /** Show hidden metrics too. */
  readonly showHidden?: boolean;
  /** Names of metrics that are never shown. */
  readonly disabled?: ReadonlySet<string>;
  /** Allowed values by metric and label; others become `unexpected`. */
  readonly allowedValues?: AllowedValues;
}

/** By metric, then by label. */
export type AllowedValues = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;

/** Releases in which a deprecated metric is still shown, its deprecating one included, by stability. */
const releasesShown = { ALPHA: 1, BETA: 1, STABLE: 3 } as const;

interface HistogramDefinition<Name extends string> extends MetricDefinition<Name> {
  /** Upper bounds, ascending, without infinity. */
  readonly buckets: readonly number[];
}

/** The value of every label in the series that counts everything beyond the limit. */
const overflowLabel = 'overflow';
/** The value of a label whose value is not allowed. */
const unexpectedLabel = 'unexpected';

export class Metrics implements Closable {
  readonly #metrics: Map<string, Metric>;
  readonly #collectors: (() => void)[] = [];
  readonly #refreshers: (() => Promise<void>)[] = [];
  /** Open results of `part`. */
  readonly #parts = new Set<Metrics>();
  readonly #whole: Metrics | undefined;
  readonly #options: MetricsOptions;
  #refreshing: Promise<void> | undefined;
  #states: (() => Promise<readonly MetricsState[]>) | undefined;
  #unexpected = 0;

  /** `whole` is only passed by `part`. */
  constructor(options: MetricsOptions = {}, whole?: Metrics) {
    this.#whole = whole;
    this.#options = options;
    this.#metrics = whole ? whole.#metrics : new Map();
  }

  /**
   * The same metrics, for one of several parts that define the same metrics: they count into the same series, and each
   * shows the series of all. Closing a part ends its collectors; what it has counted stays.
   */
  part(): Metrics {
    const part = new Metrics(this.#options, this);
    this.#parts.add(part);
    return part;
  }

  close(): void {
    if (this.#whole) this.#whole.#parts.delete(this);
  }

  counter<Name extends string>(definition: MetricDefinition<Name>): Counter<Name> {
    const series = this.#register('counter', definition, () => new ValueState(), { render: renderValue, ...values });
    return {
      add(labels, by = 1) {
        series.of(labels).value += by;
      },
      of: (labels) => series.of(labels),
    };
  }

  /** A counter without labels. Exported as 0 from the start, so that alerts on its increase work. */
  count(definition: Omit<MetricDefinition<never>, 'labels'>): Count {
    const series = this.counter({ ...definition, labels: [] }).of({});
    series.add(0);
    return { inc: () => series.add() };
  }

  /**
   * A counter of running totals that the caller keeps as plain numbers, for counts on the path of every request. `read`
   * runs before each rendering and returns the total of each series to show. Totals never decrease.
   */
  totals<Name extends string>(
    definition: MetricDefinition<Name>,
    read: () => Iterable<readonly [labels: Labels<Name>, total: number]>,
  ): void {
    const counter = this.counter(definition);
    const counted = new Map<string, number>();
    this.onCollect(() => {
      for (const [labels, total] of read()) {
        const key = JSON.stringify(definition.labels.map((name) => labels[name]));
        counter.add(labels, total - (counted.get(key) ?? 0));
        counted.set(key, total);
      }
    });
  }

  gauge<Name extends string>(definition: MetricDefinition<Name>): Gauge<Name> {
    const series = this.#register('gauge', definition, () => new ValueState(), { render: renderValue, ...values });
    return {
      set(labels, value) {
        series.of(labels).value = value;
      },
      remove: (labels) => series.remove(labels),
      add(labels, by) {
        series.of(labels).value += by;
      },
      of: (labels) => series.of(labels),
    };
  }

  /** A gauge that shows what was set last, at whichever server of the process. */
  latest<Name extends string>(definition: MetricDefinition<Name>, clock: Pick<Clock, 'now'>): Pick<Gauge<Name>, 'set'> {
    const series = this.#register('gauge', definition, () => new DatedState(), {
      ...{ render: renderValue, combine: latest },
      save: ({ value, atMs }) => [value, atMs],
      load: ([value = 0, atMs = 0]) => Object.assign(new DatedState(), { value, atMs }),
    });
    return { set: (labels, value) => void Object.assign(series.of(labels), { value, atMs: clock.now() }) };
  }

  histogram<Name extends string>(definition: HistogramDefinition<Name>): Histogram<Name> {
    const { buckets } = definition;
    const empty = () => new HistogramState(buckets);
    const series = this.#register('histogram', definition, empty, {
      render: (name, labels, state) => renderHistogram(name, labels, buckets, state),
      save: ({ counts, count, sum }) => [sum, count, ...counts],
      load: (numbers) => {
        const [sum = 0, count = 0, ...counts] = numbers;
        return Object.assign(empty(), { sum, count, counts });
      },
    });
    return {
      observe: (labels, value) => series.of(labels).observe(value),
      of: (labels) => series.of(labels),
    };
  }

  /** Shows the series of a histogram under a deprecated name too, which costs nothing until they are rendered. */
  formerName({
    name,
    deprecatedIn,
    of,
    stability,
  }: {
    readonly name: string;
    readonly deprecatedIn: string;
    readonly of: string;
    /** Default: that of the other name. */
    readonly stability?: Stability;
  }): void {
    const metric = this.#metrics.get(of);
    if (!metric) throw new Error(`metric ${of} is not defined`);
    if (this.#whole && this.#metrics.has(name)) return;
    const former = { ...metric, deprecatedIn, definition: { ...metric.definition, name } };
    this.#define(stability ? { ...former, stability } : former);
  }

  /** Defines metrics about the metrics, with the names of kube-apiserver. */
  countThemselves(): void {
    const { disabled = new Set() } = this.#options;
    const one = [{}] as const;
    this.totals(
      {
        name: 'registered_metrics_total',
        common: true,
        stability: 'BETA',
        help: 'Metrics that are shown, by stability and by the release that deprecated them.',
        labels: ['stability_level', 'deprecated_version'],
      },
      () => this.#registered(),
    );
    this.totals(
      {
        name: 'disabled_metrics_total',
        common: true,
        stability: 'BETA',
        help: 'Metrics that are switched off by name.',
        labels: [],
      },
      () => one.map((labels) => [labels, disabled.size]),
    );
    this.totals(
      {
        name: 'hidden_metrics_total',
        common: true,
        stability: 'BETA',
        help: 'Deprecated metrics that are hidden.',
        labels: [],
      },
      () => one.map((labels) => [labels, [...this.#metrics.values()].filter(({ hidden }) => hidden).length]),
    );
    this.totals(
      {
        name: 'cardinality_enforcement_unexpected_categorizations_total',
        help: 'Values of labels that were replaced, because they are not allowed.',
        labels: [],
      },
      () => one.map((labels) => [labels, this.#unexpected]),
    );
  }

  *#registered(): Iterable<readonly [{ stability_level: string; deprecated_version: string }, number]> {
    const shown = [...this.#metrics.values()].filter((metric) => metric.shown);
    for (const [key, metrics] of Map.groupBy(shown, ({ stability, deprecatedIn }) => `${stability} ${deprecatedIn}`)) {
      const [level = '', version = ''] = key.split(' ');
      // With a patch number, as published.
      const deprecated = version === '' ? '' : `${version}.0`;
      yield [{ stability_level: level, deprecated_version: deprecated }, metrics.length];
    }
  }

  /** Runs before each rendering, to set gauges that are cheaper to read than to keep up to date. */
  onCollect(collect: () => void): void {
    this.#collectors.push(collect);
  }

  /**
   * Runs in `refresh`, to set gauges whose value must be read asynchronously. It must not reject. Not available on
   * parts.
   */
  onRefresh(refresh: () => Promise<void>): void {
    this.#refreshers.push(refresh);
  }

  /** Reads asynchronous values. Concurrent calls share one round. */
  refresh(): Promise<void> {
    if (this.#whole) return this.#whole.refresh();
    this.#refreshing ??= Promise.all(this.#refreshers.map((refresh) => refresh()))
      .then(() => {})
      .finally(() => {
        this.#refreshing = undefined;
      });
    return this.#refreshing;
  }

  /** All metrics in the text format, sorted by name. */
  render(): string {
    return [...this.pieces()].join('');
  }

  /**
   * The same in pieces, each quick to build: there may be thousands of series. With `states`, what those have counted
   * together.
   */
  *pieces(states?: readonly MetricsState[]): Generator<string, void> {
    if (this.#whole) return yield* this.#whole.pieces(states);
    if (!states) this.#collect();
    const names = [...this.#metrics.keys()].sort();
    for (const name of names) {
      const metric = this.#metrics.get(name);
      if (metric?.shown) yield* metric.pieces(states?.flatMap((state) => state.get(metric.key)?.series ?? []));
    }
  }

  /** What is counted, as plain data. */
  state(): MetricsState {
    if (this.#whole) return this.#whole.state();
    this.#collect();
    const state = new Map<string, MetricState>();
    for (const { type, definition, shown, key, save } of this.#metrics.values()) {
      const outlives = type !== 'gauge' && !definition.common;
      if (shown && !state.has(key)) state.set(key, { outlives, series: save() });
    }
    return state;
  }

  /** Sets where the states come from of all that count the same things, this one included. */
  setStates(states: () => Promise<readonly MetricsState[]>): void {
    this.#states = states;
  }

  /** What is shown together. Undefined if nobody else counts the same things. */
  async states(): Promise<readonly MetricsState[] | undefined> {
    return this.#whole ? this.#whole.states() : this.#states?.();
  }

  #collect(): void {
    for (const collect of this.#collectors) collect();
    for (const part of this.#parts) part.#collect();
  }

  #register<Name extends string, State>(
    type: string,
    definition: MetricDefinition<Name>,
    create: () => State,
    { render: renderState, save, load, combine = sum }: StateForms<State>,
  ): SeriesSet<Name, State> {
    const known = this.#metrics.get(definition.name);
    if (known) {
      if (!this.#whole) throw new Error(`metric ${definition.name} is defined twice`);
      if (known.type !== type || known.labels.join() !== definition.labels.join()) {
        throw new Error(`metric ${definition.name} is defined in two ways`);
      }
      // Of the same type and labels.
      return known.series as SeriesSet<Name, State>;
    }
    const { name, stability = 'ALPHA', deprecatedIn = '', common = false } = definition;
    const allowed = this.#options.allowedValues?.get(name);
    const series = new SeriesSet(definition.labels, create, allowed && this.#allowedOnly(allowed));
    this.#define({
      ...{ type, labels: definition.labels, series, stability, deprecatedIn, definition },
      key: name,
      save: () => new Map([...series.states()].map(([labels, state]) => [labels, save(state)])),
      *render(shownName, all) {
        if (!all) for (const [labels, state] of series.states()) yield renderState(shownName, labels, state);
        else
          for (const [labels, numbers] of combined(all, common ? largest : combine))
            yield renderState(shownName, labels, load(numbers));
      },
    });
    return series;
  }

  #define(metric: Defined): void {
    const { type, stability, deprecatedIn, definition, render } = metric;
    const { name } = definition;
    const prefix = deprecatedIn === '' ? '' : `(Deprecated from ${deprecatedIn}) `;
    const head = `# HELP ${name} [${stability}] ${prefix}${escapeHelp(definition.help)}\n# TYPE ${name} ${type}\n`;
    const hidden = this.#isHidden(stability, deprecatedIn);
    const shown = !hidden && !this.#options.disabled?.has(name);
    this.#metrics.set(name, {
      ...{ ...metric, hidden, shown },
      *pieces(all) {
        yield head;
        yield* render(name, all);
      },
    });
  }

  #isHidden(stability: Stability, deprecatedIn: string): boolean {
    const { release, showHidden = false } = this.#options;
    if (release === undefined || deprecatedIn === '' || showHidden) return false;
    return minorOf(release) >= minorOf(deprecatedIn) + releasesShown[stability];
  }

  #allowedOnly(allowed: ReadonlyMap<string, ReadonlySet<string>>): Replace {
    const whole = this.#whole ?? this;
    return (label, value) => {
      const values = allowed.get(label);
      if (!values || values.has(value)) return value;
      whole.#unexpected++;
      return unexpectedLabel;
    };
  }
}

type Stability = keyof typeof releasesShown;

/** Of a release with major number 1. */
const minorOf = (release: string): number => Number(release.split('.')[1]);

/** Returns the value to count by for the value of a label. */
type Replace = (label: string, value: string) => string;

/** Media type of the rendered text. */
export const metricsMediaType = 'text/plain; version=0.0.4; charset=utf-8';

interface Defined {
  readonly type: string;
  readonly labels: readonly string[];
  /** A SeriesSet of the type. */
  readonly series: unknown;
  readonly stability: Stability;
  /** '' unless it is deprecated. */
  readonly deprecatedIn: string;
  readonly definition: Pick<MetricDefinition<string>, 'name' | 'help' | 'common'>;
  /** The name of its series, which a deprecated name shares. */
  readonly key: string;
  save(): SeriesState;
  /** The series under a name: its own, or those of all. */
  render(name: string, all: readonly SeriesState[] | undefined): Iterable<string>;
}

interface StateForms<State> {
  readonly render: (name: string, labels: string, state: State) => string;
  readonly save: (state: State) => readonly number[];
  readonly load: (numbers: readonly number[]) => State;
  /** How the numbers of several become one. Default: `sum`. */
  readonly combine?: Combine;
}

interface Metric extends Defined {
  readonly hidden: boolean;
  readonly shown: boolean;
  pieces(all: readonly SeriesState[] | undefined): Iterable<string>;
}

/** A series of a counter or a gauge. */
class ValueState {
  value = 0;

  add(by = 1): void {
    this.value += by;
  }

  set(value: number): void {
    this.value = value;
  }
}

/** A value that knows when it was set. */
class DatedState extends ValueState {
  atMs = 0;
}

/** How a value is saved. */
const values = {
  save: ({ value }: ValueState): readonly number[] => [value],
  load: ([value = 0]: readonly number[]): ValueState => Object.assign(new ValueState(), { value }),
};

class HistogramState implements HistogramSeries {
  readonly #bounds: readonly number[];
  /** Count of each bucket alone; cumulative counts are computed on rendering. */
  readonly counts: number[];
  count = 0;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.observeTimes(value, 1);
  }

  observeTimes(value: number, times: number): void {
    this.count += times;
    this.sum += value * times;
    const bounds = this.#bounds;
    for (let at = 0; at < bounds.length; at++) {
      if (value > (bounds[at] as number)) continue;
      this.counts[at] = (this.counts[at] as number) + times;
      return;
    }
  }
}

/** The states of one metric by label values. */
class SeriesSet<Name extends string, State> {
  readonly #names: readonly Name[];
  readonly #create: () => State;
  readonly #replace: Replace | undefined;
  /** By rendered labels. */
  readonly #states = new Map<string, State>();

  constructor(names: readonly Name[], create: () => State, replace: Replace | undefined) {
    this.#names = names;
    this.#create = create;
    this.#replace = replace;
  }

  of(labels: Labels<Name>): State {
    const replace = this.#replace;
    const key = this.#key(replace ? (name) => replace(name, labels[name]) : (name) => labels[name]);
    const found = this.#states.get(key);
    if (found) return found;
    if (this.#states.size < limits.metricSeriesMax) return this.#add(key);
    const overflow = this.#key(() => overflowLabel);
    return this.#states.get(overflow) ?? this.#add(overflow);
  }

  /** Does nothing to series that are shared by values that are not allowed. */
  remove(labels: Labels<Name>): void {
    this.#states.delete(this.#key((name) => labels[name]));
  }

  states(): Iterable<readonly [labels: string, state: State]> {
    return this.#states;
  }

  #key(value: (name: Name) => string): string {
    return this.#names.map((name) => `${name}="${escapeLabel(value(name))}"`).join(',');
  }

  #add(key: string): State {
    const state = this.#create();
    this.#states.set(key, state);
    return state;
  }
}

const renderValue = (name: string, labels: string, { value }: { readonly value: number }): string =>
  `${name}${braced(labels)} ${number(value)}\n`;

function renderHistogram(
  name: string,
  labels: string,
  buckets: readonly number[],
  state: { readonly counts: readonly number[]; readonly count: number; readonly sum: number },
): string {
  const bucket = (bound: string, count: number): string =>
    `${name}_bucket${braced([labels, `le="${bound}"`].filter((part) => part !== '').join(','))} ${count}\n`;
  let below = 0;
  const lines = buckets.map((bound, index) => {
    below += state.counts[index] ?? 0;
    return bucket(number(bound), below);
  });
  lines.push(bucket('+Inf', state.count));
  lines.push(`${name}_sum${braced(labels)} ${number(state.sum)}\n${name}_count${braced(labels)} ${state.count}\n`);
  return lines.join('');
}

const braced = (labels: string): string => (labels === '' ? '' : `{${labels}}`);

/**
 * A number as Go's clients of Prometheus write it, so that the bounds of buckets have the published text: with an exponent
 * of two digits below 1e-4 and from 1e+06 on.
 */
function number(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  const size = Math.abs(value);
  if (value === 0 || Number.isNaN(value) || (size >= 1e-4 && size < 1e6)) return String(value);
  return exponentText(value);
}

const escapeHelp = (text: string): string => text.replace(/\\/g, '\\\\').replace(/\n/g, '\\n');

const escapeLabel = (text: string): string =>
  /["\\\n]/.test(text) ? text.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n') : text;
