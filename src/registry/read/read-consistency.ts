import { limits } from '../../base/limits.ts';
import type { RevisionLine } from '../../cache/cache.ts';
import { tooLargeResourceVersion } from '../../meta/status-error.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { Revision } from '../../store/store.ts';
import type { RegistryParts, VerbRequest } from '../verb.ts';
import type { Consistency } from './list-options.ts';

/**
 * Waits until the cache of the resource's store can serve a read of this consistency (spec section 4.5): *most recent* until it has everything
 * committed now; *not older than* and *exact* until it has reached the revision, at most `futureRevisionWaitMs`, then
 * 504. Returns undefined if there is nothing to wait for, the usual case, so that the read needs no promise and no
 * abort signal.
 */
export function awaitConsistency(
  parts: Pick<RegistryParts, 'clock'>,
  consistency: Consistency,
  request: Pick<VerbRequest, 'signal'> & { readonly served: Pick<ServedResource, 'collection'> },
): Promise<unknown> | undefined {
  const { line } = request.served.collection;
  switch (consistency.type) {
    case 'any':
      return undefined;
    case 'mostRecent':
      return waited(parts, request, line.freshFor(request));
    case 'notOlderThan':
    case 'exact': {
      const { revision } = consistency;
      if (revision <= line.revision) return undefined;
      return waited(parts, request, reach(line, revision, request.signal));
    }
  }
}

function waited(
  parts: Pick<RegistryParts, 'clock'>,
  request: { readonly served: Pick<ServedResource, 'collection'> },
  until: Promise<unknown> | undefined,
): Promise<void> | undefined {
  return until && measured(parts, request, until);
}

async function measured(
  { clock }: Pick<RegistryParts, 'clock'>,
  { served }: { readonly served: Pick<ServedResource, 'collection'> },
  until: Promise<unknown>,
): Promise<void> {
  const sinceMs = clock.monotonic();
  try {
    await until;
  } finally {
    served.collection.metrics.waited((clock.monotonic() - sinceMs) / 1000);
  }
}

async function reach(line: RevisionLine, revision: Revision, signal: AbortSignal): Promise<void> {
  const reached = await line.waitFor(revision, limits.futureRevisionWaitMs, signal);
  if (!reached) throw tooLargeResourceVersion(revision, line.revision);
}
