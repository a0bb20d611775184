import type { IssuerDiscovery } from '../../authn/service-account/issuer-discovery.ts';
import { limits } from '../../base/limits.ts';
import { LongWork } from '../../base/long-work.ts';
import type { Metrics } from '../../base/metrics.ts';
import { spanning } from '../../base/span.ts';
import type { Clock } from '../../base/time/clock.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import type { CacheEntry } from '../../cache/cache.ts';
import { cborGate } from '../../codec/cbor/format.ts';
import { bodyForm } from '../../content/body.ts';
import type { DocumentForms } from '../../content/document-forms.ts';
import type { ListRepresentation } from '../../content/formats/format.ts';
import { type Negotiated, type NegotiateOptions, Negotiator } from '../../content/negotiation.ts';
import { type Presentation, Representation } from '../../content/representation.ts';
import { sendStatus } from '../../content/status.ts';
import type { Exchange } from '../../http/exchange.ts';
import { sendList, sendPieces } from '../../http/list-stream.ts';
import { sendBytes } from '../../http/respond.ts';
import type { PathRouter } from '../../http/router.ts';
import { bodyKind } from '../../kinds/body-kind.ts';
import { outlineOf } from '../../kinds/lazy-schema.ts';
import { status as statusSchema } from '../../kinds/meta/status.ts';
import { ApiDocuments } from '../../registry/documents/documents.ts';
import { checkRequest, findSubresource, type Registry } from '../../registry/registry.ts';
import type { ListReply, ObjectReply, Reply, WatchReply } from '../../registry/reply.ts';
import type { RequestBody } from '../../registry/verb.ts';
import { isReadVerb, type ResourceRequest } from '../../request/request-info.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import type { StructSchema } from '../../schema/schema.ts';
import type { Health } from '../upkeep/health.ts';
import type { ServerConfig } from '../wiring/config.ts';
import { namesOfEnabled } from '../wiring/features.ts';
import { AuditedObjects } from './audit/audited-objects.ts';
import { encodedObject, type RequestAudit } from './audit/request-audit.ts';
import { sentIdentity } from './audit/sent-identity.ts';
import type { Connector } from './connect/connector.ts';
import type { FlowTable } from './flow-control/flow-tables.ts';
import { OverloadError } from './flow-control/too-many-requests.ts';
import type { HeavyWork } from './heavy/heavy-work.ts';
import { DeprecatedApis } from './observe/deprecated-apis.ts';
import { discoveryMetrics } from './observe/discovery-metrics.ts';
import { scopeLabel } from './observe/scope-label.ts';
import { WatchMetrics } from './observe/watch-metrics.ts';
import {
  type ConnectOperation,
  type Operation,
  type PathOperation,
  type ResourceOperation,
  seatOf,
} from './operation.ts';
import { annotate, type RequestContext } from './request-context.ts';
import { routes } from './routes.ts';
import { requiredSchema } from './schema-readiness.ts';
import { ReceivedRequest, ServedRequest } from './served-request.ts';
import { serializeAttributes } from './tracing/request-tracer.ts';
import { WatchStreams } from './watch-stream.ts';

interface ResponderParts {
  readonly config: Pick<ServerConfig, 'dialect' | 'features' | 'logger'>;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly resources: ResourceRegistry;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly heavy: HeavyWork;
  /** Connects clients to nodes and pods. */
  readonly connector: Connector;
  readonly forms: DocumentForms;
  /** `host:port` of this server for discovery documents. */
  readonly serverAddress: () => string;
  /** OIDC discovery of the service account issuer; undefined if there is none. */
  readonly issuerDiscovery: IssuerDiscovery | undefined;
  readonly flowTable: ((name: FlowTable, includeRequestDetails: boolean) => string) | undefined;
}

/** The last stage: calls the registry and sends the reply in the client's format. */
export class Responder {
  readonly #parts: ResponderParts;
  readonly #negotiator: Negotiator;
  readonly #representation: Representation;
  readonly #routes: PathRouter;
  readonly #watches: WatchStreams;
  readonly #watchMetrics: WatchMetrics;
  readonly #deprecatedApis: DeprecatedApis;
  readonly #audited: AuditedObjects;

