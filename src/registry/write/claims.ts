import { parseStored } from '../../codec/json.ts';
import type { Claim } from '../../kinds/allocation.ts';
import type { Kind } from '../../kinds/kind.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { Scope } from '../../meta/scope.ts';
import { keyPrefix } from '../../resources/resource.ts';
import { type BatchWrite, isStoreError, type Store, type StoreError } from '../../store/store.ts';

/**
 * Claims in the store: a key for each value that an object holds, whose creation fails while somebody else holds it. It stands
 * outside of all prefixes of resources, so that the cache does not see it. Written in one batch with the object.
 */

/** No API group has that name. */
const folder = '/.claims/';

export const claimPrefix = (scope: Scope, folderName = ''): string =>
  `${scope.keyPrefix}${folder}${folderName === '' ? '' : `${folderName}/`}`;

/** What an object holds. */
export interface Holder {
  /** Key of the object in the store. */
  readonly key: string;
  readonly uid: string;
}

export const holderOf = (key: string, object: ApiObject): Holder => ({ key, uid: object.metadata.uid ?? '' });

export const claimValue = ({ key, uid }: Holder): Buffer => Buffer.from(JSON.stringify({ key, uid }));

/** Undefined for what is no claim. */
export function readClaim(value: Uint8Array): Holder | undefined {
  try {
    const { key, uid } = JSON.parse(Buffer.from(value).toString()) as Partial<Holder>;
    return typeof key === 'string' && typeof uid === 'string' ? { key, uid } : undefined;
  } catch {
    return undefined;
  }
}

export const isSameHolder = (some: Holder | undefined, other: Holder): boolean =>
  some?.key === other.key && some.uid === other.uid;

export const claimKey = (scope: Scope, claim: Claim): string => `${claimPrefix(scope, claim.folder)}${claim.value}`;

/** Keys of the claims of an object. */
function claimKeys(kind: Pick<Kind, 'claims'>, scope: Scope, object: ApiObject | undefined): readonly string[] {
  if (!kind.claims || !object) return [];
  return kind.claims(object).map((claim) => claimKey(scope, claim));
}

/** Whether a write failed because somebody else holds a value. */
export const isClaimTaken = (error: unknown): error is StoreError =>
  isStoreError(error, 'exists') && error.key?.includes(folder) === true;

interface ClaimChange {
  readonly kind: Pick<Kind, 'claims' | 'takesAlong' | 'group' | 'resource'>;
  readonly scope: Scope;
  /** Key of the object. */
  readonly key: string;
  /** Undefined of an object that is created. */
  readonly before: ApiObject | undefined;
  /** Undefined of an object that is removed. */
  readonly after: ApiObject | undefined;
}

/**
 * The writes that keep claims in line with a write of their object, for the same batch. What the object does not hold any more
 * is released unless somebody else holds it, which only a repair could have caused.
 */
export async function claimWrites(
  store: Pick<Store, 'get'>,
  { kind, scope, key, before, after }: ClaimChange,
): Promise<readonly BatchWrite[]> {
  const [held, wanted] = [claimKeys(kind, scope, before), claimKeys(kind, scope, after)];
  const created = wanted.filter((each) => !held.includes(each));
  const released = held.filter((each) => !wanted.includes(each));
  const value = after && claimValue(holderOf(key, after));
  const deletions = await Promise.all(
    released.map(async (each): Promise<BatchWrite[]> => {
      const record = await store.get(each);
      if (!record || !before || !isSameHolder(readClaim(record.value), holderOf(key, before))) return [];
      return [{ verb: 'delete', key: each, expected: record.revision }];
    }),
  );
  return [
    ...created.flatMap((each): BatchWrite[] => (value ? [{ verb: 'create', key: each, value }] : [])),
    ...deletions.flat(),
    ...(after ? [] : await removalsAlong(store, { kind, scope, key })),
  ];
}

/** Removes what goes with an object, unless finalizers hold it. */
async function removalsAlong(
  store: Pick<Store, 'get'>,
  { kind, scope, key }: Pick<ClaimChange, 'kind' | 'scope' | 'key'>,
): Promise<readonly BatchWrite[]> {
  const { group, resource, takesAlong = [] } = kind;
  const place = key.slice(keyPrefix(scope, { group, resource }).length);
  const removals = await Promise.all(
    takesAlong.map(async (other): Promise<BatchWrite[]> => {
      const record = await store.get(`${keyPrefix(scope, { group, resource: other })}${place}`);
      if (!record || record.corrupt) return [];
      const { metadata } = parseStored(Buffer.from(record.value)) as unknown as ApiObject;
      if ((metadata.finalizers ?? []).length > 0) return [];
      return [{ verb: 'delete', key: record.key, expected: record.revision }];
    }),
  );
  return removals.flat();
}
