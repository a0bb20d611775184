import type { StatusDetails } from '../meta/status-error.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { AuditLevel, AuditStage } from './policy.ts';

/** An audit event, version v1 as published: a request at one of its stages. */
export interface AuditEvent {
  readonly level: AuditLevel;
  readonly auditId: string;
  readonly stage: AuditStage;
  readonly requestUri: string;
  readonly verb: string;
  /** The authenticated user; undefined if authentication failed. */
  readonly user: UserInfo | undefined;
  readonly impersonatedUser: UserInfo | undefined;
  readonly sourceIps: readonly string[];
  readonly userAgent: string;
  /** Undefined for requests that are not about resources. */
  readonly objectRef: ObjectReference | undefined;
  readonly responseStatus: ResponseStatus | undefined;
  /** JSON in one line. */
  readonly requestObject: Uint8Array | undefined;
  readonly responseObject: Uint8Array | undefined;
  /** Milliseconds since the epoch, with fractions. */
  readonly requestReceivedMs: number;
  readonly stageMs: number;
  /** Of the authorizer, once it has decided. Shown as annotations. */
  readonly decision: { readonly allowed: boolean; readonly reason: string } | undefined;
  readonly annotations: Iterable<readonly [key: string, value: string]> | undefined;
}

/** The object that a request is about. Empty fields are left out. */
export interface ObjectReference {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly resourceVersion: string;
  readonly subresource: string;
}

/** The part of a Status that is recorded. */
export interface ResponseStatus {
  readonly code: number;
  readonly status?: string | undefined;
  readonly message?: string | undefined;
  readonly reason?: string | undefined;
  readonly details?: StatusDetails | undefined;
}
