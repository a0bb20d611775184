import { boundedMemo } from '../base/collections/bounded-memo.ts';
import { shownHeaderText } from '../base/header-text.ts';
import { limits } from '../base/limits.ts';
import { TextBytes } from '../base/text-bytes.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { AuditEvent, ObjectReference, ResponseStatus } from './event.ts';
import { MicroTimes } from './micro-times.ts';
import type { AuditLevel, AuditStage } from './policy.ts';
import { isBare, isPlain, RepeatedLine, type ValuePlaces } from './repeated-line.ts';

/** An event as JSON in one line, without its line end. Backends that need no bytes of their own let it write itself. */
export class EncodedEvent {
  readonly event: AuditEvent;
  readonly #encoder: EventEncoder;
  #parts: readonly Uint8Array[] | undefined;

  constructor(event: AuditEvent, encoder: EventEncoder) {
    this.event = event;
    this.#encoder = encoder;
  }

  /** The event has become another one. */
  changed(): void {
    this.#parts = undefined;
  }

  /** Text, and the objects. */
  get parts(): readonly Uint8Array[] {
    this.#parts ??= this.#encoder.parts(this.event);
    return this.#parts;
  }

  /** Length of the JSON. */
  get bytes(): number {
    return this.parts.reduce((sum, { length }) => sum + length, 0);
  }

  /** Writes the JSON and a line end. For events without objects, which are not copied. */
  writeTo(text: TextBytes): void {
    this.#encoder.writeLine(this.event, text);
  }

  get hasObjects(): boolean {
    return this.event.requestObject !== undefined || this.event.responseObject !== undefined;
  }
}

interface Origin extends Pick<AuditEvent, 'user' | 'userAgent' | 'sourceIps'> {
  readonly bytes: Buffer;
  last: RepeatedLine | undefined;
}

const kept = { countMax: limits.auditTextsKept, lengthMax: limits.auditTextLengthKept };

/**
 * Encodes events as JSON with the fields and their order as published. Values that recur are encoded once and kept as
 * bytes: events come by the hundred thousand a second, and as strings they would be copied several times.
 */
export class EventEncoder {
  readonly #head: Readonly<Record<AuditLevel, Buffer>>;
  readonly #verb = boundedMemo((verb) => Buffer.from(`","verb":${JSON.stringify(verb)}`), kept);
  /** The published annotation of an event without its objects. */
  readonly truncatedAnnotation: readonly [key: string, value: string];
  readonly #users = new WeakMap<UserInfo, string>();
  /** By the list of addresses, which the requests of a connection share: the last origin. */
  readonly #origins = new WeakMap<readonly string[], Origin>();
  #latest: Origin | undefined;
  readonly #agent = boundedMemo((text) => JSON.stringify(shownHeaderText(text)), kept);
  readonly #decisionKeys: { readonly decision: string; readonly reason: string };
  /** Annotations of a decision alone, by its reason. */
  readonly #allowed = boundedMemo((reason) => this.#decision({ allowed: true, reason }), kept);
  readonly #forbidden = boundedMemo((reason) => this.#decision({ allowed: false, reason }), kept);
  readonly #text = new TextBytes();
  readonly #scratch = Buffer.allocUnsafeSlow(limits.auditScratchBytes);
  /** Of the line that is being written. */
  readonly #places: ValuePlaces = { id: 0, uri: 0, namespace: 0, name: 0, receivedMicros: 0, reachedMicros: 0 };
  #escapes = false;
  readonly #received = new MicroTimes(',"requestReceivedTimestamp":"');
  readonly #reached = new MicroTimes('Z","stageTimestamp":"');

