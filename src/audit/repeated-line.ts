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
  /** A copy of what was written, with its line end; undefined if nobody needs it yet. No value in `places` has escapes. */
  readonly text: Uint8Array | undefined;
  readonly places: Readonly<ValuePlaces>;
  /** The times of the line before were made by these. */
  readonly received: MicroTimes;
  readonly reached: MicroTimes;
}

/**
 * The last line of an origin. Requests come in bursts of a kind: the third line is mostly a copy of the second in which few
 * values are replaced by others of the same length. That takes a third of the time of putting it together. Holds no event:
 * those of answered requests are made in the place of the one before (`reused-event.ts`).
 */
export class RepeatedLine {
  readonly #text: Uint8Array | undefined;
  readonly #places: ValuePlaces;
  readonly #received: MicroTimes;
  readonly #reached: MicroTimes;
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
  readonly #uri: string;
  readonly #namespace: string;
  readonly #name: string;

  constructor({ event, text, places, received, reached }: LineParts) {
    this.#text = text;
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

  /** Adds the line of an event that is alike. False, and nothing added, if that is not possible. */
  repeat(event: AuditEvent, text: TextBytes): boolean {
    const line = this.#text;
    const received = this.#received.within(event.requestReceivedMs);
    const reached = this.#reached.within(event.stageMs);
    if (!line || received === undefined || reached === undefined) return false;
    text.addBytes(line);
    const at = text.end - line.length;
    if (!this.#replace(event, text, at)) {
      text.end = at;
      return false;
    }
    text.replaceSixDigits(at + this.#places.receivedMicros, received);
    text.replaceSixDigits(at + this.#places.reachedMicros, reached);
    return true;
  }

  /** Whether the event differs from that of the line in nothing but times, and in values of the same lengths. */
  isAlike(event: AuditEvent): boolean {
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