  constructor(parts: ResponderParts) {
    const { dialect, features } = parts.config;
    this.#parts = parts;
    this.#negotiator = new Negotiator(dialect, namesOfEnabled(features));
    this.#representation = new Representation(dialect, parts.clock);
    this.#watches = new WatchStreams({ clock: parts.clock, logger: parts.config.logger });
    this.#watchMetrics = new WatchMetrics(parts.metrics);
    this.#deprecatedApis = new DeprecatedApis(parts.metrics);
    const described = { dialect, cbor: features[cborGate], issuer: parts.issuerDiscovery !== undefined };
    const aggregated = discoveryMetrics(parts.metrics);
    const documents = new ApiDocuments(described, parts.resources, parts.serverAddress, aggregated);
    this.#audited = new AuditedObjects({ ...parts, representation: this.#representation });
    this.#routes = routes({
      clock: parts.clock,
      dialect,
      documents,
      notServed: () => parts.resources.notServed(),
      health: parts.health,
      metrics: parts.metrics,
      negotiator: this.#negotiator,
      forms: parts.forms,
      heavy: parts.heavy,
      compresses: features.APIResponseCompression,
      issuerDiscovery: parts.issuerDiscovery,
      flowTable: parts.flowTable,
    });
  }

  /** Sends an error in the client's format; in JSON if the client accepts no supported format. */
  refuse(context: RequestContext, error: unknown): void {
    const { exchange, info } = context;
    if (error instanceof OverloadError) context.terminated = true;
    context.audit?.noteFailure(error);
    const { logger } = this.#parts.config;
    sendStatus(exchange, error, {
      clock: this.#parts.clock,
      logger,
      ...this.#statusFormat(exchange, info.query.get('pretty')),
    });
  }

  #statusFormat(
    exchange: Exchange,
    pretty: string | null,
  ): Partial<Pick<Negotiated, 'format' | 'mediaType' | 'pretty'>> {
    try {
      return this.#negotiator.negotiate(exchange, {
        pretty,
        representations: everyRepresentation,
        schema: statusSchema,
      });
    } catch {
      return {};
    }
  }

  /** Determines everything about a request that does not need its body. Throws if the request is invalid. */
  prepare(context: RequestContext): Operation {
    const { info, exchange } = context;
    if (info.type === 'path') return this.#preparePath(exchange.method, info.path);
    const served = this.#parts.resources.find(info.group, info.version, info.resource);
    if (!served) throw this.#parts.resources.notServed();
    checkRequest({ info, served });
    if (findSubresource(served, info.subresource)?.type === 'connect') return { type: 'connect', info, served };
    if (served.deprecation !== undefined) this.#noteDeprecation(context, served, info.subresource);
    const negotiated = this.#negotiator.negotiate(exchange, {
      pretty: info.query.get('pretty'),
      watch: info.verb === 'watch',
      representations: representationsOf(info, served),
      schema: negotiatedSchema(served, info.subresource),
    });
    return {
      type: 'resource',
      info,
      served,
      presentation: this.#representation.presentation(negotiated, served.kind, info.query, info.subresource),
      form: bodyForm(exchange, { info, served }, this.#negotiator),
      seat: seatOf(info, served, this.#parts.config.dialect),
    };
  }

  #noteDeprecation(context: RequestContext, served: ServedResource, subresource: string): void {
    const { deprecatedAuditAnnotation, removedReleaseAuditAnnotation } = this.#parts.config.dialect;
    const { removedRelease } = served.kind.deprecated ?? {};
    if (served.deprecation !== undefined) context.exchange.warn(served.deprecation);
    annotate(context, deprecatedAuditAnnotation, 'true');
    if (removedRelease !== undefined) annotate(context, removedReleaseAuditAnnotation, removedRelease);
    this.#deprecatedApis.requested(served, subresource);
  }

  #preparePath(method: string, path: string): Operation {
    return { type: 'path', path, handle: this.#routes.find(method, path) };
  }

  /** Returns a promise only if it must wait; most reads do not. */
  answer(context: RequestContext, operation: Operation): void | Promise<void> {
    if (operation.type === 'path') return this.#answerPath(context, operation);
    if (operation.type === 'connect') return this.#connect(context, operation);
    const waiting = requiredSchema(operation, this.#parts.clock);
    return waiting ? waiting.then(() => this.#answer(context, operation)) : this.#answer(context, operation);
  }

  #answerPath({ exchange, audit }: RequestContext, { handle, path }: PathOperation): void | Promise<void> {
    if (audit?.wantsResponseObject) {
      exchange.answersObject = (json) => {
        audit.responseObject = encodedObject(json);
      };
    }
    return handle(exchange, path);
  }

  async #connect(context: RequestContext, { info, served }: ConnectOperation): Promise<void> {
    const reply = await this.#parts.registry.serve(new ServedRequest(context, info, served));
    if (reply.type !== 'connect') throw new Error(`a connection was answered with a reply of type ${reply.type}`);
    if (!context.exchange.responded) await this.#parts.connector.serve(context, info, reply);
  }

  #answer(context: RequestContext, operation: ResourceOperation): void | Promise<void> {
    const { exchange } = context;
    const { info, served, form, presentation } = operation;
    const body = context.ticket?.body?.bytes;
    const reply =
      form && body
        ? this.#serveReceived(context, new ReceivedRequest(context, { info, served, form, bytes: body }))
        : this.#parts.registry.serve(new ServedRequest(context, info, served));
    if (!(reply instanceof Promise)) return this.#serialize(context, reply, presentation);
    const { audit } = context;
    if (isReadVerb(info.verb)) audit?.storeAsked();
    return reply.then((made) => {
      audit?.served();
      if (exchange.responded) return; // the deadline expired meanwhile
      return this.#serialize(context, made, presentation);
    });
  }

  /** Synchronous for small requests. */
  #serveReceived(context: RequestContext, request: ReceivedRequest): Reply | Promise<Reply> {
    const { audit } = context;
    if (audit && request.bytes.length > 0) {
      audit.requestObject = {
        bytes: () => request.bytes.length,
        encode: () => this.#audited.request(request, audit.verdict.omitManagedFields),
      };
    }
    if (request.bytes.length <= limits.lightBytesMax) return this.#serveNow(audit, request);
    const slice = new TimeSlice(this.#parts.clock, { owner: request.owner });
    if (!slice.over) return this.#serveNow(audit, request);
    // Spreads bodies that arrived together over several turns.
    return slice.next().then(() => this.#serveNow(audit, request));
  }

  #serveNow(audit: RequestAudit | undefined, request: ReceivedRequest): Reply | Promise<Reply> {
    const { heavy, registry } = this.#parts;
    if (heavy.takesWrite(request)) {
      return heavy.write(request, audit && ((sent) => audit.noteBody(sent)));
    }
    const serve = (body: RequestBody | undefined): Reply | Promise<Reply> => {
      request.body = body;
      audit?.noteBody(sentIdentity(body, request));
      const reply = registry.serve(request);
      return reply instanceof Promise ? reply.catch((error) => this.#serveLong(request, error)) : reply;
    };
    const body = heavy.body(request);
    return body instanceof Promise ? body.then(serve) : serve(body);
  }

  /** Only its checks tell that a write is heavy. */
  #serveLong(request: ReceivedRequest, error: unknown): Promise<Reply> {
    if (!(error instanceof LongWork)) throw error;
    return this.#parts.heavy.write(request);
  }

  /** Sends the reply, in a span of its own if the request is traced. */
  #serialize(context: RequestContext, reply: Reply, presentation: Presentation): void | Promise<void> {
    const { verbSpan } = context;
    if (!verbSpan) return this.#send(context, reply, presentation);
    verbSpan.event('About to write a response');
    const { mediaType } = presentation.negotiated;
    const span = verbSpan.child('SerializeObject', serializeAttributes(context, mediaType));
    const end = (): void => {
      span.end();
      verbSpan.event('Writing http response done');
    };
    return spanning({ end }, () => this.#send(context, reply, presentation));
  }

  #send(context: RequestContext, reply: Reply, presentation: Presentation): void | Promise<void> {
    const { audit } = context;
    switch (reply.type) {
      case 'object':
        if (audit?.wantsResponseObject) this.#recordObject(audit, reply, context, presentation);
        return this.#sendObject(context, reply, presentation);
      case 'status': {
        const plain: Presentation = { ...presentation, negotiated: { ...presentation.negotiated, as: 'object' } };
        const status = Buffer.from(JSON.stringify(reply.body));
        audit?.noteStatus(reply.body);
        if (audit?.wantsResponseObject) audit.responseObject = encodedObject(status);
        const body = this.#representation.object(status, plain);
        return this.#sendBytes(context, reply.status, body, presentation);
      }
      case 'list':
        if (audit?.wantsResponseObject)
          return this.#sendList(context, this.#recordList(audit, reply, context, presentation), presentation);
        return this.#sendList(context, reply, presentation);
      case 'watch':
        return this.#sendWatch(context, reply, presentation);
      case 'connect':
        throw new Error('connections are not serialized');
    }
  }

  #recordObject(
    audit: RequestAudit,
    { bytes }: ObjectReply,
    { exchange: { target } }: RequestContext,
    presentation: Presentation,
  ): void {
    const { omitManagedFields } = audit.verdict;
    audit.responseObject = {
      bytes: () => bytes.length,
      encode: () => this.#audited.object(bytes, { presentation, omitManagedFields, target }),
    };
  }

  /** The list to send instead. */
  #recordList(
    audit: RequestAudit,
    reply: ListReply,
    { exchange: { target } }: RequestContext,
    presentation: Presentation,
  ): ListReply {
    const { omitManagedFields } = audit.verdict;
    const recorded = this.#audited.record(reply);
    audit.responseObject = {
      bytes: () => this.#audited.listBytes(recorded),
      encode: () => this.#audited.list(recorded, { presentation, omitManagedFields, target }),
    };
    return recorded.reply;
  }

  #sendObject(
    context: RequestContext,
    { status, bytes }: ObjectReply,
    presentation: Presentation,
  ): void | Promise<void> {
    const { heavy } = this.#parts;
    if (!heavy.takesRepresentation(bytes, presentation)) {
      return this.#sendBytes(context, status, this.#representation.object(bytes, presentation), presentation);
    }
    const { exchange, ticket } = context;
    const { target, signal } = exchange;
    return heavy.represent(bytes, presentation, { target, signal, owner: ticket?.tenant }).then((body) => {
      if (!exchange.responded) return this.#sendBytes(context, status, body, presentation);
    });
  }

  #sendBytes(
    { exchange }: RequestContext,
    status: number,
    body: Buffer,
    { negotiated }: Presentation,
  ): void | Promise<void> {
    return sendBytes(exchange, { status, contentType: negotiated.mediaType, body, compress: this.#compresses });
  }

  /** Starts in a new turn if this one is used up: replies that waited for the same read resume together. */
  #sendList(context: RequestContext, reply: ListReply, presentation: Presentation): void | Promise<void> {
    const slice = new TimeSlice(this.#parts.clock, { owner: context.ticket?.tenant });
    if (!slice.over) return this.#sendListIn(slice, context, reply, presentation);
    return slice.next().then(() => {
      if (!context.exchange.responded) return this.#sendListIn(slice, context, reply, presentation);
    });
  }

  /** Does not wait for the rest of a list that is sent in parts, which follows as the client reads it. */
  #sendListIn(
    slice: TimeSlice,
    context: RequestContext,
    reply: ListReply,
    presentation: Presentation,
  ): void | Promise<void> {
    const { exchange, ticket } = context;
    const { mediaType } = presentation.negotiated;
    const takeCompressor = (): boolean => ticket?.holdCompressor() ?? true;
    const options = { status: 200, contentType: mediaType, compress: this.#compresses, slice, takeCompressor };
    const send = (list: ListRepresentation): void | Promise<void> => {
      const sent =
        list.type === 'items' ? sendList(exchange, list, options) : sendPieces(exchange, list.pieces, options);
      if (sent && !exchange.responded) return sent;
      sent?.catch((error) => this.refuse(context, error));
    };
    const elsewhere = this.#largeItems(context, presentation);
    const list = this.#representation.list(reply, presentation, { exchange, slice, elsewhere });
    if (!(list instanceof Promise)) return send(list);
    return list.then((made) => (exchange.responded ? undefined : send(made)));
  }

  /** Encodes items on the second thread if they would hold the event loop too long. */
  #largeItems({ exchange, ticket }: RequestContext, presentation: Presentation) {
    const { heavy } = this.#parts;
    return (entry: CacheEntry): Promise<Uint8Array> | undefined => {
      if (!isLarge(entry)) return undefined;
      const { bytes } = entry;
      if (!heavy.takesRepresentation(bytes, presentation)) return undefined;
      const { target, signal } = exchange;
      return heavy.listItem(bytes, presentation, { target, signal, owner: ticket?.tenant });
    };
  }

  #sendWatch(context: RequestContext, reply: WatchReply, presentation: Presentation): void {
    const { exchange, ticket, webSocketProtocol } = context;
    const webSocket = exchange.webSocket && { request: exchange.webSocket, protocol: webSocketProtocol };
    const { heavy } = this.#parts;
    const { target } = exchange;
    const encoding = this.#representation.watchEncoding(reply.served, presentation, {
      webSocket,
      elsewhere: {
        takes: (entry) => isLarge(entry) && heavy.takesRepresentation(entry.bytes, presentation),
        object: ({ bytes }, first, signal) =>
          heavy.eventObject(bytes, presentation, { target, signal, owner: ticket?.tenant }, first),
      },
    });
    this.#watches.serve(exchange, reply, {
      encoding,
      counts: this.#watchMetrics.of(reply.served),
      owner: ticket?.tenant,
      initialEnded: () => this.#initialEnded(context, reply.served),
    });
    if (ticket) ticket.longRunning = true;
  }

  #initialEnded({ info, receivedMs }: RequestContext, served: ServedResource): void {
    if (info.type !== 'resource') return;
    const seconds = (this.#parts.clock.monotonic() - receivedMs) / 1000;
    this.#watchMetrics.initialEnded(served, scopeLabel(info), seconds);
  }

  /** Resolves when watches can take more events; undefined if they can now. */
  get watchesBusy(): Promise<void> | undefined {
    return this.#watches.busy;
  }

  /** Ends every watch cleanly and refuses new ones, and ends connections to other servers. */
  endWatches(): void {
    this.#watches.close();
    this.#parts.connector.close();
  }

  get #compresses(): boolean {
    return this.#parts.config.features.APIResponseCompression;
  }
}

