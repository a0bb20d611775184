import type { Readable } from 'node:stream';
import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import type { Clock } from '../../../base/time/clock.ts';
import type { BodyWriter, Exchange } from '../../../http/exchange.ts';
import type { Destination } from '../../../kinds/kind.ts';
import { badRequest, StatusError } from '../../../meta/status-error.ts';
import type { AgentTrust } from '../../../outbound/backend/agent-trust.ts';
import { askBackend, type BackendAnswer, type HeaderLines } from '../../../outbound/backend/backend-request.ts';
import { addressText, openBackend } from '../../../outbound/backend/open-backend.ts';
import { describeFailure, isMistrust } from '../../../outbound/describe-failure.ts';
import type { Network } from '../../../outbound/network.ts';
import type { ConnectReply } from '../../../registry/reply.ts';
import type { ResourceRequest } from '../../../request/request-info.ts';
import { tooManyRequests } from '../flow-control/too-many-requests.ts';
import type { RequestContext } from '../request-context.ts';
import { agentError } from './agent-error.ts';
import { answeredHeaders, answeredLocation, type ForwardedFrom, forwardedHeaders } from './forwarded-headers.ts';
import type { LogMetrics } from './log-metrics.ts';
import { tunnel } from './tunnel.ts';

interface ConnectorParts {
  readonly network: Network;
  readonly clock: Clock;
  readonly trust: AgentTrust;
  readonly logs: LogMetrics;
  /** What connecting to an agent may take. Milliseconds. */
  readonly agentMsMax: number;
}

/** A request that is passed on. */
interface Passed {
  readonly context: RequestContext;
  readonly info: ResourceRequest;
  readonly to: Destination;
  readonly carries: ConnectReply['carries'];
}

/**
 * Connects clients to nodes and pods: passes on a request on a connection of its own, and carries its answer, or what comes after an
 * upgrade, as fast as the slower side reads.
 */
export class Connector implements Closable {
  readonly #parts: ConnectorParts;
  readonly #closing = new AbortController();

  constructor(parts: ConnectorParts) {
    this.#parts = parts;
  }

  /** Resolves when the answer has begun. Rejects if there is none and the client is to be told. */
  async serve(
    context: RequestContext,
    info: ResourceRequest,
    { destination: to, carries }: ConnectReply,
  ): Promise<void> {
    const { exchange, ticket } = context;
    if (ticket) ticket.longRunning = true;
    if (!to) {
      exchange.respond(204, {});
      return;
    }
    if (carries === 'upgrade' && !exchange.upgrade) throw badRequest('Upgrade request required');
    if (carries === 'proxy' && !exchange.upgrade && to.path === '' && info.verb === 'get') {
      redirectToRoot(exchange);
      return;
    }
    if (ticket && !ticket.holdConnection()) throw tooManyRequests();
    const passed = { context, info, to, carries };
    return carries === 'text' || !exchange.upgrade ? this.#pass(passed) : this.#upgrade(passed, exchange.upgrade);
  }

  /** Ends all connections: they would outlast the server. */
  close(): void {
    this.#closing.abort(new StatusError('ServiceUnavailable', 'the server is shutting down'));
  }

