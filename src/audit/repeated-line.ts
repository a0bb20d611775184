import type { TextBytes } from '../base/text-bytes.ts';
import type { AuditEvent, ObjectReference } from './event.ts';
import type { MicroTimes } from './micro-times.ts';
import type { AuditLevel, AuditStage } from './policy.ts';

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
 * are replaced by others of the same length. That takes half the time of putting it together. Holds no event: those of
 * answered requests are made in the place of the one before (`reused-event.ts`).
 */
export class RepeatedLine {
  readonly #places: ValuePlaces;
  readonly #received: MicroTimes;
  readonly #reached: MicroTimes;
  /** See TextBytes. */
  readonly #era: number;
  #start: number;
  readonly #length: number;
  readonly #verb: string;
  readonly #stage: AuditStage;
  readonly #level: AuditLevel;
  readonly #code: number | undefined;
  readonly #allowed: boolean | undefined;
  readonly #reason: string | undefined;
  readonly #idLength: number;
  readonly #refers: boolean;
  readonly #resource: string;
  readonly #subresource: string;
  readonly #apiGroup: string;
  readonly #apiVersion: string;
  // Those that may be others in the next line.
  #uri: string;
  #namespace: string;
  #name: string;

  constructor({ event, text, places, received, reached }: LineParts) {
    this.#era = text.era;
    this.#start = text.start;
    this.#length = text.length;
    this.#places = { ...places };
    this.#received = received;
    this.#reached = reached;
    const { objectRef, responseStatus, decision } = event;
    this.#verb = event.verb;
    this.#stage = event.stage;
    this.#level = event.level;
    this.#code = responseStatus?.code;
    this.#allowed = decision?.allowed;
    this.#reason = decision?.reason;
    this.#idLength = event.auditId.length;
    this.#refers = objectRef !== undefined;
    this.#resource = objectRef?.resource ?? '';
    this.#subresource = objectRef?.subresource ?? '';
    this.#apiGroup = objectRef?.apiGroup ?? '';
    this.#apiVersion = objectRef?.apiVersion ?? '';
    this.#uri = event.requestUri;
    this.#namespace = objectRef?.namespace ?? '';
    this.#name = objectRef?.name ?? '';
  }

  /** Adds the line of an event of the same origin. False, and nothing added, if it is of another kind. */
  repeat(event: AuditEvent, text: TextBytes): boolean {
    const at = text.end;
    if (text.era !== this.#era || !this.#isAlike(event)) return false;
    const received = this.#received.within(event.requestReceivedMs);
    const reached = this.#reached.within(event.stageMs);
    if (received === undefined || reached === undefined || !text.repeat(this.#start, this.#length)) return false;
    if (!this.#replace(event, text, at)) {
      text.end = at;
      return false;
    }
    text.replaceSixDigits(at + this.#places.receivedMicros, received);
    text.replaceSixDigits(at + this.#places.reachedMicros, reached);
    this.#start = at;
    this.#uri = event.requestUri;
    if (event.objectRef) {
      this.#namespace = event.objectRef.namespace;
      this.#name = event.objectRef.name;
    }
    return true;
  }

  /** Whether the event differs from that of the line in nothing but times, and in values of the same lengths. */
  #isAlike(event: AuditEvent): boolean {
    const { responseStatus, decision, objectRef } = event;
    return (
      isPlain(event) &&
      event.verb === this.#verb &&
      event.stage === this.#stage &&
      event.level === this.#level &&
      responseStatus?.code === this.#code &&
      decision?.allowed === this.#allowed &&
      event.auditId.length === this.#idLength &&
      event.requestUri.length === this.#uri.length &&
      (objectRef ? this.#refers && this.#isReferenceAlike(objectRef) : !this.#refers) &&
      decision?.reason === this.#reason
    );
  }

  #isReferenceAlike(reference: ObjectReference): boolean {
    return (
      reference.namespace.length === this.#namespace.length &&
      reference.name.length === this.#name.length &&
      reference.resource === this.#resource &&
      reference.subresource === this.#subresource &&
      reference.apiGroup === this.#apiGroup &&
      reference.apiVersion === this.#apiVersion
    );
  }

  /** False if a new value has escapes. */
  #replace({ auditId, requestUri, objectRef }: AuditEvent, text: TextBytes, at: number): boolean {
    const { id, uri, namespace, name } = this.#places;
    return (
      text.replaceJson(at + id, auditId) &&
      (requestUri === this.#uri || text.replaceJson(at + uri, requestUri)) &&
      (!objectRef ||
        ((objectRef.namespace === this.#namespace || text.replaceJson(at + namespace, objectRef.namespace)) &&
          (objectRef.name === this.#name || text.replaceJson(at + name, objectRef.name))))
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
