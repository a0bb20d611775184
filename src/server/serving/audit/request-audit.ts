import type { AuditEvent, ObjectReference, ResponseStatus } from '../../../audit/event.ts';
import type { AuditStage, Verdict } from '../../../audit/policy.ts';
import { sourceAddresses } from '../../../audit/source-addresses.ts';
import { limits } from '../../../base/limits.ts';
import { ClientGone } from '../../../http/base-exchange.ts';
import type { Exchange } from '../../../http/exchange.ts';
import { internalError, type Status, StatusError } from '../../../meta/status-error.ts';
import type { Decision } from '../../../request/access.ts';
import { isLongRunning, type RequestInfo } from '../../../request/request-info.ts';
import type { UserInfo } from '../../../request/user-info.ts';
import { annotate, type RequestContext } from '../request-context.ts';
import type { Auditor } from './auditor.ts';
import { LayerLatencies, slowMs } from './layer-latencies.ts';
import type { SentIdentity } from './sent-identity.ts';

/** An object as JSON in one line; undefined if it is none. */
export type EncodedObject = Uint8Array | 'tooLarge' | undefined;

/** An object of the event. */
interface RecordedObject {
  /** About how many bytes are held, and made of them. Called at most once, when the event is made. */
  bytes(): number;
  /** Called at most once, thereafter. */
  encode(): EncodedObject | Promise<EncodedObject>;
}

/** The record of one request: collects what its events show, and makes each once. */
export class RequestAudit {
  readonly verdict: Verdict;
  readonly #auditor: Auditor;
  readonly #context: RequestContext;
  /** Undefined if authentication failed. */
  readonly #user: UserInfo | undefined;
  readonly #receivedMs: number;
  /** What the body of the request says of the object that it is about. */
  #sent: SentIdentity | undefined;
  #decision: Decision | undefined;
  #status: ResponseStatus | undefined;
  #last: AuditStage = 'ResponseComplete';
  #started = false;
  #over = false;
  #answered = false;
  #answeredMs: number | undefined;
  #requestObject: RecordedObject | undefined;
  #responseObject: RecordedObject | undefined;
  /** The Status of a refusal, which is known before its answer is sent. */
  #refusal: Buffer | undefined;
  #latencies: LayerLatencies | undefined;

  constructor(auditor: Auditor, context: RequestContext, verdict: Verdict, user: UserInfo | undefined) {
    this.verdict = verdict;
    this.#auditor = auditor;
    this.#context = context;
    this.#user = user;
    this.#receivedMs = auditor.arrival(context);
    if (!user) {
      this.#last = 'ResponseStarted';
      this.#status = { code: 0, message: attemptedMethods(context.exchange) };
    }
  }