  constructor(dialect: Dialect) {
    const group = dialect.group('audit');
    const head = `{"kind":"Event","apiVersion":"${group}/v1","level":"`;
    const authorization = dialect.group('authorization');
    const headOf = (level: AuditLevel): Buffer => Buffer.from(`${head}${level}","auditID":"`);
    this.#head = {
      None: headOf('None'),
      Metadata: headOf('Metadata'),
      Request: headOf('Request'),
      RequestResponse: headOf('RequestResponse'),
    };
    this.#decisionKeys = { decision: `${authorization}/decision`, reason: `${authorization}/reason` };
    this.truncatedAnnotation = [`${group}/truncated`, 'true'];
  }

  encode(event: AuditEvent): EncodedEvent {
    return new EncodedEvent(event, this);
  }

  /** The event without its objects, and with the annotation that says so. */
  truncated(event: AuditEvent): EncodedEvent {
    const annotations = new Map([...(event.annotations ?? []), this.truncatedAnnotation]);
    return this.encode({ ...event, requestObject: undefined, responseObject: undefined, annotations });
  }

  /** See `EncodedEvent.writeTo`. */
  writeLine(event: AuditEvent, text: TextBytes): void {
    const origin = this.#origin(event);
    const isAlike = origin.last?.isAlike(event) === true;
    if (isAlike && origin.last?.repeat(event, text)) return;
    this.#escapes = false;
    this.#before(event, text);
    this.#after(event, text);
    text.addBytes(lineEnd);
    origin.last =
      isPlain(event) && !this.#escapes ? this.#repeated(event, isAlike ? text.copy() : undefined) : undefined;
  }

  #repeated(event: AuditEvent, text: Uint8Array | undefined): RepeatedLine {
    return new RepeatedLine({ event, text, places: this.#places, received: this.#received, reached: this.#reached });
  }

  /** See `EncodedEvent.parts`. */
  parts(event: AuditEvent): readonly Uint8Array[] {
    const { requestObject, responseObject } = event;
    const before = this.#made((text) => this.#before(event, text));
    return [
      before,
      ...(requestObject ? [requestKey, requestObject] : []),
      ...(responseObject ? [responseKey, responseObject] : []),
      this.#made((text) => this.#after(event, text)),
    ];
  }

  #made(write: (text: TextBytes) => void): Buffer {
    const text = this.#text;
    text.begin(this.#scratch, 0);
    write(text);
    return text.copy();
  }

  #before(event: AuditEvent, text: TextBytes): void {
    const { objectRef, responseStatus } = event;
    text.addBytes(this.#head[event.level]);
    this.#places.id = this.#addValue(event.auditId, text);
    text.addBytes(stageTexts[event.stage]);
    this.#places.uri = this.#addValue(event.requestUri, text);
    text.addBytes(this.#verb(event.verb));
    text.addBytes(this.#origin(event).bytes);
    if (objectRef) this.#addReference(objectRef, text);
    if (responseStatus) addStatus(responseStatus, text);
  }

  /** A value that may have escapes. Returns where it stands in the line. */
  #addValue(value: string, text: TextBytes): number {
    const place = text.length;
    if (!text.addJson(value)) this.#escapes = true;
    return place;
  }

  /** Only fields with a value, in the published order. */
  #addReference(reference: ObjectReference, text: TextBytes): void {
    const { resource, namespace, name, uid, apiGroup, apiVersion, resourceVersion, subresource } = reference;
    const start = text.length;
    const add = ([first, next]: readonly [Buffer, Buffer], value: string): number => {
      if (value === '') return 0;
      text.addBytes(text.length === start ? first : next);
      return this.#addValue(value, text);
    };
    add(referenceKeys.resource, resource);
    this.#places.namespace = add(referenceKeys.namespace, namespace);
    this.#places.name = add(referenceKeys.name, name);
    add(referenceKeys.uid, uid);
    add(referenceKeys.apiGroup, apiGroup);
    add(referenceKeys.apiVersion, apiVersion);
    add(referenceKeys.resourceVersion, resourceVersion);
    add(referenceKeys.subresource, subresource);
    text.addBytes(text.length === start ? emptyReference : referenceEnd);
  }

  #after({ requestReceivedMs, stageMs, decision, annotations }: AuditEvent, text: TextBytes): void {
    this.#places.receivedMicros = this.#received.add(requestReceivedMs, text);
    this.#places.reachedMicros = this.#reached.add(stageMs, text);
    if (annotations) text.addText(endOf([...this.#decisionPairs(decision), ...annotations]));
    else if (!decision) text.addBytes(bareEnd);
    else text.addBytes(decision.allowed ? this.#allowed(decision.reason) : this.#forbidden(decision.reason));
  }

  #decision(decision: NonNullable<AuditEvent['decision']>): Buffer {
    return Buffer.from(endOf(this.#decisionPairs(decision)));
  }

  #decisionPairs(decision: AuditEvent['decision']): readonly Annotation[] {
    if (!decision) return [];
    return [
      [this.#decisionKeys.decision, decision.allowed ? 'allow' : 'forbid'],
      [this.#decisionKeys.reason, decision.reason],
    ];
  }

  /** Who asked, and from where. Requests of one connection have mostly the same. */
  #origin({ user, impersonatedUser, sourceIps, userAgent }: AuditEvent): Origin {
    if (!impersonatedUser) {
      const latest = this.#latest;
      const known = latest?.sourceIps === sourceIps ? latest : this.#origins.get(sourceIps);
      this.#latest = known;
      if (known && known.user === user && known.userAgent === userAgent) return known;
    }
    const bytes = Buffer.from(
      `,"user":${user ? this.#user(user) : '{}'}` +
        (impersonatedUser ? `,"impersonatedUser":${this.#user(impersonatedUser)}` : '') +
        (sourceIps.length > 0 ? `,"sourceIPs":${JSON.stringify(sourceIps)}` : '') +
        (userAgent === '' ? '' : `,"userAgent":${this.#agent(userAgent)}`),
    );
    const origin = { user, userAgent, sourceIps, bytes, last: undefined };
    if (impersonatedUser) return origin;
    this.#origins.set(sourceIps, origin);
    this.#latest = origin;
    return origin;
  }

  #user(user: UserInfo): string {
    const known = this.#users.get(user);
    if (known !== undefined) return known;
    const text = encodeUser(user);
    this.#users.set(user, text);
    return text;
  }
}

function encodeUser({ username, uid, groups, extra }: UserInfo): string {
  return JSON.stringify({
    ...(username !== '' && { username }),
    ...(uid !== '' && { uid }),
    ...(groups.length > 0 && { groups }),
    ...(Object.keys(extra).length > 0 && { extra }),
  });
}

/** From the audit ID to the URI. */
const stageTexts: Readonly<Record<AuditStage, Buffer>> = {
  RequestReceived: Buffer.from('","stage":"RequestReceived","requestURI":"'),
  ResponseStarted: Buffer.from('","stage":"ResponseStarted","requestURI":"'),
  ResponseComplete: Buffer.from('","stage":"ResponseComplete","requestURI":"'),
  Panic: Buffer.from('","stage":"Panic","requestURI":"'),
};

const lineEnd = Buffer.from('\n');
const requestKey = Buffer.from(',"requestObject":');
const responseKey = Buffer.from(',"responseObject":');
/** From the last time on. */
const bareEnd = Buffer.from('Z"}');

/** What stands in front of a field of the reference, if it is the first, and after another. */
const key = (name: string): readonly [first: Buffer, next: Buffer] => [
  Buffer.from(`,"objectRef":{"${name}":"`),
  Buffer.from(`","${name}":"`),
];

const referenceKeys = {
  resource: key('resource'),
  namespace: key('namespace'),
  name: key('name'),
  uid: key('uid'),
  apiGroup: key('apiGroup'),
  apiVersion: key('apiVersion'),
  resourceVersion: key('resourceVersion'),
  subresource: key('subresource'),
};

const emptyReference = Buffer.from(',"objectRef":{}');
const referenceEnd = Buffer.from('"}');

function addStatus(responseStatus: ResponseStatus, text: TextBytes): void {
  const { code, status = '', message = '', reason = '', details } = responseStatus;
  if (code === 200 && isBare(responseStatus)) {
    text.addBytes(bareSuccess);
    return;
  }
  const texts = field(',"status":', status) + field(',"message":', message) + field(',"reason":', reason);
  text.addText(
    `,"responseStatus":{"metadata":{}${texts}${details ? `,"details":${JSON.stringify(details)}` : ''},"code":${code}}`,
  );
}

const field = (start: string, value: string): string => (value === '' ? '' : start + JSON.stringify(value));

/** What most events have. */
const bareSuccess = Buffer.from(',"responseStatus":{"metadata":{},"code":200}');

type Annotation = readonly [key: string, value: string];

/** From the last time on. Annotations are sorted by key, as in kube-apiserver. */
function endOf(annotations: readonly Annotation[]): string {
  if (annotations.length === 0) return 'Z"}';
  const fields = annotations
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
  return `Z","annotations":{${fields.join()}}}`;
}
