import { getOrAdd } from '../../../base/collections/get-or-add.ts';
import type { Counter, Gauge, Histogram, HistogramSeries, Metrics } from '../../../base/metrics.ts';
import type { BodyForm } from '../../../content/body.ts';
import { qualifiedResource } from '../../../meta/status-error.ts';
import type { ResourceRequest, ResourceVerb } from '../../../request/request-info.ts';
import type { ServedResource } from '../../../resources/resource.ts';
import { serverUser } from '../../upkeep/bootstrap.ts';
import type { RequestContext } from '../request-context.ts';
import type { Outcome, RequestObserver } from './request-observer.ts';
import { scopeIndex, scopeLabels } from './scope-label.ts';
import { connectLabel, methodLabel, resourceVerbLabel, resourceVerbLabels } from './verb-label.ts';

/** Counts work that a request left behind when its time was over. */
export function workAfterTimeout(metrics: Metrics): (result: 'ok' | 'error') => void {
  const counter = metrics.counter({
    name: 'apiserver_request_post_timeout_total',
    help: 'Work that ended after its request had timed out, by result.',
    labels: ['source', 'status'],
  });
  return (status) => counter.add({ source: 'rest-handler', status });
}

/** The buckets of kube-apiserver. */
const durationBuckets = [
  ...[0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60],
];
const sliBuckets = durationBuckets.slice(2);
const bodyBuckets = Array.from({ length: 31 }, (_, at) => 50_000 + at * 100_000);
const sizeBuckets = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

const endpointLabels = ['verb', 'group', 'version', 'resource', 'subresource', 'scope'] as const;
const componentLabels = [...endpointLabels, 'component'] as const;
const requestLabels = [...componentLabels, 'dry_run'] as const;

type EndpointLabels = Readonly<Record<(typeof endpointLabels)[number], string>>;
type RequestLabels = Readonly<Record<(typeof requestLabels)[number], string>>;

const verbIndex = new Map(resourceVerbLabels.map((verb, at) => [verb, at]));
const dryRuns = ['', 'All', 'invalid'] as const;

/** The series of one kind of request, each created when first used. */
class Endpoint {
  readonly #families: Families;
  readonly #labels: RequestLabels;
  readonly #codes = new Map<number, { add(by?: number): void }>();
  #durations: HistogramSeries | undefined;
  #sliDurations: HistogramSeries | undefined;
  #sizes: HistogramSeries | undefined;
  #bodySizes: HistogramSeries | undefined;
  readonly #bodyLabels: BodyLabels | undefined;

  constructor(families: Families, labels: RequestLabels, bodyLabels?: BodyLabels) {
    this.#families = families;
    this.#labels = labels;
    this.#bodyLabels = bodyLabels;
  }

