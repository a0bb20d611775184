import type { ApiObject } from '../meta/api-object.ts';
import type { ResourceRequest, WriteVerb } from './request-info.ts';
import type { UserInfo } from './user-info.ts';

/** What an admission plugin may look at. */
export interface AdmissionAttributes {
  readonly operation: Exclude<WriteVerb, 'deletecollection'> | 'connect';
  /** What was asked for; its `name` is '' where the path names none: POST to a collection. */
  readonly info: Pick<ResourceRequest, 'group' | 'version' | 'resource' | 'subresource' | 'namespace' | 'name'>;
  /** Of the object; '' where it is yet to be generated. */
  readonly name: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  /** The new state; absent on delete. Mutating plugins change it in place. */
  readonly object: ApiObject | undefined;
  /** What is stored; absent on create (CVE-2021-25735: always the stored one, never the client's). */
  readonly old: ApiObject | undefined;
  readonly user: UserInfo;
  readonly dryRun: boolean;
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
