import { issuedCertificate } from '../../kinds/certificates/issued-certificate.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { certificateOf, conditionOf, conditionsOf } from './signing-request.ts';

const hourMs = 3600_000;
const decidedMs = hourMs;
const pendingMs = 24 * hourMs;

/** When a request is due for deletion. */
export interface Due {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Wall-clock milliseconds; infinite for requests that stay. */
  readonly atMs: number;
  readonly because: string;
}

/** When a request is due for deletion, as kube-controller-manager 1.32 has it. */
export function dueOf(request: ApiObject): Due {
  const { uid = '', resourceVersion = '', creationTimestamp, deletionTimestamp } = request.metadata;
  const certificate = certificateOf(request);
  const approved = certificate === '' ? undefined : conditionOf(request, 'Approved');
  const rules = [
    ['nobody has decided about it', conditionsOf(request).length > 0 ? undefined : creationTimestamp, pendingMs],
    ['it was denied', conditionOf(request, 'Denied')?.lastUpdateTime, decidedMs],
    ['it has failed', conditionOf(request, 'Failed')?.lastUpdateTime, decidedMs],
    ['its certificate was issued', approved?.lastUpdateTime, decidedMs],
    ['its certificate has expired', approved && endOf(certificate), 0],
  ] as const;
  const dues = rules.map(([because, since, keptMs]) => ({ because, atMs: Date.parse(since ?? '') + keptMs }));
  // One that is being deleted waits for its finalizers.
  const [first] = deletionTimestamp
    ? []
    : dues.filter(({ atMs }) => !Number.isNaN(atMs)).sort((a, b) => a.atMs - b.atMs);
  return { uid, resourceVersion, ...(first ?? { because: '', atMs: Number.POSITIVE_INFINITY }) };
}

/** End of the issued certificate; undefined if it cannot be read. */
function endOf(certificate: string): string | undefined {
  try {
    return issuedCertificate(certificate).validTo;
  } catch {
    // Written by another signer: its request is deleted for another reason.
    return undefined;
  }
}
