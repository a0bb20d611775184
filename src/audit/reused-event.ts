import type { AuditEvent, ObjectReference, ResponseStatus } from './event.ts';
import type { AuditLevel, AuditStage } from './policy.ts';

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/**
 * An event without objects that is filled anew for each request, for backends that are done with it at once. The events of
 * reads are as many objects as reads are made of otherwise.
 */
export class ReusedEvent implements AuditEvent {
  level: AuditLevel = 'None';
  auditId = '';
  stage: AuditStage = 'ResponseComplete';
  requestUri = '';
  verb = '';
  user: AuditEvent['user'];
  impersonatedUser: AuditEvent['impersonatedUser'];
  sourceIps: readonly string[] = [];
  userAgent = '';
  objectRef: ObjectReference | undefined;
  responseStatus: ResponseStatus | undefined;
  readonly requestObject = undefined;
  readonly responseObject = undefined;
  requestReceivedMs = 0;
  stageMs = 0;
  decision: AuditEvent['decision'];
  annotations: AuditEvent['annotations'];
  /** To be filled, and set as `objectRef`, `responseStatus` and `decision`. */
  readonly reference: Mutable<ObjectReference> = {
    ...{ resource: '', namespace: '', name: '', uid: '', apiGroup: '', apiVersion: '' },
    ...{ resourceVersion: '', subresource: '' },
  };
  readonly status: Mutable<ResponseStatus> = { code: 0 };
  readonly decided: Mutable<NonNullable<AuditEvent['decision']>> = { allowed: false, reason: '' };
}
