import { boundedMemo } from '../base/collections/bounded-memo.ts';
import { limits } from '../base/limits.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { AuditEvent, ObjectReference, ResponseStatus } from './event.ts';
import type { AuditStage } from './policy.ts';

/** An event as JSON in one line, without its line end. Encoded once for all backends. */
export class EncodedEvent {
  readonly event: AuditEvent;
  /** Text, and objects as bytes. */
  readonly parts: readonly (string | Uint8Array)[];
  #bytes: number | undefined;

  constructor(event: AuditEvent, parts: readonly (string | Uint8Array)[]) {
    this.event = event;
    this.parts = parts;
  }

  /** Length of the JSON. */
  get bytes(): number {
    this.#bytes ??= this.parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
    return this.#bytes;
  }
}

interface Origin extends Pick<AuditEvent, 'user' | 'userAgent'> {
  readonly text: string;
}

const kept = { countMax: limits.auditTextsKept, lengthMax: limits.auditTextLengthKept };

/** Encodes events as JSON with the fields and their order as published. Parts that recur are encoded once. */
export class EventEncoder {
  readonly #start: (level: string) => string;
  readonly #verb = boundedMemo((verb) => flat(`,"verb":${JSON.stringify(verb)}`), kept);
  /** The published annotation of an event without its objects. */
  readonly truncatedAnnotation: readonly [key: string, value: string];
  readonly #users = new WeakMap<UserInfo, string>();
  /** By the list of addresses, which the requests of a connection share: the last origin. */
  readonly #origins = new WeakMap<readonly string[], Origin>();
  readonly #agent = boundedMemo((text) => JSON.stringify(text), kept);
  readonly #decisionKeys: { readonly decision: string; readonly reason: string };
  /** Annotations of a decision alone, by its reason. */
  readonly #allowed = boundedMemo(
    (reason) => flat(encodeAnnotations(this.#decisionPairs({ allowed: true, reason }))),
    kept,
  );
  readonly #forbidden = boundedMemo(
    (reason) => flat(encodeAnnotations(this.#decisionPairs({ allowed: false, reason }))),
    kept,
  );
  readonly #time = microTimes();

  constructor(dialect: Dialect) {
    const group = dialect.group('audit');
    const head = `{"kind":"Event","apiVersion":"${group}/v1","level":"`;
    const authorization = dialect.group('authorization');
    this.#decisionKeys = { decision: `${authorization}/decision`, reason: `${authorization}/reason` };
    this.#start = boundedMemo((level) => flat(`${head}${level}","auditID":`), kept);
    this.truncatedAnnotation = [`${group}/truncated`, 'true'];
  }

  encode(event: AuditEvent): EncodedEvent {
    const { requestObject, responseObject } = event;
    const [before, after] = [this.#before(event), this.#after(event)];
    if (!requestObject && !responseObject) return new EncodedEvent(event, [before + after]);
    return new EncodedEvent(event, [
      before,
      ...(requestObject ? [',"requestObject":', requestObject] : []),
      ...(responseObject ? [',"responseObject":', responseObject] : []),
      after,
    ]);
  }

  /** The event without its objects, and with the annotation that says so. */
  truncated(event: AuditEvent): EncodedEvent {
    const annotations = new Map([...(event.annotations ?? []), this.truncatedAnnotation]);
    return this.encode({ ...event, requestObject: undefined, responseObject: undefined, annotations });
  }

  #before(event: AuditEvent): string {
    const { level, auditId, stage, requestUri, verb, objectRef, responseStatus } = event;
    const all = auditId + requestUri + (objectRef ? textOf(objectRef) : '');
    const quoted = plainText.test(all) ? plain : JSON.stringify;
    return (
      this.#start(level) +
      quoted(auditId) +
      stageTexts[stage] +
      quoted(requestUri) +
      this.#verb(verb) +
      this.#origin(event) +
      (objectRef ? encodeReference(objectRef, quoted) : '') +
      (responseStatus ? encodeStatus(responseStatus) : '')
    );
  }

  #after({ requestReceivedMs, stageMs, decision, annotations }: AuditEvent): string {
    const received = this.#time(requestReceivedMs);
    const reached = stageMs === requestReceivedMs ? received : this.#time(stageMs);
    return (
      `,"requestReceivedTimestamp":"${received}","stageTimestamp":"${reached}"` +
      `${decision || annotations ? this.#annotations(decision, annotations) : ''}}`
    );
  }

  #annotations(decision: AuditEvent['decision'], others: AuditEvent['annotations']): string {
    if (decision && !others)
      return decision.allowed ? this.#allowed(decision.reason) : this.#forbidden(decision.reason);
    return encodeAnnotations([...(decision ? this.#decisionPairs(decision) : []), ...(others ?? [])]);
  }

  #decisionPairs({ allowed, reason }: NonNullable<AuditEvent['decision']>): readonly Annotation[] {
    return [
      [this.#decisionKeys.decision, allowed ? 'allow' : 'forbid'],
      [this.#decisionKeys.reason, reason],
    ];
  }

  /** Who asked, and from where. Requests of one connection have mostly the same. */
  #origin({ user, impersonatedUser, sourceIps, userAgent }: AuditEvent): string {
    const known = this.#origins.get(sourceIps);
    if (known && known.user === user && known.userAgent === userAgent && !impersonatedUser) return known.text;
    const text = flat(
      `,"user":${user ? this.#user(user) : '{}'}` +
        (impersonatedUser ? `,"impersonatedUser":${this.#user(impersonatedUser)}` : '') +
        (sourceIps.length > 0 ? `,"sourceIPs":${JSON.stringify(sourceIps)}` : '') +
        (userAgent === '' ? '' : `,"userAgent":${this.#agent(userAgent)}`),
    );
    if (!impersonatedUser) this.#origins.set(sourceIps, { user, userAgent, text });
    return text;
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

/**
 * A copy in one piece. Cached text would otherwise stay the tree of its parts, and be put together again for each event.
 */
const flat = (text: string): string => Buffer.from(text).toString();

/** From the audit ID to the URI. */
const stageTexts: Readonly<Record<AuditStage, string>> = {
  RequestReceived: ',"stage":"RequestReceived","requestURI":',
  ResponseStarted: ',"stage":"ResponseStarted","requestURI":',
  ResponseComplete: ',"stage":"ResponseComplete","requestURI":',
  Panic: ',"stage":"Panic","requestURI":',
};

/** All values of a reference. */
const textOf = (reference: ObjectReference): string =>
  reference.resource +
  reference.namespace +
  reference.name +
  reference.uid +
  reference.apiGroup +
  reference.apiVersion +
  reference.resourceVersion +
  reference.subresource;

/** Printable ASCII that JSON does not escape. One look at all texts costs less than escaping each of them. */
const plainText = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

type Quoter = (text: string) => string;
const plain: Quoter = (text) => `"${text}"`;

/** Only fields with a value, in the published order. */
function encodeReference(reference: ObjectReference, quoted: Quoter): string {
  const { resource, namespace, name, uid, apiGroup, apiVersion, resourceVersion, subresource } = reference;
  const others =
    field(',"namespace":', namespace, quoted) +
    field(',"name":', name, quoted) +
    field(',"uid":', uid, quoted) +
    field(',"apiGroup":', apiGroup, quoted) +
    field(',"apiVersion":', apiVersion, quoted) +
    field(',"resourceVersion":', resourceVersion, quoted) +
    field(',"subresource":', subresource, quoted);
  if (resource === '') return `,"objectRef":{${others.slice(1)}}`;
  return `,"objectRef":{"resource":${quoted(resource)}${others}}`;
}

const field = (start: string, value: string, quoted: Quoter = JSON.stringify): string =>
  value === '' ? '' : start + quoted(value);

function encodeStatus({ code, status = '', message = '', reason = '', details }: ResponseStatus): string {
  if (code === 200 && status === '' && message === '' && reason === '' && !details) return bareSuccess;
  const text = field(',"status":', status) + field(',"message":', message) + field(',"reason":', reason);
  return `,"responseStatus":{"metadata":{}${text}${details ? `,"details":${JSON.stringify(details)}` : ''},"code":${code}}`;
}

/** What most events have. */
const bareSuccess = ',"responseStatus":{"metadata":{},"code":200}';

type Annotation = readonly [key: string, value: string];

/** Sorted by key, as in kube-apiserver. */
function encodeAnnotations(annotations: Iterable<Annotation>): string {
  const pairs = [...annotations].sort(([a], [b]) => (a < b ? -1 : 1));
  if (pairs.length === 0) return '';
  return `,"annotations":{${pairs.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join()}}`;
}

const threeDigits = Array.from({ length: 1_000 }, (_, number) => String(number).padStart(3, '0'));

/** Formats times with microseconds. Remembers the last second: most events of a busy server share it. */
export function microTimes(): (ms: number) => string {
  let [lastSecond, text] = [Number.NaN, ''];
  return (ms) => {
    const micros = Math.floor(ms * 1000);
    const second = Math.floor(micros / 1e6);
    if (second !== lastSecond) {
      text = `${new Date(second * 1000).toISOString().slice(0, 19)}.`;
      lastSecond = second;
    }
    const rest = micros - second * 1e6;
    const thousands = Math.floor(rest / 1_000);
    return `${text}${threeDigits[thousands]}${threeDigits[rest - thousands * 1_000]}Z`;
  };
}
