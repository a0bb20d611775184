import type { ApiObject } from '../../meta/api-object.ts';

/**
 * Removes duplicate owner references with a warning, as kube-apiserver does. `from` is the stage that may have added
 * duplicates. References to the same owner that differ in any field are kept.
 */
export function dedupOwnerReferences(
  { metadata }: ApiObject,
  from: 'client' | 'admission',
  client: { warn(text: string): void },
): void {
  const { ownerReferences } = metadata;
  if (ownerReferences === undefined || ownerReferences.length < 2) return;
  const kept = new Map<string, (typeof ownerReferences)[number]>();
  const joined: string[] = [];
  for (const reference of ownerReferences) {
    // The references are decoded, so equal ones have their fields in the same order.
    const text = JSON.stringify(reference);
    if (kept.has(text)) joined.push(reference.uid ?? '');
    else kept.set(text, reference);
  }
  if (joined.length === 0) return;
  metadata.ownerReferences = [...kept.values()];
  client.warn(`.metadata.ownerReferences contains duplicate entries${seenAfter[from]}${advice}${joined.join(', ')}`);
}

const seenAfter = { client: '', admission: ' after mutating admission happens' } as const;
const advice =
  '; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ';
