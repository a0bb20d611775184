import type { DiscoveryDocument, IssuerDiscovery } from '../../authn/service-account/issuer-discovery.ts';
import { limits } from '../../base/limits.ts';
import type { Metrics } from '../../base/metrics.ts';
import { Semaphore } from '../../base/semaphore.ts';
import type { Clock } from '../../base/time/clock.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import {
  type DocumentForm,
  type DocumentForms,
  entityTag,
  writeDocument,
  writeShown,
} from '../../content/document-forms.ts';
import { documentPieces } from '../../content/document-pieces.ts';
import type { Negotiated, Negotiator } from '../../content/negotiation.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { Exchange } from '../../http/exchange.ts';
import { sendPieces } from '../../http/list-stream.ts';
import { sendBytes, wantsGzip } from '../../http/respond.ts';
import { PathRouter } from '../../http/router.ts';
import { noSuchPath, type StatusError } from '../../meta/status-error.ts';
import {
  type ApiDocument,
  type ApiDocuments,
  type DocumentMessage,
  type OpenapiName,
  openapiUrl,
  type StreamedDocument,
} from '../../registry/documents/documents.ts';
import { jwksPath, openidConfigurationPath } from '../../request/issuer-paths.ts';
import type { Health } from '../upkeep/health.ts';
import { type FlowTable, isFlowTable } from './flow-control/flow-tables.ts';
import type { HeavyWork } from './heavy/heavy-work.ts';
import { queryOf, routeHealth, sendMetrics } from './status-pages.ts';
import { versionInfo } from './version-info.ts';

interface RouteParts {
  readonly clock: Clock;
  readonly dialect: Dialect;
  readonly documents: ApiDocuments;
  /** The refusal of a document that is not there. */
  readonly notServed: () => StatusError;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly negotiator: Negotiator;
  /** Encoded documents, shared by scopes. */
  readonly forms: DocumentForms;
  /** Encodes large documents. */
  readonly heavy: Pick<HeavyWork, 'takesDocument' | 'document'>;
  /** Whether clients that accept gzip are answered in it. */
  readonly compresses: boolean;
  /** OIDC discovery of the service account issuer; undefined if there are no tokens that others could verify. */
  readonly issuerDiscovery: IssuerDiscovery | undefined;
  /** A table of what waits for seats; undefined where nobody is to look at it. */
  readonly flowTable: ((name: FlowTable, includeRequestDetails: boolean) => string) | undefined;
}

/** Non-resource paths: health, discovery, OpenAPI, version, metrics. */
export function routes(parts: RouteParts): PathRouter {
  const { documents } = parts;
  const router = new PathRouter();
  const get = ['GET'];
  routeHealth(router, parts);
  const version = Buffer.from(JSON.stringify(versionInfo(parts.dialect)));
  routeDiscovery(router, parts);
  routeFlowTables(router, parts);
  return router
    .exact('/', get, (exchange) => {
      return sendJson(parts, exchange, Buffer.from(JSON.stringify({ paths: listedPaths(parts, router) })));
    })
    .exact('/version', get, (exchange) => sendJson(parts, exchange, version))
    .exact('/metrics', get, (exchange) => sendMetrics(exchange, parts))
    .exact('/api', get, (exchange) => sendDiscovery(parts, exchange, 'api'))
    .exact('/apis', get, (exchange) => sendDiscovery(parts, exchange, 'apis'))
    .prefix('/version/', get, (exchange, path) => {
      if (path !== '/version/') throw noSuchPath();
      return sendJson(parts, exchange, version);
    })
    .prefix('/api/', get, (exchange, path) => {
      if (path === '/api/') return sendDiscovery(parts, exchange, 'api');
      const [, , apiVersion = '', ...more] = trimmed(path).split('/');
      return sendNamed(parts, exchange, more.length === 0 ? documents.resourceList('', apiVersion) : undefined);
    })
    .prefix('/apis/', get, (exchange, path) => {
      if (path === '/apis/') return sendDiscovery(parts, exchange, 'apis');
      const [, , group = '', apiVersion, ...more] = trimmed(path).split('/');
      const found = apiVersion === undefined ? documents.group(group) : documents.resourceList(group, apiVersion);
      return sendNamed(parts, exchange, more.length === 0 && group !== '' ? found : undefined);
    })
    .exact('/openapi/v2', get, (exchange) => sendOpenapi(parts, exchange, { type: 'v2' }))
    .exact('/openapi/v3', get, (exchange) => sendOpenapi(parts, exchange, { type: 'index' }))
    .prefix('/openapi/v3/', get, (exchange, path) =>
      path === '/openapi/v3/' ? sendOpenapi(parts, exchange, { type: 'index' }) : sendOpenapiV3(parts, exchange, path),
    );
}

