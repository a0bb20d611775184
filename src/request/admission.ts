import type { ApiObject } from '../meta/api-object.ts';
import type { StructSchema } from '../schema/schema.ts';
import type { Annotator } from './audit-annotations.ts';
import type { ResourceRequest } from './request-info.ts';
import type { UserInfo } from './user-info.ts';

/** What is done to the object. A patch is an update, or a create where it makes the object. */
export type AdmissionOperation = 'create' | 'update' | 'delete' | 'connect';

/** A kind, and the resource whose path leads to objects of it. */
export interface ServedKind {
  /** Full name; '' for core. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
}

/**
 * The options of a request as an object, with what the client sent. As published, they go with the operation: a patch that
 * updates has UpdateOptions, and whatever creates has CreateOptions.
 */
export interface OperationOptions {
  readonly kind: 'CreateOptions' | 'UpdateOptions' | 'DeleteOptions';
  readonly apiVersion: string;
  readonly [option: string]: unknown;
}

/** A request as admission sees it. */
export interface AdmissionAttributes extends Annotator {
  readonly operation: AdmissionOperation;
  /** What was asked for; its `name` is '' where the path names none: POST to a collection. */
  readonly info: Pick<ResourceRequest, 'group' | 'version' | 'resource' | 'subresource' | 'namespace' | 'name'>;
  /** Of the object; '' where it is yet to be generated. */
  readonly name: string;
  /** Of the object as it is shown here: in the form that is stored, whichever version the request names. */
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  /** Of that kind; `replace` reads by it. */
  readonly schema: StructSchema;
  /**
   * The other kinds, than the one that the request names, by which the same object is served. Whoever asks for one of them with `matchPolicy: Equivalent` is
   * asked about this request as well.
   */
  readonly equivalents: readonly ServedKind[];
  /** Absent with `connect`, which has none. */
  readonly options: OperationOptions | undefined;
  /**
   * The new state; absent on delete. Stays the same object throughout: plugins that are part of the server change it in
   * place, others replace what it says.
   */
  readonly object: ApiObject | undefined;
  /** What is stored; absent on create (CVE-2021-25735: always the stored one, never the client's). */
  readonly old: ApiObject | undefined;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** Aborts with the request: when its deadline has passed, or its client is gone. */
  readonly signal: AbortSignal;
  /** How often `replace` has changed the object. */
  readonly replacements: number;
  /**
   * Makes the object what `value`, plain JSON, says: types are checked, unknown fields dropped, defaults set anew. Throws
   * where it is no such object, or there is none to change. What nobody may change about an object is put back, or refused,
   * when all plugins have run.
   */
  replace(value: unknown): void;
  warn(text: string): void;
}

/**
 * Runs on the write path, inside the retry loop, on the merged object: first `mutate`, then the kind's validation, then
 * `validate`. Rejects by throwing a StatusError.
 */
export interface Admission {
  mutate(attributes: AdmissionAttributes): Promise<void> | void;
  validate(attributes: AdmissionAttributes): Promise<void> | void;
}
