import type { TextBytes } from '../base/text-bytes.ts';
import type { AuditEvent, ObjectReference } from './event.ts';
import type { MicroTimes } from './micro-times.ts';

/** Where in a line the values stand in which requests of a kind differ. Bytes from its start. */
export interface ValuePlaces {
  id: number;
  uri: number;
  namespace: number;
  name: number;
  receivedMicros: number;
  reachedMicros: number;
}

interface LineParts {
  readonly event: AuditEvent;
  /** As it was written, with its line end. None of the values in `places` has escapes. */
  readonly text: TextBytes;
  readonly places: Readonly<ValuePlaces>;
  /** The times of the line before were made by these. */
  readonly received: MicroTimes;
  readonly reached: MicroTimes;
}

/**
 * The last line of an origin. Requests come in bursts of a kind: the next line is mostly a copy of it in which few values
 * are replaced by others of the same length. That takes half the time of putting it together.
 */
export class RepeatedLine {
  readonly #places: ValuePlaces;
  readonly #received: MicroTimes;
  readonly #reached: MicroTimes;
  /** See TextBytes. */
  readonly #era: number;
  #start: number;
  readonly #length: number;
  #event: AuditEvent;

  constructor({ event, text, places, received, reached }: LineParts) {
    this.#event = event;
    this.#era = text.era;
    this.#start = text.start;
    this.#length = text.length;
    this.#places = { ...places };
    this.#received = received;
    this.#reached = reached;
  }

  /** Adds the line of an event of the same origin. False, and nothing added, if it is of another kind. */
  repeat(event: AuditEvent, text: TextBytes): boolean {
    const last = this.#event;
    const at = text.end;
    if (text.era !== this.#era || !isAlike(last, event)) return false;
    const received = this.#received.within(event.requestReceivedMs);
    const reached = this.#reached.within(event.stageMs);
    if (received === undefined || reached === undefined || !text.repeat(this.#start, this.#length)) return false;
    if (!this.#replace(last, event, text, at)) {
      text.end = at;
      return false;
    }
    text.replaceSixDigits(at + this.#places.receivedMicros, received);
    text.replaceSixDigits(at + this.#places.reachedMicros, reached);
    this.#start = at;
    this.#event = event;
    return true;
  }

  /** False if a new value has escapes. */
  #replace(last: AuditEvent, event: AuditEvent, text: TextBytes, at: number): boolean {
    const { id, uri, namespace, name } = this.#places;
    const [before, now] = [last.objectRef, event.objectRef];
    return (
      text.replaceJson(at + id, event.auditId) &&
      (event.requestUri === last.requestUri || text.replaceJson(at + uri, event.requestUri)) &&
      (!now ||
        !before ||
        ((now.namespace === before.namespace || text.replaceJson(at + namespace, now.namespace)) &&
          (now.name === before.name || text.replaceJson(at + name, now.name))))
    );
  }
}

/** Whether the line of an event may be repeated: it has nothing that few events have. */
export const isPlain = ({ impersonatedUser, responseStatus, annotations, objectRef }: AuditEvent): boolean =>
  impersonatedUser === undefined &&
  annotations === undefined &&
  (responseStatus === undefined || isBare(responseStatus)) &&
  (objectRef === undefined || (objectRef.uid === '' && objectRef.resourceVersion === ''));

/** A status of nothing but its code. */
export const isBare = ({ status, message, reason, details }: NonNullable<AuditEvent['responseStatus']>): boolean =>
  status === undefined && message === undefined && reason === undefined && details === undefined;

/** Whether events of an origin differ in nothing but times, and in values of the same lengths. */
const isAlike = (last: AuditEvent, event: AuditEvent): boolean =>
  isPlain(event) &&
  event.verb === last.verb &&
  event.stage === last.stage &&
  event.level === last.level &&
  event.responseStatus?.code === last.responseStatus?.code &&
  event.decision?.allowed === last.decision?.allowed &&
  event.auditId.length === last.auditId.length &&
  event.requestUri.length === last.requestUri.length &&
  isReferenceAlike(last.objectRef, event.objectRef) &&
  event.decision?.reason === last.decision?.reason;

function isReferenceAlike(last: ObjectReference | undefined, now: ObjectReference | undefined): boolean {
  if (!last || !now) return last === now;
  return (
    now.namespace.length === last.namespace.length &&
    now.name.length === last.name.length &&
    now.resource === last.resource &&
    now.subresource === last.subresource &&
    now.apiGroup === last.apiGroup &&
    now.apiVersion === last.apiVersion
  );
}
