import type { Change, Revision } from '../../../src/store/store.ts';
import type { RecordedEvent } from '../../support/audit.ts';

const leaseKey = '/coordination.orch.io/leases/orch-system/orch-controller-manager';
const leaseUri = /\/leases(?:\/orch-controller-manager)?(?:\?|$)/;
const candidate = 'system:orch-controller-manager';
const controllers = 'system:serviceaccount:orch-system:';

interface Terms {
  /** What is wrong, in words. */
  readonly problems: readonly string[];
  /** How often another candidate took the lease. */
  readonly terms: number;
  /** Writes of controllers that were looked at. */
  readonly writes: number;
}

interface Holding {
  readonly from: Revision;
  /** Empty where nobody holds the lease. */
  readonly holder: string;
}

/**
 * No controller writes while another server holds the lease: `audits` has what each server carried out. Those of a term that was
 * given back may arrive until somebody else has it.
 */
export function termsOf(changes: readonly Change[], audits: readonly (readonly RecordedEvent[])[]): Terms {
  const holdings = changes.flatMap((change): readonly Holding[] =>
    change.key === leaseKey && change.type !== 'delete'
      ? [{ from: change.revision, holder: JSON.parse(Buffer.from(change.value).toString()).spec.holderIdentity }]
      : [],
  );
  const taken = holdings.filter(({ holder }, index) => holder !== '' && holder !== holdings[index - 1]?.holder);
  const writes = audits.flatMap((events, server) => writesOf(events).map((write) => ({ ...write, server })));
  const identities = audits.map(identitiesOf);
  const problems = writes.flatMap(({ by, revision, server }) => {
    const { holder = '' } = holdings.findLast(({ from }) => from <= revision) ?? {};
    if (holder === '' || identities[server]?.has(holder)) return [];
    return [`server ${server}: ${by} wrote at ${revision}, while ${holder} of another server led`];
  });
  return { problems, terms: taken.length, writes: writes.length };
}

/** By which names a server was a candidate. */
const identitiesOf = (events: readonly RecordedEvent[]): ReadonlySet<string> =>
  new Set(
    events.flatMap(({ user, requestURI, requestObject }) =>
      user.username === candidate && leaseUri.test(requestURI)
        ? [String((requestObject?.['spec'] as { readonly holderIdentity?: string } | undefined)?.holderIdentity)]
        : [],
    ),
  );

/** Writes of controllers whose revision is known. */
function writesOf(events: readonly RecordedEvent[]): readonly { readonly by: string; readonly revision: Revision }[] {
  return events.flatMap(({ user: { username = '' }, verb, requestURI, responseStatus, responseObject }) => {
    const { resourceVersion } = (responseObject?.['metadata'] ?? {}) as { readonly resourceVersion?: string };
    // What is not created may be as it was before, at a revision of another write.
    if (verb !== 'create' || responseStatus?.code !== 201 || resourceVersion === undefined) return [];
    return username.startsWith(controllers)
      ? [{ by: `${username} ${requestURI}`, revision: Number(resourceVersion) }]
      : [];
  });
}
