import { parseStored } from '../../codec/json.ts';
import type { Claim, ShownClaim } from '../../kinds/allocation.ts';
import type { Kind } from '../../kinds/kind.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { Scope } from '../../meta/scope.ts';
import { keyPrefix } from '../../resources/resource.ts';
import { equalValues } from '../../schema/equal-values.ts';
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

/** Claims of an object by their keys. */
function claimsByKey(
  kind: Pick<Kind, 'claims'>,
  scope: Scope,
  object: ApiObject | undefined,
): ReadonlyMap<string, Claim> {
  if (!kind.claims || !object) return new Map();
  return new Map(kind.claims(object).map((claim) => [claimKey(scope, claim), claim]));
}

/** Whether a write failed because somebody else holds a value. `own`: store key prefix of the objects that are written. */
export const isClaimTaken = (error: unknown, own?: string): error is StoreError =>
  isStoreError(error, 'exists') &&
  error.key !== undefined &&
  (own === undefined ? error.key.includes(folder) : !error.key.startsWith(own));

/** The object that shows a claim: its key, and what is to be stored. Undefined where claims are not shown. */
export type ShowClaim = (shown: ShownClaim) => { readonly key: string; readonly encoded: () => Buffer } | undefined;

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
  show?: ShowClaim,
): Promise<readonly BatchWrite[]> {
  const [held, wanted] = [claimsByKey(kind, scope, before), claimsByKey(kind, scope, after)];
  const created = [...wanted].filter(([each]) => !held.has(each));
  const released = [...held].filter(([each]) => !wanted.has(each));
  const value = after && claimValue(holderOf(key, after));
  const deletions = await Promise.all(
    released.map(async ([each, { shown }]): Promise<BatchWrite[]> => {
      const [record, hidden] = await Promise.all([store.get(each), shown && show && hideClaim(store, shown, show)]);
      if (!record || !before || !isSameHolder(readClaim(record.value), holderOf(key, before))) return [];
      return [{ verb: 'delete', key: each, expected: record.revision }, ...(hidden ?? [])];
    }),
  );
  return [
    ...created.flatMap(([each, { shown }]): BatchWrite[] => {
      if (!value) return [];
      const made = shown && show?.(shown);
      return [
        { verb: 'create', key: each, value },
        ...(made ? [{ verb: 'create', key: made.key, value: made.encoded() } as const] : []),
      ];
    }),
    ...deletions.flat(),
    ...(after ? [] : await removalsAlong(store, { kind, scope, key })),
  ];
}

/** Removes the object that shows a claim, if it is as the server made it and no finalizers hold it. Others are for the repair. */
async function hideClaim(
  store: Pick<Store, 'get'>,
  shown: ShownClaim,
  show: ShowClaim,
): Promise<readonly BatchWrite[]> {
  const made = show(shown);
  const record = made && (await store.get(made.key));
  if (!record || record.corrupt) return [];
  const found = parseStored(Buffer.from(record.value)) as unknown as ApiObject;
  if ((found.metadata.finalizers ?? []).length > 0 || !showsSame(found, shown.object)) return [];
  return [{ verb: 'delete', key: record.key, expected: record.revision }];
}

/** Whether two objects say the same of a claim: all but metadata. */
export const showsSame = (
  { metadata: _some, ...said }: ApiObject,
  { metadata: _other, ...expected }: ApiObject,
): boolean => equalValues(said, expected);

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
