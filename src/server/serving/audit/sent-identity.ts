import type { RequestBody } from '../../../registry/verb.ts';
import { isRecord } from '../../../schema/own-property.ts';

/** Which object a body says that it is. Empty: it does not say. */
export type SentIdentity = Readonly<Record<'namespace' | 'name' | 'uid' | 'resourceVersion', string>>;

/** Undefined for bodies that are no objects, patches among them. */
export function sentIdentity(body: RequestBody | undefined): SentIdentity | undefined {
  if (!body || body.patch !== undefined || !isRecord(body.value)) return undefined;
  const { metadata } = body.value;
  if (!isRecord(metadata)) return undefined;
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return {
    namespace: text(metadata['namespace']),
    name: text(metadata['name']),
    uid: text(metadata['uid']),
    resourceVersion: text(metadata['resourceVersion']),
  };
}
