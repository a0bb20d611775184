import { limits } from '../../../base/limits.ts';
import type { Random } from '../../../base/random.ts';
import type { Span, SpanAttributes } from '../../../base/span.ts';
import type { Exchange } from '../../../http/exchange.ts';
import { loggedTarget } from '../../../http/logged-target.ts';
import {
  parentHeader,
  parseTraceParent,
  type RemoteSpan,
  stateHeader,
} from '../../../outbound/tracing/trace-context.ts';
import type { Tracer } from '../../../outbound/tracing/tracer.ts';
import type { ResourceRequest } from '../../../request/request-info.ts';
import { groupMasters, groupMonitoring } from '../../../request/user-info.ts';
import { resourceVerbLabel } from '../observe/verb-label.ts';
import type { RequestContext } from '../request-context.ts';
import { Sampler } from './sampler.ts';

interface RequestTracerOptions {
  readonly tracer: Tracer;
  readonly samplingRatePerMillion: number;
  readonly random: Random;
}

/**
 * Decides which requests are traced, and starts their spans. The rate decides about every request, but for those of
 * callers who may continue a trace of their own: members of `system:masters` and `system:monitoring`, as in
 * kube-apiserver since 1.33. The `traceparent` of anybody else is noted as a link of the span and decides nothing, since
 * whoever can make a server record all of his requests can fill the collector and slow the server down.
 */
export class RequestTracer {
  readonly #tracer: Tracer;
  readonly #sampler: Sampler;

  constructor({ tracer, samplingRatePerMillion, random }: RequestTracerOptions) {
    this.#tracer = tracer;
    this.#sampler = new Sampler(samplingRatePerMillion / 1_000_000, random);
  }

  /** Before authentication: of a request that does not name a trace, it does not matter who sends it. */
  receive(context: RequestContext): void {
    context.traceParent = context.exchange.header(parentHeader);
    if (context.traceParent === undefined && this.#sampler.take()) this.#start(context, {});
  }

  /** After authentication. What the sender is counts, not whom he impersonates. */
  identify(context: RequestContext): void {
    const { exchange, user, traceParent } = context;
    if (traceParent === undefined) return;
    const named = parseTraceParent(traceParent);
    if (named && mayContinue(user.groups)) {
      if (named.sampled) this.#start(context, { parent: { ...named, state: exchange.header(stateHeader) } });
    } else if (this.#sampler.take()) {
      this.#start(context, { link: named });
    }
  }

  #start(
    context: RequestContext,
    relation: { readonly parent?: RemoteSpan; readonly link?: RemoteSpan | undefined },
  ): void {
    const { exchange, receivedMs: startedMs } = context;
    const attributes = requestAttributes(context);
    const span = this.#tracer.start(nameOf(context), { startedMs, attributes, ...relation });
    context.rootSpan = span;
    exchange.span = span;
    exchange.onEnd(() => endRequest(context, span));
  }
}

/** Groups whose members may make the server record a trace. */
const privileged: ReadonlySet<string> = new Set([groupMasters, groupMonitoring]);
const mayContinue = (groups: readonly string[]): boolean => groups.some((group) => privileged.has(group));

function endRequest({ exchange, verbSpan }: RequestContext, span: Span): void {
  const { status, bodyBytes } = exchange;
  verbSpan?.end();
  span.set({ 'http.status_code': status, 'http.wrote_bytes': bodyBytes });
  if (bodyBytes > 0) span.set({ 'http.response_content_length': bodyBytes });
  if (status >= 500) span.fail();
  span.end();
}

/** As in kube-apiserver: the method, and the path of an API with placeholders. */
const nameOf = ({ info, exchange: { method } }: RequestContext): string =>
  bounded(info.type === 'resource' ? `${method} ${patternOf(info)}` : method);

