import type { Span } from '../base/span.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { StructSchema } from '../schema/schema.ts';
import type { Annotator } from './audit-annotations.ts';
import type { ResourceRequest } from './request-info.ts';
import type { UserInfo } from './user-info.ts';

/** The operation on the object. A patch is an update, or a create if it creates the object. */
export type AdmissionOperation = 'create' | 'update' | 'delete' | 'connect';

/** A kind and its resource. */
export interface ServedKind {
  /** Full name; '' for core. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
  /** Kind of the objects, where it is another one than that of the resource: `Scale`. The same in every version. */
  readonly body?: { readonly group: string; readonly version: string; readonly kind: string };
}

/**
 * The options of a request as an object, with the fields that the client sent. As in kube-apiserver, the kind follows
 * the operation: a patch that updates has UpdateOptions, and one that creates has CreateOptions.
 */
export interface OperationOptions {
  readonly kind: 'CreateOptions' | 'UpdateOptions' | 'DeleteOptions';
  readonly apiVersion: string;
  readonly [option: string]: unknown;
}

/** A write as admission plugins see it. */
export interface AdmissionAttributes extends Annotator {
  readonly operation: AdmissionOperation;
  /** The requested resource; `name` is '' if the path has none (POST to a collection). */
  readonly info: Pick<ResourceRequest, 'group' | 'version' | 'resource' | 'subresource' | 'namespace' | 'name'>;
  /** Name of the object; '' if it is still to be generated. */
  readonly name: string;
  /** Kind of the object passed to plugins: the storage version, whichever version the request uses. */
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  /** Schema of that kind; `replace` decodes with it. */
  readonly schema: StructSchema;
  /** Kind of the request. Its version may be another one than that of `kind`; `resource` is that of `info`. */
  readonly requested: ServedKind;
  /**
   * Other group versions that serve the same object. A webhook that registers one of them with `matchPolicy:
   * Equivalent` is called for this request as well.
   */
  readonly equivalents: readonly ServedKind[];
  /** Undefined for `connect`, which has none. */
  readonly options: OperationOptions | undefined;
  /**
   * The new state; undefined on delete. Always the same object: built-in plugins modify it in place, others replace its
   * content.
   */
  readonly object: ApiObject | undefined;
  /** The stored object; undefined on create (CVE-2021-25735: always the stored one, never the client's). */
  readonly old: ApiObject | undefined;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** Identifies the write: the same object in all of its attempts. */
  readonly write: object;
  /** Aborts with the request: the deadline has passed or the client has disconnected. */
  readonly signal: AbortSignal;
  /** Monotonic milliseconds at which the deadline passes, where that is known. */
  readonly deadlineMs: number | undefined;
  /** The operation of the request, if it is traced. */
  readonly span: Span | undefined;
  /**
   * Waits for the answer of a webhook. Meanwhile the request holds no seat, and other writes of the object go on, which may then
   * come first: a webhook may write the object that it is asked about. Rejects, without asking, if too many requests of the
   * tenant wait so.
   */
  awaitWebhook<T>(ask: () => Promise<T>): Promise<T>;
  /** Number of times that `replace` changed the object. */
  readonly replacements: number;
  /**
   * `object` or `old` as an object of `requested` or of one of `equivalents`. A promise only where a
   * webhook converts.
   */
  inVersion(object: ApiObject, of: ServedKind): ApiObject | Promise<ApiObject>;
  /** Schema of such an object. */
  schemaOf(of: ServedKind): StructSchema;
  /**
   * Replaces the content of the object with `value`, plain JSON of the kind `of` (default: `kind`): types are checked,
   * unknown fields dropped, defaults applied. Throws or rejects if `value` is not a valid object or there is no object to
   * change. Changes of immutable metadata are reverted or rejected after all plugins have run.
   */
  replace(value: unknown, of?: ServedKind): Promise<void> | void;
  warn(text: string): void;
}

/**
 * Admission runs on the write path, inside the retry loop, on the merged object: `mutate`, then the kind's validation,
 * then `validate`. Rejects by throwing a StatusError.
 */
export interface Admission {
  mutate(attributes: AdmissionAttributes): Promise<void> | void;
  validate(attributes: AdmissionAttributes): Promise<void> | void;
}