  ended({ status, bytes, durationMs, ending }: Outcome, context: RequestContext): void {
    const [families, labels] = [this.#families, this.#labels];
    const { waitedMs, terminated } = context;
    getOrAdd(this.#codes, status, () => families.total.of({ ...labels, code: String(status) })).add();
    this.#durations ??= families.durations.of(labels);
    this.#durations.observe(durationMs / 1000);
    this.#sliDurations ??= families.sliDurations.of(labels);
    this.#sliDurations.observe((durationMs - waitedMs) / 1000);
    if (labels.verb === 'GET' || labels.verb === 'LIST') {
      this.#sizes ??= families.sizes.of(labels);
      this.#sizes.observe(bytes);
    }
    families.fieldValidation(context.info.query).observe(durationMs / 1000);
    const bodyBytes = context.ticket?.bodyBytes;
    if (bodyBytes !== undefined && this.#bodyLabels) {
      this.#bodySizes ??= families.bodySizes.of(this.#bodyLabels);
      this.#bodySizes.observe(bodyBytes);
    }
    if (context.user.username === serverUser.username) families.own.add(labels);
    if (ending === 'cutOff') families.aborts.add(labels);
    if (terminated) families.terminations.add({ ...labels, code: String(status) });
  }

  longRunning(by: 1 | -1): void {
    this.#families.longRunning.add(this.#labels, by);
  }
}

interface BodyLabels {
  readonly resource: string;
  readonly verb: string;
}

interface Families {
  readonly fieldValidation: (query: URLSearchParams) => HistogramSeries;
  readonly bodySizes: Histogram<keyof BodyLabels>;
  readonly own: Counter<'verb' | 'resource' | 'subresource'>;
  readonly total: Counter<(typeof requestLabels)[number] | 'code'>;
  readonly durations: Histogram<(typeof requestLabels)[number]>;
  readonly sliDurations: Histogram<(typeof componentLabels)[number]>;
  readonly sizes: Histogram<(typeof componentLabels)[number]>;
  readonly aborts: Counter<(typeof endpointLabels)[number]>;
  readonly terminations: Counter<(typeof componentLabels)[number] | 'code'>;
  readonly longRunning: Gauge<(typeof componentLabels)[number]>;
}

function families(metrics: Metrics): Families {
  const made = {
    fieldValidation: fieldValidationTimes(metrics),
    bodySizes: metrics.histogram({
      name: 'apiserver_request_body_size_bytes',
      help: 'Bytes of request bodies, after content encoding.',
      labels: ['resource', 'verb'],
      buckets: bodyBuckets,
    }),
    own: metrics.counter({
      name: 'apiserver_selfrequest_total',
      help: 'Requests of the server to itself.',
      labels: ['verb', 'resource', 'subresource'],
    }),
    total: metrics.counter({
      name: 'apiserver_request_total',
      stability: 'STABLE',
      help: 'Completed requests. Code 0: the client went away before the response.',
      labels: [...requestLabels, 'code'],
    }),
    durations: metrics.histogram({
      name: 'apiserver_request_duration_seconds',
      stability: 'STABLE',
      help: 'Time from the headers of a request until its client had the response. Watches count while they are open.',
      labels: requestLabels,
      buckets: durationBuckets,
    }),
    sliDurations: metrics.histogram({
      name: 'apiserver_request_sli_duration_seconds',
      help: 'Duration of requests without the time that they waited for a seat.',
      labels: componentLabels,
      buckets: sliBuckets,
    }),
    sizes: metrics.histogram({
      name: 'apiserver_response_sizes',
      stability: 'STABLE',
      help: 'Bytes of the response bodies of reads, as sent.',
      labels: componentLabels,
      buckets: sizeBuckets,
    }),
    aborts: metrics.counter({
      name: 'apiserver_request_aborts_total',
      help: 'Responses that the server cut off.',
      labels: endpointLabels,
    }),
    terminations: metrics.counter({
      name: 'apiserver_request_terminations_total',
      help: 'Requests that the server ended to protect itself: no seat (429) or timeout (504).',
      labels: [...componentLabels, 'code'],
    }),
    longRunning: metrics.gauge({
      name: 'apiserver_longrunning_requests',
      stability: 'STABLE',
      help: 'Open watches and connections to nodes and pods.',
      labels: componentLabels,
    }),
  };
  metrics.formerName({
    name: 'apiserver_request_slo_duration_seconds',
    deprecatedIn: '1.27',
    of: 'apiserver_request_sli_duration_seconds',
  });
  return made;
}

/** Durations by the value of the query parameter `fieldValidation`; '' if it is absent. */
function fieldValidationTimes(metrics: Metrics): Families['fieldValidation'] {
  const times = metrics.histogram({
    name: 'field_validation_request_duration_seconds',
    help: 'Duration of requests, by the field validation that they ask for.',
    labels: ['field_validation'],
    buckets: sliBuckets,
  });
  const of = (value: string) => times.of({ field_validation: value });
  const [absent, invalid] = [of(''), of('invalid')];
  const asked = new Map(['Ignore', 'Warn', 'Strict'].map((value) => [value, of(value)]));
  return (query) => {
    if (query.size === 0) return absent;
    const values = query.getAll('fieldValidation');
    if (values.length === 0) return absent;
    return (values.length === 1 && asked.get(values[0] ?? '')) || invalid;
  };
}

/**
 * Request metrics with the names of kube-apiserver. Every request is counted with its status. Labels hold nothing that
 * a client can invent (CVE-2020-8552): all unserved resources, subresources and paths share one series. Series are
 * looked up by served resource and small integers, without building strings.
 */
export class RequestMetrics implements RequestObserver {
  readonly #families: Families;
  readonly #find: (info: ResourceRequest) => ServedResource | undefined;
  /** By served resource, subresource, and an index of verb, scope and dry run. */
  readonly #resources = new WeakMap<ServedResource, Map<string, Endpoint[]>>();
  /** By first path segment and verb: paths with a handler, and '' for everything that is not served. */
  readonly #paths = new Map<string, Map<string, Endpoint>>();

  /** `find` looks up the served resource of requests that were refused before the pipeline did. */
  constructor(metrics: Metrics, find: (info: ResourceRequest) => ServedResource | undefined) {
    this.#families = families(metrics);
    this.#find = find;
  }

  readonly answered = (context: RequestContext): void => {
    if (!context.ticket?.longRunning || context.exchange.ending !== undefined) return;
    const endpoint = this.#endpoint(context);
    endpoint.longRunning(1);
    context.exchange.onEnd(() => endpoint.longRunning(-1));
  };

  readonly ended = (context: RequestContext, outcome: Outcome): void => this.#endpoint(context).ended(outcome, context);

  #endpoint({ info, operation, exchange }: RequestContext): Endpoint {
    if (operation?.type === 'resource') return this.#resourceEndpoint(operation.served, operation.info, operation.form);
    if (operation?.type === 'connect') return this.#resourceEndpoint(operation.served, operation.info, undefined);
    if (operation?.type === 'path') return this.#pathEndpoint(firstSegment(operation.path), exchange.method);
    const served = info.type === 'resource' ? this.#find(info) : undefined;
    if (info.type !== 'resource' || !served || !hasSubresource(served, info.subresource)) {
      return this.#pathEndpoint('', exchange.method);
    }
    return this.#resourceEndpoint(served, info, undefined);
  }

  #resourceEndpoint(served: ServedResource, info: ResourceRequest, form: BodyForm | undefined): Endpoint {
    const bySubresource = getOrAdd(this.#resources, served, () => new Map<string, Endpoint[]>());
    const endpoints = getOrAdd(bySubresource, info.subresource, () => []);
    const scope = scopeIndex(info);
    const dryRun = dryRunOf(info);
    const verb = isConnect(served, info.subresource) ? connectLabel : resourceVerbLabel(info.verb, form);
    const at = ((verbIndex.get(verb) ?? 0) * scopeLabels.length + scope) * dryRuns.length + dryRun;
    let endpoint = endpoints[at];
    if (!endpoint) {
      const { group, version, resource } = served.kind;
      endpoint = new Endpoint(
        this.#families,
        {
          ...{ verb, group, version, resource, subresource: info.subresource },
          scope: scopeLabels[scope],
          component: 'apiserver',
          dry_run: dryRuns[dryRun] ?? '',
        },
        { resource: qualifiedResource(served.kind), verb: bodyVerb(info.verb) },
      );
      endpoints[at] = endpoint;
    }
    return endpoint;
  }

  /** The path goes into the label `subresource`, as in kube-apiserver. */
  #pathEndpoint(path: string, method: string): Endpoint {
    const verb = methodLabel(method);
    const byVerb = getOrAdd(this.#paths, path, () => new Map<string, Endpoint>());
    return getOrAdd(byVerb, verb, () => {
      const labels: EndpointLabels = { verb, group: '', version: '', resource: '', subresource: path, scope: '' };
      return new Endpoint(this.#families, { ...labels, component: '', dry_run: '' });
    });
  }
}

const bodyVerb = (verb: ResourceVerb): string => (verb === 'deletecollection' ? 'delete_collection' : verb);

/** The first segment of a handled path: paths below it are counted together. */
function firstSegment(path: string): string {
  const end = path.indexOf('/', 1);
  return end < 0 ? path : path.slice(0, end);
}

const hasSubresource = ({ kind }: ServedResource, subresource: string): boolean =>
  subresource === '' || kind.subresources.some(({ name }) => name === subresource);

const isConnect = ({ kind }: ServedResource, subresource: string): boolean =>
  subresource !== '' && kind.subresources.some(({ name, type }) => name === subresource && type === 'connect');

/** The index of the request's dry-run value in `dryRuns`. */
function dryRunOf({ query }: ResourceRequest): number {
  if (query.size === 0) return 0;
  const values = query.getAll('dryRun');
  if (values.every((value) => value === '')) return 0;
  return values.every((value) => value === 'All') ? 1 : 2;
}