/** The paths listed at `/`: every path without object names and the known paths below it, as in kube-apiserver. */
function listedPaths({ documents, health }: RouteParts, router: PathRouter): readonly string[] {
  const own = router.paths.filter((path) => path !== '/');
  return [...new Set([...own, '/apis/', '/openapi/v3/', ...documents.paths(), ...health.paths])].sort();
}

/**
 * Discovery documents of the service account issuer (spec section 5.3). As in kube-apiserver, the content types are
 * fixed and Accept is ignored.
 */
function routeDiscovery(router: PathRouter, { issuerDiscovery }: RouteParts): void {
  if (!issuerDiscovery) return;
  const send = (exchange: Exchange, { body, headers }: DiscoveryDocument): void => {
    exchange.setHeader('cache-control', headers['cache-control']);
    sendBytes(exchange, { status: 200, contentType: headers['content-type'], body });
  };
  // As in kube-apiserver, with a slash at the end, too, which is how OpenAPI has it.
  const serve = (at: string, document: () => DiscoveryDocument): void => {
    router
      .exact(at, ['GET'], (exchange) => send(exchange, document()))
      .prefix(`${at}/`, ['GET'], (exchange, path) => {
        if (path !== `${at}/`) throw noSuchPath();
        return send(exchange, document());
      });
  };
  serve(openidConfigurationPath, () => issuerDiscovery.configuration());
  serve(jwksPath, () => issuerDiscovery.keySet());
}

/** As in kube-apiserver, tables for people, which `/` does not list. Any value of the parameter asks for details. */
function routeFlowTables(router: PathRouter, { flowTable }: RouteParts): void {
  if (!flowTable) return;
  const prefix = '/debug/api_priority_and_fairness/';
  router.prefix(prefix, ['GET'], (exchange, path) => {
    const name = path.slice(prefix.length);
    if (!isFlowTable(name)) throw noSuchPath();
    const body = Buffer.from(flowTable(name, (queryOf(exchange).get('includeRequestDetails') ?? '') !== ''));
    return sendBytes(exchange, { status: 200, contentType: 'text/plain; charset=utf-8', body });
  });
}

/** Removes a trailing slash, which does not change the document. */
const trimmed = (path: string): string => (path.endsWith('/') ? path.slice(0, -1) : path);

/** Sends data about the server itself; it has no ETag, since clients do not cache it. */
function sendJson({ negotiator, compresses }: RouteParts, exchange: Exchange, json: Buffer): void | Promise<void> {
  const negotiated = negotiator.negotiate(exchange);
  const body = writeDocument({ json }, formOf(negotiated));
  return sendBytes(exchange, { status: 200, contentType: negotiated.mediaType, body, compress: compresses });
}

const formOf = ({ format, pretty }: Negotiated): DocumentForm => (format === 'json' && pretty ? 'pretty' : format);

function sendDocument(
  parts: RouteParts,
  exchange: Exchange,
  document: ApiDocument | undefined,
  { isObject = false }: Pick<Sent, 'isObject'> = {},
): void | Promise<void> {
  if (!document) throw parts.notServed();
  const negotiated = parts.negotiator.negotiate(exchange, { message: document.message });
  return sendForm(parts, exchange, { document, form: formOf(negotiated), contentType: negotiated.mediaType, isObject });
}

