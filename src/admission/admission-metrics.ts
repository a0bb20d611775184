import type { Histogram, HistogramSeries, Metrics } from '../base/metrics.ts';
import type { Clock } from '../base/time/clock.ts';
import type { Admission, AdmissionAttributes, AdmissionOperation } from '../request/admission.ts';
import type { AdmissionPlugin } from './chain.ts';

/** `admit` mutates, `validate` does not. */
type Step = 'admit' | 'validate';

const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5];
const stepLabels = ['type', 'operation', 'rejected'] as const;

/** Measures admission: the durations of plugins and of whole steps, under the metric names of kube-apiserver. */
interface AdmissionMetrics {
  plugin(plugin: AdmissionPlugin): AdmissionPlugin;
  chain(chain: Admission): Admission;
}

export function admissionMetrics(metrics: Metrics, clock: Clock): AdmissionMetrics {
  const plugins = metrics.histogram({
    name: 'apiserver_admission_controller_admission_duration_seconds',
    stability: 'STABLE',
    help: 'Duration of an admission plugin, for the writes that concern it.',
    labels: ['name', ...stepLabels],
    buckets,
  });
  const steps = metrics.histogram({
    name: 'apiserver_admission_step_admission_duration_seconds',
    stability: 'STABLE',
    help: 'Duration of a step of admission: all plugins that mutate, or that validate.',
    labels: stepLabels,
    buckets,
  });
  return {
    plugin(plugin) {
      const times = new Times(clock, (labels) => plugins.of({ name: plugin.name, ...labels }));
      const { mutate, mutators, validate } = plugin;
      return {
        ...plugin,
        ...((mutate || mutators) && { measureMutation: (attributes, run) => times.measure('admit', attributes, run) }),
        ...(validate && { validate: (attributes) => times.measure('validate', attributes, validate) }),
      };
    },
    chain(chain) {
      const times = new Times(clock, (labels) => steps.of(labels));
      return {
        mutate: (attributes) => times.measure('admit', attributes, chain.mutate),
        validate: (attributes) => times.measure('validate', attributes, chain.validate),
      };
    },
  };
}

type StepLabels = Parameters<Histogram<(typeof stepLabels)[number]>['of']>[0];
type Work = (attributes: AdmissionAttributes) => Promise<void> | void;

const operations: readonly AdmissionOperation[] = ['create', 'update', 'delete', 'connect'];

/** The series of one plugin, or of the chain, found by a small number. */
class Times {
  readonly #clock: Clock;
  readonly #make: (labels: StepLabels) => HistogramSeries;
  readonly #series: (HistogramSeries | undefined)[] = [];

  constructor(clock: Clock, make: (labels: StepLabels) => HistogramSeries) {
    this.#clock = clock;
    this.#make = make;
  }

  measure(type: Step, attributes: AdmissionAttributes, work: Work): Promise<void> | void {
    const sinceMs = this.#clock.monotonic();
    const done = (rejected: boolean): void => {
      this.#of(type, attributes.operation, rejected).observe((this.#clock.monotonic() - sinceMs) / 1000);
    };
    const fail = (error: unknown): never => {
      done(true);
      throw error;
    };
    let waiting: Promise<void> | void;
    try {
      waiting = work(attributes);
    } catch (error) {
      return fail(error);
    }
    if (!waiting) return done(false);
    return waiting.then(() => done(false), fail);
  }

  #of(type: Step, operation: AdmissionOperation, rejected: boolean): HistogramSeries {
    const at = operations.indexOf(operation) * 4 + (type === 'admit' ? 0 : 2) + (rejected ? 1 : 0);
    const known = this.#series[at];
    if (known) return known;
    const made = this.#make({ type, operation: operation.toUpperCase(), rejected: String(rejected) });
    this.#series[at] = made;
    return made;
  }
}
