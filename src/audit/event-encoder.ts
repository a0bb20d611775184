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

/** Encodes events as JSON with the fields and their order as published. Parts that recur are encoded once. */
export class EventEncoder {
  readonly #head: string;
  /** The published annotation of an event without its objects. */
  readonly truncatedAnnotation: readonly [key: string, value: string];
  readonly #users = new WeakMap<UserInfo, string>();
  readonly #addresses = new WeakMap<readonly string[], string>();
  readonly #agent = boundedMemo((text) => JSON.stringify(text), {
    countMax: limits.auditTextsKept,
    lengthMax: limits.auditTextLengthKept,
  });
  readonly #time = microTimes();

  constructor(dialect: Dialect) {
    const group = dialect.group('audit');
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
    const { level, auditId, stage, requestUri, verb, user, impersonatedUser, sourceIps, userAgent } = event;
    const { objectRef, responseStatus } = event;
    return (
      `${this.#head}${level}","auditID":${JSON.stringify(auditId)},"stage":"${stage}"` +
      `,"requestURI":${JSON.stringify(requestUri)},"verb":${JSON.stringify(verb)}` +
      `,"user":${user ? this.#user(user) : '{}'}` +
      (impersonatedUser ? `,"impersonatedUser":${this.#user(impersonatedUser)}` : '') +
      (sourceIps.length > 0 ? `,"sourceIPs":${this.#sourceIps(sourceIps)}` : '') +
      (userAgent === '' ? '' : `,"userAgent":${this.#agent(userAgent)}`) +
      (objectRef ? `,"objectRef":${encodeReference(objectRef)}` : '') +
      (responseStatus ? `,"responseStatus":${encodeStatus(responseStatus)}` : '')
    );
  }

  #after({ requestReceivedMs, stageMs, annotations }: AuditEvent): string {
    const received = this.#time(requestReceivedMs);
    const reached = stageMs === requestReceivedMs ? received : this.#time(stageMs);
    return (
      `,"requestReceivedTimestamp":"${received}","stageTimestamp":"${reached}"` +
      `${annotations ? encodeAnnotations(annotations) : ''}}`
    );
  }

  #user(user: UserInfo): string {
    const known = this.#users.get(user);
    if (known !== undefined) return known;
    const text = encodeUser(user);
    this.#users.set(user, text);
    return text;
  }

  #sourceIps(addresses: readonly string[]): string {
    const known = this.#addresses.get(addresses);
    if (known !== undefined) return known;
    const text = JSON.stringify(addresses);
    this.#addresses.set(addresses, text);
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

/** Only fields with a value, in the published order. */
function encodeReference(reference: ObjectReference): string {
  const { resource, namespace, name, uid, apiGroup, apiVersion, resourceVersion, subresource } = reference;
  return `{${(
    field('resource', resource) +
      field('namespace', namespace) +
      field('name', name) +
      field('uid', uid) +
      field('apiGroup', apiGroup) +
      field('apiVersion', apiVersion) +
      field('resourceVersion', resourceVersion) +
      field('subresource', subresource)
  ).slice(1)}}`;
}

const field = (name: string, value: string): string => (value === '' ? '' : `,"${name}":${JSON.stringify(value)}`);

function encodeStatus({ code, status = '', message = '', reason = '', details }: ResponseStatus): string {
  const text = field('status', status) + field('message', message) + field('reason', reason);
  return `{"metadata":{}${text}${details ? `,"details":${JSON.stringify(details)}` : ''},"code":${code}}`;
}

/** Sorted by key, as in kube-apiserver. */
function encodeAnnotations(annotations: Iterable<readonly [key: string, value: string]>): string {
  const pairs = [...annotations].sort(([a], [b]) => (a < b ? -1 : 1));
  if (pairs.length === 0) return '';
  return `,"annotations":{${pairs.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join()}}`;
}

/** Formats times with microseconds. Remembers the last second: most events of a busy server share it. */
export function microTimes(): (ms: number) => string {
  let [lastSecond, text] = [Number.NaN, ''];
  return (ms) => {
    const micros = Math.floor(ms * 1000);
    const second = Math.floor(micros / 1e6);
    if (second !== lastSecond) {
      text = new Date(second * 1000).toISOString().slice(0, 19);
      lastSecond = second;
    }
    return `${text}.${String(micros - second * 1e6).padStart(6, '0')}Z`;
  };
}
