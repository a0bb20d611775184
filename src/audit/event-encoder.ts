import { boundedMemo } from '../base/collections/bounded-memo.ts';
import { limits } from '../base/limits.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { AuditEvent, ObjectReference, ResponseStatus } from './event.ts';

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
  readonly #head: string;
  /** The published annotation of an event without its objects. */
  readonly truncatedAnnotation: readonly [key: string, value: string];
  readonly #users = new WeakMap<UserInfo, string>();
  /** By the list of addresses, which the requests of a connection share: the last origin. */
  readonly #origins = new WeakMap<readonly string[], Origin>();
  readonly #agent = boundedMemo((text) => JSON.stringify(text), kept);
  readonly #decisionKeys: { readonly decision: string; readonly reason: string };
  /** Annotations of a decision alone, by its reason. */
  readonly #allowed = boundedMemo((reason) => encodeAnnotations(this.#decisionPairs({ allowed: true, reason })), kept);
  readonly #forbidden = boundedMemo(
    (reason) => encodeAnnotations(this.#decisionPairs({ allowed: false, reason })),
    kept,
  );
  readonly #time = microTimes();

  constructor(dialect: Dialect) {
    const group = dialect.group('audit');
    const authorization = dialect.group('authorization');
    this.#decisionKeys = { decision: `${authorization}/decision`, reason: `${authorization}/reason` };
    this.#head = `{"kind":"Event","apiVersion":"${group}/v1","level":"`;
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
    return (
      `${this.#head}${level}","auditID":${quoted(auditId)},"stage":"${stage}","requestURI":${quoted(requestUri)}` +
      `,"verb":${quoted(verb)}${this.#origin(event)}` +
      (objectRef ? `,"objectRef":${encodeReference(objectRef)}` : '') +
      (responseStatus ? `,"responseStatus":${encodeStatus(responseStatus)}` : '')
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
    const text =
      `,"user":${user ? this.#user(user) : '{}'}` +
      (impersonatedUser ? `,"impersonatedUser":${this.#user(impersonatedUser)}` : '') +
      (sourceIps.length > 0 ? `,"sourceIPs":${JSON.stringify(sourceIps)}` : '') +
      (userAgent === '' ? '' : `,"userAgent":${this.#agent(userAgent)}`);
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

/** A text as JSON. Most have nothing to escape, and a look at each character costs less than a call of the runtime. */
function quoted(text: string): string {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code > 0x7e || code === quote || code === backslash) return JSON.stringify(text);
  }
  return `"${text}"`;
}

const [quote, backslash] = [0x22, 0x5c];

/** Only fields with a value, in the published order. */
function encodeReference(reference: ObjectReference): string {
  const { resource, namespace, name, uid, apiGroup, apiVersion, resourceVersion, subresource } = reference;
  const others =
    field(',"namespace":', namespace) +
    field(',"name":', name) +
    field(',"uid":', uid) +
    field(',"apiGroup":', apiGroup) +
    field(',"apiVersion":', apiVersion) +
    field(',"resourceVersion":', resourceVersion) +
    field(',"subresource":', subresource);
  return resource === '' ? `{${others.slice(1)}}` : `{"resource":${quoted(resource)}${others}}`;
}

const field = (start: string, value: string): string => (value === '' ? '' : `${start}${quoted(value)}`);

function encodeStatus({ code, status = '', message = '', reason = '', details }: ResponseStatus): string {
  const text = field(',"status":', status) + field(',"message":', message) + field(',"reason":', reason);
  return `{"metadata":{}${text}${details ? `,"details":${JSON.stringify(details)}` : ''},"code":${code}}`;
}

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
