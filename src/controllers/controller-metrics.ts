import type { Closable } from '../base/disposable.ts';
import type { Gauge, Metrics } from '../base/metrics.ts';
import { WorkQueueMetrics } from '../client/work-queue-metrics.ts';
import type { PublishOutcome } from './publish-outcome.ts';
import { JobMetrics } from './workloads/job-metrics.ts';

/** Powers of two from a millisecond on, in seconds. */
const publishBuckets = Array.from({ length: 15 }, (_, power) => 0.001 * 2 ** power);

/** `passes`: what is counted, for the help text. */
function publisherMetrics(metrics: Metrics, publisher: string, passes: string): (outcome: PublishOutcome) => void {
  const labels = ['code'] as const;
  const total = metrics.counter({
    ...{ name: `${publisher}_sync_total`, labels },
    help: `${passes}, by the status that they ended with.`,
  });
  const durations = metrics.histogram({
    ...{ name: `${publisher}_sync_duration_seconds`, labels, buckets: publishBuckets },
    help: `${passes}: how long they take.`,
  });
  return ({ code, seconds }) => {
    total.add({ code });
    durations.observe({ code }, seconds);
  };
}

/** Metrics of a program that runs controllers, under the names of kube-controller-manager. */
export class ControllerMetrics {
  readonly queues: WorkQueueMetrics;
  /** Count a pass of the publisher of the root CA, and of the publisher of the trust bundle. */
  readonly rootCaPublished: (outcome: PublishOutcome) => void;
  readonly trustBundlePublished: (outcome: PublishOutcome) => void;
  readonly jobs: JobMetrics;
  readonly #running: Gauge<'manager' | 'name'>;
  readonly #leading: Gauge<'name'>;
  readonly #manager: string;
  /** Instances of each controller: scopes have their own. */
  readonly #instances = new Map<string, number>();

  /** `manager` is the name of the program in its dialect. */
  constructor(metrics: Metrics, manager: string) {
    this.#manager = manager;
    this.queues = new WorkQueueMetrics(metrics);
    this.jobs = new JobMetrics(metrics);
    const [namespaces, bundle] = ['of the root CA over a namespace', 'of the trust bundle of the server'];
    this.rootCaPublished = publisherMetrics(metrics, 'root_ca_cert_publisher', `Passes of the publisher ${namespaces}`);
    this.trustBundlePublished = publisherMetrics(
      metrics,
      'clustertrustbundle_publisher',
      `Passes of the publisher ${bundle}`,
    );
    this.#running = metrics.gauge({
      name: 'running_managed_controllers',
      help: 'Which controllers run here: 1 if one does, 0 once it has been stopped.',
      labels: ['manager', 'name'],
    });
    this.#leading = metrics.gauge({
      name: 'leader_election_master_status',
      common: true,
      help: 'Whether this program holds the lease of that name: 1 if it leads, 0 if it stands by.',
      labels: ['name'],
    });
  }

  /** Counts a controller as running until the result is closed. */
  runs(name: string): Closable {
    this.#count(name, 1);
    return { close: () => this.#count(name, -1) };
  }

  /** Names of the controllers that run. */
  get running(): readonly string[] {
    return [...this.#instances].filter(([, instances]) => instances > 0).map(([name]) => name);
  }

  #count(name: string, change: 1 | -1): void {
    const instances = (this.#instances.get(name) ?? 0) + change;
    this.#instances.set(name, instances);
    this.#running.set({ manager: this.#manager, name }, instances > 0 ? 1 : 0);
  }

  /** `lease` is the name of the lease. */
  leads(lease: string, isLeading: boolean): void {
    this.#leading.set({ name: lease }, isLeading ? 1 : 0);
  }
}