  /** Makes the further events when it is time. A request may be over already: its authentication took too long. */
  follow(): void {
    const { exchange } = this.#context;
    if (exchange.ending !== undefined) this.ended(this.#auditor.now());
    else if (this.#auditor.blocks) exchange.beforeResponse = (status) => this.#beforeResponse(status);
  }

  get wantsRequestObject(): boolean {
    const { level } = this.verdict;
    return level === 'Request' || level === 'RequestResponse';
  }

  get wantsResponseObject(): boolean {
    return this.verdict.level === 'RequestResponse';
  }

  /** Makes the first event. False if the request must not go on. */
  received(): boolean | Promise<boolean> {
    if (this.verdict.omitStages.has('RequestReceived')) return true;
    return this.#auditor.record(this.#event('RequestReceived', this.#receivedMs));
  }

  /** Completes the reference by what the body of the request says. */
  noteBody(sent: SentIdentity | undefined): void {
    const { verb } = this.#context.info;
    if (verb === 'create' || verb === 'update') this.#sent ??= sent;
  }

  set requestObject(object: RecordedObject) {
    if (this.wantsRequestObject) this.#requestObject = object;
  }

  set responseObject(object: RecordedObject) {
    if (this.wantsResponseObject) this.#responseObject = object;
  }

  /** See LayerLatencies. */
  storeAsked(): void {
    this.#latencies ??= new LayerLatencies();
    this.#latencies.storeAsked(this.#auditor.now());
  }

  /** The registry has answered. */
  served(): void {
    this.#latencies?.served(this.#auditor.now());
  }

  /** What the authorizer has decided. */
  noteDecision(decision: Decision): void {
    this.#decision = decision;
  }

  /** The response is a Status, whether of a failure or not. */
  noteStatus({ code, status, message, reason, details }: Status): void {
    // A failed authentication has a message of its own.
    this.#status = { code: code ?? 0, status, message: this.#user ? message : this.#status?.message, reason, details };
  }

  /** The request is refused. An error that no code has foreseen is what kube-apiserver calls a panic. */
  noteFailure(error: unknown): void {
    if (this.#context.exchange.responded) return;
    this.served();
    const status = (error instanceof StatusError ? error : internalError(error)).toStatus();
    if (this.wantsResponseObject) {
      this.#refusal = Buffer.from(JSON.stringify(status));
      this.#responseObject = encodedObject(this.#refusal);
    }
    this.noteStatus(status);
    if (
      !this.#user ||
      error instanceof StatusError ||
      error instanceof ClientGone ||
      this.#context.exchange.signal.aborted
    )
      return;
    this.#last = 'Panic';
    const message = `APIServer panic'd: ${error instanceof Error ? error.message : typeof error}`;
    this.#status = { code: status.code ?? 500, status: 'Failure', reason: 'InternalError', message };
    this.#responseObject = undefined;
    this.#refusal = undefined;
  }

  /** The answer, or its first part, was handed over, or the request refused. */
  answered(): void {
    this.#answered = true;
    if (!this.#over) this.#answeredMs ??= this.#auditor.now();
    if (this.#isLongRunning) void this.#start(this.#context.exchange.status);
    if (this.#context.exchange.ending !== undefined) void this.#complete(this.#context.exchange.status);
  }

  /** The client has the answer, or is gone. What the request does may still be going on, and its result unknown. */
  ended(endedMs: number): void {
    const { status } = this.#context.exchange;
    if (this.#over || !(this.#answered || status > 0)) return;
    this.#over = true;
    this.#auditor.endedInTurn({ audit: this, status, endedMs });
  }

  /** No further events. */
  drop(): void {
    this.#over = true;
  }

  #beforeResponse(status: number): Promise<unknown> | undefined {
    const started = this.#isLongRunning ? this.#start(status) : true;
    const completed = this.#complete(status);
    return started instanceof Promise || completed instanceof Promise ? Promise.all([started, completed]) : undefined;
  }

  get #isLongRunning(): boolean {
    return this.#user !== undefined && isLongRunning(this.#context.info);
  }

  #start(status: number): boolean | Promise<boolean> {
    if (this.#started || this.#over || this.verdict.omitStages.has('ResponseStarted')) return true;
    this.#started = true;
    const event = this.#event('ResponseStarted', this.#auditor.now(), this.#statusOf(status));
    return this.#auditor.record(this.#refusal ? { ...event, responseObject: this.#refusal } : event);
  }

  #complete(status: number): boolean | Promise<boolean> {
    if (this.#over) return true;
    this.#over = true;
    return this.finish(status, this.#auditor.now());
  }

  /** Makes the last event. Called once. */
  finish(status: number, endedMs: number): boolean | Promise<boolean> {
    if (this.verdict.omitStages.has(this.#last)) return true;
    if (this.#isTimed && endedMs - this.#receivedMs > slowMs) this.#noteLatencies(endedMs);
    if (!this.#requestObject && !this.#responseObject) return this.#recordBare(status, endedMs);
    const event = this.#event(this.#last, endedMs, this.#statusOf(status));
    const bytes = (this.#requestObject?.bytes() ?? 0) + (this.#responseObject?.bytes() ?? 0);
    return this.#auditor.encoding(bytes, () => this.#withObjects(event)) ?? this.#withoutObjects(event);
  }

  /** A watch is open as long as its client likes, which says nothing of the server. */
  get #isTimed(): boolean {
    return this.#last === 'ResponseComplete' && this.#context.info.verb !== 'watch';
  }

  #withoutObjects(event: AuditEvent): boolean | Promise<boolean> {
    const annotations = [...(event.annotations ?? []), this.#auditor.truncated];
    return this.#auditor.record({ ...event, annotations });
  }

  #noteLatencies(endedMs: number): void {
    const { waitedMs } = this.#context;
    const times = { receivedMs: this.#receivedMs, endedMs, waitedMs, answeredMs: this.#answeredMs };
    const latencies = this.#latencies ?? new LayerLatencies();
    for (const [key, value] of latencies.annotations(this.#auditor.dialect, times)) {
      annotate(this.#context, key, value);
    }
  }

  async #withObjects(event: AuditEvent): Promise<boolean> {
    const [request, response] = [await encoded(this.#requestObject), await encoded(this.#responseObject)];
    const isTruncated = request === 'tooLarge' || response === 'tooLarge';
    return this.#auditor.record({
      ...event,
      requestObject: request === 'tooLarge' ? undefined : request,
      responseObject: response === 'tooLarge' ? undefined : response,
      annotations: isTruncated ? [...(event.annotations ?? []), this.#auditor.truncated] : event.annotations,
    });
  }

  /** As published, a request without any answer seems to have succeeded. */
  #statusOf(code: number): ResponseStatus {
    if (this.#status) return { ...this.#status, code: code || this.#status.code };
    return code === 0 ? { code: 200, status: 'Success', message: 'Connection closed early' } : { code };
  }

  #event(stage: AuditStage, stageMs: number, responseStatus?: ResponseStatus): AuditEvent {
    const { exchange, info, auditId, user, impersonatedBy, annotations } = this.#context;
    return {
      level: this.verdict.level,
      auditId,
      stage,
      requestUri: withoutTokens(exchange.target),
      verb: info.verb,
      user: this.#user,
      impersonatedUser: impersonatedBy ? user : undefined,
      sourceIps: sourceAddresses(exchange),
      userAgent: shortened(exchange.header('user-agent') ?? ''),
      objectRef: referenceOf(info, this.#sent),
      responseStatus,
      requestObject: undefined,
      responseObject: undefined,
      requestReceivedMs: this.#receivedMs,
      stageMs,
      decision: this.#decision && decided(this.#decision),
      // What is added later belongs to later events.
      annotations: annotations && [...annotations],
    };
  }

  /** The last event, in the place of that of another request where the backend is done with it at once. */
  #recordBare(status: number, stageMs: number): boolean | Promise<boolean> {
    const reused = this.#auditor.reused;
    const { exchange, info, auditId, impersonatedBy, annotations } = this.#context;
    const isBare = !this.#status && status !== 0 && !this.#sent && !impersonatedBy && !annotations;
    if (!reused || !isBare) return this.#auditor.record(this.#event(this.#last, stageMs, this.#statusOf(status)));
    reused.level = this.verdict.level;
    reused.auditId = auditId;
    reused.stage = this.#last;
    reused.requestUri = withoutTokens(exchange.target);
    reused.verb = info.verb;
    reused.user = this.#user;
    reused.sourceIps = sourceAddresses(exchange);
    reused.userAgent = shortened(exchange.header('user-agent') ?? '');
    reused.requestReceivedMs = this.#receivedMs;
    reused.stageMs = stageMs;
    reused.responseStatus = reused.status;
    reused.status.code = status;
    reused.objectRef = info.type === 'resource' ? reused.reference : undefined;
    if (info.type === 'resource') {
      const { reference } = reused;
      reference.resource = info.resource;
      reference.namespace = info.namespace;
      reference.name = info.name;
      reference.apiGroup = info.group;
      reference.apiVersion = info.version;
      reference.subresource = info.subresource;
    }
    const decision = this.#decision;
    reused.decision = decision && reused.decided;
    if (decision) {
      reused.decided.allowed = decision.verdict === 'allow';
      reused.decided.reason = decision.reason;
    }
    return this.#auditor.recordReused();
  }
}

const decided = ({ verdict, reason }: Decision): AuditEvent['decision'] => ({ allowed: verdict === 'allow', reason });

/** An object that is JSON in one line. */
export const encodedObject = (json: Uint8Array): RecordedObject => ({ bytes: () => json.length, encode: () => json });

/** Objects that cannot be encoded are left out: the rest of the event counts more. */
async function encoded(object: RecordedObject | undefined): Promise<EncodedObject> {
  try {
    return await object?.encode();
  } catch {
    return undefined;
  }
}

/** Undefined for requests that are not about resources. What the path says counts more than what was sent. */
function referenceOf(info: RequestInfo, sent: SentIdentity | undefined): ObjectReference | undefined {
  if (info.type !== 'resource') return undefined;
  const { resource, namespace, name, group, version, subresource } = info;
  return {
    resource,
    namespace: namespace || (sent?.namespace ?? ''),
    name: name || (sent?.name ?? ''),
    uid: sent?.uid ?? '',
    apiGroup: group,
    apiVersion: version,
    resourceVersion: sent?.resourceVersion ?? '',
    subresource,
  };
}

const shortened = (agent: string): string =>
  agent.length <= limits.auditAgentCharactersMax
    ? agent
    : `${agent.slice(0, limits.auditAgentCharactersMax)}...TRUNCATED`;

/** A query may carry a credential (RFC 6750 section 2.3), although it counts for nothing here. */
function withoutTokens(target: string): string {
  const mark = target.indexOf('?');
  if (mark < 0) return target;
  const query = target.slice(mark + 1);
  if (!query.includes(tokenName) && !query.includes('%')) return target;
  return `${target.slice(0, mark + 1)}${query.split('&').map(withoutToken).join('&')}`;
}

const tokenName = 'access_token';

/** The name may be percent-encoded, which makes it three times as long at most. */
function withoutToken(parameter: string): string {
  const end = parameter.indexOf('=');
  if (end < 0) return parameter;
  const name = parameter.slice(0, end);
  const isToken =
    name === tokenName ||
    (name.includes('%') && name.length <= 3 * tokenName.length && new URLSearchParams(name).has(tokenName));
  return isToken ? `${name}=***` : parameter;
}

/** The published message of a failed authentication. */
function attemptedMethods(exchange: Exchange): string {
  const [scheme = '', credential] = (exchange.header('authorization') ?? '').trim().split(' ', 2);
  const { certificate, certificateError } = exchange.peer;
  const attempted = [
    ...(scheme.toLowerCase() === 'basic' && credential !== undefined ? ['basic'] : []),
    ...(scheme.toLowerCase() === 'bearer' && credential !== undefined ? ['bearer'] : []),
    ...(/[?&]access_token=[^&]/.test(exchange.target) ? ['access_token'] : []),
    ...(certificate !== undefined || certificateError !== undefined ? ['x509'] : []),
  ];
  if (attempted.length === 0) return 'Authentication failed, no credentials provided';
  return `Authentication failed, attempted: ${attempted.join(', ')}`;
}