/** The versions of a group, or the resources of one: an API object, unlike other documents. */
function sendNamed(parts: RouteParts, exchange: Exchange, document: ApiDocument | undefined): void | Promise<void> {
  return sendDocument(parts, exchange, document, { isObject: true });
}

interface Sent {
  readonly document: ApiDocument;
  readonly form: DocumentForm;
  readonly contentType: string;
  /** Whether it is an API object, which audit events show. Default: false. */
  readonly isObject?: boolean;
}

/** Answers 304 to a client that has this form of the document (RFC 9110 section 13.1.2). */
function sendForm(
  parts: RouteParts,
  exchange: Exchange,
  { document, form, contentType, isObject = false }: Sent,
): void | Promise<void> {
  const { forms, heavy, compresses } = parts;
  if (answersKnown(parts, exchange, { hash: document.hash, form })) return;
  if (isObject) exchange.answersObject?.(document.json);
  const bytes = heavy.takesDocument(document, form)
    ? forms.bytesMade(document, form, () => heavy.document(document, form, forms))
    : forms.bytes(document, form);
  const answer = { status: 200, contentType, compress: compresses };
  return whenMade(exchange, bytes, (body) => sendBytes(exchange, { ...answer, body }));
}

/** True if the client has this form of the document and was told so; `begin` comes first. Sets the headers of both answers. */
function answersKnown(
  { compresses }: RouteParts,
  exchange: Exchange,
  { hash, form, begin }: { readonly hash: string; readonly form: DocumentForm; readonly begin?: () => void },
): boolean {
  const etag = entityTag({ hash }, form, { gzip: compresses && wantsGzip(exchange) });
  exchange.setHeader('etag', etag);
  exchange.setHeader('vary', 'accept, accept-encoding');
  const isThere = isKnown(etag, exchange.header('if-none-match'));
  if (!isThere) return false;
  begin?.();
  exchange.respond(304, {});
  return true;
}

/** Waits for what is not there yet, without a promise if it is. Does nothing if a response was sent meanwhile. */
function whenMade<T>(
  exchange: Exchange,
  made: T | Promise<T>,
  send: (made: T) => void | Promise<void>,
): void | Promise<void> {
  if (!(made instanceof Promise)) return send(made);
  return made.then((value) => (exchange.responded ? undefined : send(value)));
}