  async #pass(passed: Passed): Promise<void> {
    const { context, info, carries } = passed;
    const { exchange } = context;
    const { logs } = this.#parts;
    if (carries === 'text') logs.asked(passed.to.trust === 'agent');
    const answer = await this.#ask(passed).catch((error) => {
      if (carries === 'text' && isMistrust(error)) logs.mistrusted();
      throw unreached(error, passed);
    });
    if (answer.type === 'upgraded') {
      answer.stream.destroy();
      throw unreached(new Error('an upgrade that nobody asked for'), passed);
    }
    if (exchange.responded || exchange.signal.aborted) {
      answer.body.destroy();
      return;
    }
    const { status, headers, body } = answer;
    if (carries === 'proxy') {
      sendAnswer(exchange, status, passedHeaders(headers, passed), body);
      return;
    }
    if (status >= 300 && status < 400) {
      body.destroy();
      throw unreached(new Error('redirects forbidden'), passed);
    }
    if (status < 200 || status > 206) throw await agentError({ status, body }, info).finally(() => body.destroy());
    sendAnswer(exchange, 200, { 'content-type': 'text/plain' }, body);
  }

  async #upgrade(passed: Passed, upgrade: NonNullable<Exchange['upgrade']>): Promise<void> {
    const { exchange } = passed.context;
    const answer = await this.#askInTime(passed, upgrade.protocol).catch((error) => {
      throw error instanceof StatusError ? error : failed(`error dialing backend: ${describeFailure(error)}`);
    });
    if (answer.type === 'answer') {
      if (answer.status < 400) {
        answer.body.destroy();
        throw failed(`invalid upgrade response: status code ${answer.status}`);
      }
      sendAnswer(exchange, answer.status, answeredHeaders(answer.headers), answer.body);
      return;
    }
    const { headers, stream } = answer;
    const agreed = headers['upgrade']?.join(', ').toLowerCase();
    if (exchange.signal.aborted || agreed !== upgrade.protocol) {
      stream.destroy();
      throw failed('invalid upgrade response: another protocol than the one asked for');
    }
    const { stream: client, sent } = upgrade.accept(answeredHeaders(headers));
    const end = (): void => {
      client.destroy();
      stream.destroy();
    };
    const { signal } = this.#closing;
    signal.addEventListener('abort', end, { once: true });
    exchange.signal.addEventListener('abort', end, { once: true });
    void tunnel({ client, server: stream, clock: this.#parts.clock, sent }).then(() => {
      signal.removeEventListener('abort', end);
      exchange.signal.removeEventListener('abort', end);
    });
    if (signal.aborted) end();
  }

  async #askInTime(passed: Passed, protocol: string): Promise<BackendAnswer> {
    const silence = new AbortController();
    const timer = this.#parts.clock.after(limits.upgradeAnswerMsMax, () => silence.abort(new Error('i/o timeout')));
    try {
      return await this.#ask(passed, { protocol, silence: silence.signal });
    } finally {
      timer.close();
    }
  }

  async #ask(
    { context, info, to, carries }: Passed,
    upgrade?: { readonly protocol: string; readonly silence: AbortSignal },
  ): Promise<BackendAnswer> {
    const { exchange, webSocketProtocols } = context;
    const { network, clock, trust, agentMsMax } = this.#parts;
    const signal = AbortSignal.any([exchange.signal, this.#closing.signal, ...(upgrade ? [upgrade.silence] : [])]);
    const isAgent = to.trust !== 'anyone';
    const connection = await openBackend({
      ...{ network, clock, host: to.host, port: to.port, signal },
      connectMsMax: isAgent ? agentMsMax : limits.backendConnectMsMax,
      tls:
        to.scheme === 'http' ? undefined : isAgent ? trust.tls({ verified: to.trust === 'agent' }) : { insecure: true },
    });
    const host = carries === 'proxy' ? (exchange.header('host') ?? '') : addressText(to.host, to.port);
    return askBackend(connection, {
      ...requestOf(exchange, to, carries),
      headers:
        carries === 'text'
          ? { host: [host] }
          : forwardedHeaders(exchange, {
              host,
              upgrade: upgrade?.protocol,
              ...(webSocketProtocols && { protocols: webSocketProtocols }),
              ...(carries === 'proxy' && { from: forwardedFrom(info, to) }),
            }),
      signal,
    });
  }
}

/** Text is always read; of anything else the method, the body and the query are those of the client, unless the query is fixed. */
function requestOf(exchange: Exchange, { path, query }: Destination, carries: ConnectReply['carries']) {
  const { target } = exchange;
  const mark = target.indexOf('?');
  const sent = query ?? (mark < 0 ? '' : target.slice(mark + 1));
  return {
    method: carries === 'text' ? 'GET' : exchange.method,
    target: `${path === '' ? '/' : path}${sent === '' ? '' : `?${sent}`}`,
    body: carries === 'proxy' && !exchange.upgrade ? exchange.bodyStream() : undefined,
  };
}

const forwardedFrom = ({ path, below = '' }: ResourceRequest, to: Destination): ForwardedFrom => ({
  prefix: path.slice(0, path.length - below.length),
  path: to.path,
});

/** Published: pages at the root of a server refer to what is beside them. */
function redirectToRoot(exchange: Exchange): void {
  const [path = '', ...query] = exchange.target.split('?');
  const location = [`${path}/`, ...query].join('?');
  exchange.respond(301, { location });
}

function passedHeaders(headers: HeaderLines, { info, to }: Passed): Record<string, string | readonly string[]> {
  const passed = answeredHeaders(headers);
  const [location] = headers['location'] ?? [];
  if (location === undefined) return passed;
  const origin = `${to.scheme}://${addressText(to.host, to.port)}`;
  return { ...passed, location: answeredLocation(location, origin, forwardedFrom(info, to)) };
}

/** Does not wait for the rest of the body, which follows as the client reads it. */
function sendAnswer(
  exchange: Exchange,
  status: number,
  headers: Record<string, string | readonly string[]>,
  body: Readable,
): void {
  exchange.onEnd(() => void body.destroy());
  const writer = exchange.stream(status, headers);
  // There is no answer to carry: what nobody reads would be read to its end.
  if (exchange.method === 'HEAD') body.destroy();
  else void carryBody(body, writer);
}

async function carryBody(body: Readable, writer: BodyWriter): Promise<void> {
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) if (!writer.write(chunk)) await writer.drained();
    writer.end();
  } catch {
    // The client sees that its answer was cut off.
    writer.abort();
  }
}

/** Published errors that are no Status have neither a reason nor details. */
const failed = (message: string): StatusError => new StatusError('', message, { code: 500 });

/** Why a request could not be passed on. Reading a text tells of the request, as Go's client does. */
function unreached(error: unknown, { to, carries }: Passed): StatusError {
  if (error instanceof StatusError) return error;
  const why = describeFailure(error);
  if (carries === 'proxy') {
    return new StatusError('ServiceUnavailable', `error trying to reach service: ${why}`);
  }
  const query = to.query ? `?${to.query}` : '';
  return failed(`Get ${JSON.stringify(`${to.scheme}://${addressText(to.host, to.port)}${to.path}${query}`)}: ${why}`);
}