/** True if encoding may be heavy. Avoids creating a view of a small object's bytes. */
const isLarge = ({ start, end }: CacheEntry): boolean => end - start > limits.lightBytesMax;

const everyRepresentation: NonNullable<NegotiateOptions['representations']> = [
  'Table',
  'PartialObjectMetadata',
  'PartialObjectMetadataList',
];

const ofLists: NonNullable<NegotiateOptions['representations']> = ['Table', 'PartialObjectMetadataList'];
const ofObjects: NonNullable<NegotiateOptions['representations']> = ['Table', 'PartialObjectMetadata'];
const ofAnswers: NonNullable<NegotiateOptions['representations']> = ['PartialObjectMetadata'];

/** As published, a Table shows objects, also by their status and scale, but nothing that is only answered. */
function representationsOf(
  { verb, subresource }: ResourceRequest,
  { kind }: ServedResource,
): NonNullable<NegotiateOptions['representations']> {
  if (verb === 'list') return ofLists;
  const isShown = subresource === '' ? !kind.answer && !kind.acts : subresourcesShown.includes(subresource);
  return isShown ? ofObjects : ofAnswers;
}

const subresourcesShown = ['status', 'scale'];

/** Decides in which formats the objects of a request can be. */
const negotiatedSchema = ({ kind }: ServedResource, subresource: string): StructSchema =>
  outlineOf(bodyKind(kind, subresource));
