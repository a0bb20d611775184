import { saysOtherKind } from '../../../content/body.ts';
import type { RequestBody, VerbRequest } from '../../../registry/verb.ts';
import { isRecord } from '../../../schema/own-property.ts';

/** Which object a body says that it is. Empty: it does not say. */
export type SentIdentity = Readonly<Record<'namespace' | 'name' | 'uid' | 'resourceVersion', string>>;

/** Undefined for bodies that are no objects, patches among them, and for objects of another kind than the path takes. */
export function sentIdentity(
  body: RequestBody | undefined,
  addressed: Pick<VerbRequest, 'info' | 'served'>,
): SentIdentity | undefined {
  if (!body || body.patch !== undefined || !isRecord(body.value)) return undefined;
  if (saysOtherKind(body.value, addressed)) return undefined;
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