/** Weak comparison of RFC 9110 section 8.8.3.2. */
const isKnown = (etag: string, ifNoneMatch: string | undefined): boolean =>
  ifNoneMatch?.split(',').some((each) => ['*', etag].includes(each.trim().replace(/^W\//, ''))) ?? false;

/** `/api` and `/apis`, in the aggregated form for clients that prefer it (KEP-3352). */
function sendDiscovery(parts: RouteParts, exchange: Exchange, root: 'api' | 'apis'): void | Promise<void> {
  const { dialect, documents, negotiator } = parts;
  const negotiated = negotiator.negotiate(exchange, { message: 'discovery', representations: aggregatedForm });
  const { aggregated, mediaType } = negotiated;
  const form = formOf(negotiated);
  if (aggregated === undefined) {
    const document = root === 'api' ? documents.coreVersions() : documents.groupList();
    return sendForm(parts, exchange, { document, form, contentType: mediaType, isObject: true });
  }
  const contentType = `${mediaType};g=${dialect.group('apidiscovery')};v=${aggregated};as=APIGroupDiscoveryList`;
  const made = documents.aggregatedInSlices(root, aggregated, parts.clock);
  return whenMade(exchange, made, (document) =>
    sendForm(parts, exchange, { document, form, contentType, isObject: true }),
  );
}

const aggregatedForm = ['APIGroupDiscoveryList'] as const;

/** One year, the longest useful freshness lifetime (RFC 9111 section 5.3). */
const keptMs = 365 * 24 * 3600_000;

/**
 * The first request has the document built, in time slices; none is for a client that has it. A URL with the current hash is
 * immutable and cacheable for good, as in kube-apiserver; `asked` is then that of the URL. One with another hash redirects to
 * the current one.
 */
function sendOpenapi(parts: RouteParts, exchange: Exchange, of: OpenapiName, asked = ''): void | Promise<void> {
  const { documents, clock, negotiator } = parts;
  const isOther = (hash: string): boolean => asked !== '' && hash !== asked;
  const redirect = (hash: string): void => {
    if (of.type === 'v3' || of.type === 'server') exchange.respond(301, { location: openapiUrl(of, hash) });
  };
  const makeWhole = (): void | Promise<void> =>
    whenMade(exchange, documents.openapiInSlices(of, clock), (document) => {
      if (document && isOther(document.hash)) return redirect(document.hash);
      if (document && asked !== '') forGood(parts, exchange);
      return sendDocument(parts, exchange, document);
    });
  const make = (): void | Promise<void> => {
    if (of.type !== 'v2') return makeWhole();
    const streamed = documents.streamedV2(clock);
    return whenMade(exchange, streamed, (large) => (large ? sendStreamed(parts, exchange, large) : makeWhole()));
  };
  if (asked === '' && exchange.header('if-none-match') === undefined) return make();
  return whenMade(exchange, documents.openapiHash(of, clock), (hash) => {
    if (hash === undefined) throw parts.notServed();
    if (isOther(hash)) return redirect(hash);
    const negotiated = negotiator.negotiate(exchange, { message: openapiMessage(of) });
    const begin = (): void => (asked === '' ? undefined : forGood(parts, exchange));
    return answersKnown(parts, exchange, { hash, form: formOf(negotiated), begin }) ? undefined : make();
  });
}

/** Documents that are being written as they are made: each takes seconds of processor time. */
const streams = new Semaphore(limits.streamedDocumentsMax);

async function sendStreamed(parts: RouteParts, exchange: Exchange, document: StreamedDocument): Promise<void> {
  const { clock, compresses, forms, heavy, negotiator } = parts;
  const { hash, message, entries } = document;
  const negotiated = negotiator.negotiate(exchange, { message });
  const form = formOf(negotiated);
  if (answersKnown(parts, exchange, { hash, form })) return;
  const { signal } = exchange;
  try {
    await streams.acquire(signal);
  } catch (error) {
    // Nobody waits any more: the client left, or was told that its time is over.
    if (signal.aborted) return;
    throw error;
  }
  try {
    const slice = new TimeSlice(clock);
    const encode = (value: unknown): Buffer | Promise<Buffer> => {
      const json = Buffer.from(JSON.stringify(value));
      if (json.length <= limits.inlineBytesMax) return writeShown(value, message, form);
      return heavy.document({ json, hash: '', message }, form, forms);
    };
    const pieces = documentPieces(entries, form, { slice, encode });
    await sendPieces(exchange, pieces, { status: 200, contentType: negotiated.mediaType, compress: compresses, slice });
  } finally {
    streams.release();
  }
}

const openapiMessage = ({ type }: OpenapiName): DocumentMessage | undefined =>
  type === 'index' ? undefined : type === 'v2' ? 'openapi v2' : 'openapi v3';

/** An OpenAPI document of version 3. */
function sendOpenapiV3(parts: RouteParts, exchange: Exchange, path: string): void | Promise<void> {
  const name = openapiNameOf(path.slice('/openapi/v3/'.length));
  return sendOpenapi(parts, exchange, name, queryOf(exchange).get('hash') ?? '');
}

/** The document at a path: `api/v1` and `apis/apps/v1` are those of group versions. */
function openapiNameOf(path: string): OpenapiName {
  const [root, ...rest] = path.split('/');
  const [group, version] = root === 'api' ? ['', rest[0]] : [rest[0] ?? '', rest[1]];
  const isVersion = root === 'api' ? rest.length === 1 : root === 'apis' && group !== '' && rest.length === 2;
  return isVersion && version !== undefined ? { type: 'v3', group, version } : { type: 'server', path };
}

function forGood({ clock }: RouteParts, exchange: Exchange): void {
  exchange.setHeader('cache-control', 'public, immutable');
  exchange.setHeader('expires', new Date(clock.now() + keptMs).toUTCString());
}
