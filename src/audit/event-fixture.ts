import type { AuditEvent } from './event.ts';

/** Test fixture: an event with as little as an event can have. */
export const auditEvent = (more: Partial<AuditEvent>): AuditEvent => ({
  level: 'Metadata',
  auditId: 'id',
  stage: 'RequestReceived',
  requestUri: '/version',
  verb: 'get',
  user: undefined,
  impersonatedUser: undefined,
  sourceIps: [],
  userAgent: '',
  objectRef: undefined,
  responseStatus: undefined,
  requestObject: undefined,
  responseObject: undefined,
  requestReceivedMs: 0,
  stageMs: 0,
  decision: undefined,
  annotations: undefined,
  ...more,
});
