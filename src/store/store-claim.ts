import type { Revision } from './store.ts';

/** The key that records whose store it is. It is outside of all prefixes of resources. */
export const claimKey = '/.dialect';

/** Keys of the servers that run on the store, outside of all prefixes too: the name of the machine, and what is the server's own. */
export const serversFolder = '/.servers/';

/** Keys of the addresses of servers, which those of the release before have instead. */
export const addressesFolder = '/.apiservers/';

/** How revisions of a store differ from those of its driver: see `movedRevisions`. */
export interface MovedRevisions {
  /** Added to each revision of the driver. */
  readonly by: Revision;
  /** History before this one, moved, is that of another store: it counts as compacted. */
  readonly floor: Revision;
}

type StoreClaim =
  | { readonly type: 'served'; readonly dialect: string; readonly moved: MovedRevisions | undefined }
  /** Records are being copied into the store; `source` identifies the data that they come from. */
  | { readonly type: 'unfinished'; readonly source: string };

const unfinished = 'unfinished-migration';

/**
 * `orch`, or `orch revisions=5000,5120`, or `unfinished-migration <source>`: one word for a store that began where it is, so that programs that know
 * no others refuse these, and name them.
 */
export function formatClaim(claim: StoreClaim): Buffer {
  if (claim.type === 'unfinished') return Buffer.from(`${unfinished} ${claim.source}`);
  const { dialect, moved } = claim;
  return Buffer.from(moved ? `${dialect} revisions=${moved.by},${moved.floor}` : dialect);
}

export function parseClaim(value: Uint8Array): StoreClaim {
  const text = Buffer.from(value).toString();
  const [dialect = '', more = ''] = text.split(' ', 2);
  if (dialect === unfinished) return { type: 'unfinished', source: more };
  const [, by, floor] = /^revisions=(\d{1,16}),(\d{1,16})$/.exec(more) ?? [];
  if (by !== undefined && floor !== undefined) {
    return { type: 'served', dialect, moved: { by: Number(by), floor: Number(floor) } };
  }
  // What a later program wrote is no dialect that this one has.
  return { type: 'served', dialect: more === '' ? dialect : text, moved: undefined };
}