function patternOf(info: ResourceRequest): string {
  const { group, version, namespace, resource, subresource } = info;
  const parts = [
    ...(group === '' ? ['api'] : ['apis', group]),
    version,
    ...(namespace === '' ? [] : ['namespaces', '{:namespace}']),
    resource,
    ...(nameInPath(info) === '' ? [] : ['{:name}']),
    ...(subresource === '' ? [] : [subresource]),
  ];
  return `/${parts.join('/')}`;
}

/** Without a name that only a field selector requires. */
function nameInPath({ verb, name, watchPath }: ResourceRequest): string {
  const ofCollection = verb === 'list' || verb === 'watch' || verb === 'deletecollection';
  return ofCollection ? (watchPath?.name ?? '') : name;
}

/** Of the server's span, as kube-apiserver names them. Unlike there, no part of the query is among them. */
function requestAttributes({ exchange, auditId }: RequestContext): SpanAttributes {
  const { address, port } = exchange.peer;
  return {
    'audit-id': bounded(auditId),
    'http.method': bounded(exchange.method),
    'http.target': pathOf(exchange.target),
    'http.scheme': 'https',
    ...sentLength(exchange),
    ...hostOf(exchange),
    'net.protocol.version': exchange.protocol.slice('HTTP/'.length),
    'net.sock.peer.addr': address,
    'net.sock.peer.port': port,
    'user_agent.original': bounded(exchange.header('user-agent') ?? ''),
  };
}

function sentLength(exchange: Exchange): SpanAttributes {
  const length = Number(exchange.header('content-length') ?? 0);
  return length > 0 ? { 'http.request_content_length': length } : {};
}

/** The server as the client names it; the port where it does not go without saying. */
function hostOf(exchange: Exchange): SpanAttributes {
  const [, name = '', port] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(exchange.header('host') ?? '') ?? [];
  if (name === '') return {};
  return {
    'net.host.name': bounded(name.replace(/^\[|\]$/g, '')),
    ...(port !== undefined && port !== '443' && { 'net.host.port': Number(port) }),
  };
}

const verbNames: Readonly<Record<ResourceRequest['verb'], string>> = {
  get: 'Get',
  list: 'List',
  watch: 'List',
  create: 'Create',
  update: 'Update',
  patch: 'Patch',
  delete: 'Delete',
  deletecollection: 'Delete',
};

/** What the span of an answer's encoding says, with the names of kube-apiserver. */
export const serializeAttributes = ({ exchange, auditId }: RequestContext, mediaType: string): SpanAttributes => ({
  'audit-id': bounded(auditId),
  method: bounded(exchange.method),
  url: pathOf(exchange.target),
  protocol: exchange.protocol,
  mediaType,
});

/** Starts the span of a verb: name and attributes are those of kube-apiserver. A watch is a `List` there, too. */
export function startVerb({ exchange, operation, auditId }: RequestContext, span: Span): Span | undefined {
  if (operation?.type !== 'resource') return undefined;
  const { info, form } = operation;
  return span.child(verbNames[info.verb], {
    accept: bounded(exchange.header('accept') ?? ''),
    'audit-id': bounded(auditId),
    client: exchange.peer.address,
    'api-group': info.group,
    'api-version': info.version,
    name: bounded(nameInPath(info)),
    subresource: info.subresource,
    namespace: bounded(info.namespace),
    protocol: exchange.protocol,
    resource: info.resource,
    scope: scopeOf(info),
    url: pathOf(exchange.target),
    'user-agent': bounded(exchange.header('user-agent') ?? ''),
    verb: resourceVerbLabel(info.verb, form),
  });
}

function scopeOf(info: ResourceRequest): string {
  const { namespace, verb } = info;
  if (nameInPath(info) !== '' || verb === 'create') return 'resource';
  return namespace === '' ? 'cluster' : 'namespace';
}

const pathOf = (target: string): string => {
  const [path = ''] = target.split('?', 1);
  return bounded(loggedTarget(path));
};

/** A copy, so that no longer text is kept by a span that waits. */
const bounded = (text: string): string =>
  text.length <= limits.traceTextCharactersMax
    ? text
    : Buffer.from(text.slice(0, limits.traceTextCharactersMax)).toString();
