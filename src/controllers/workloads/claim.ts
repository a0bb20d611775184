import { loadedOnce } from '../../base/loaded-once.ts';
import type { Clock } from '../../base/time/clock.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import { type ApiClient, hasReason } from '../../client/api-client.ts';
import type { SharedInformer } from '../../client/shared-informers.ts';
import { selectsLabels } from '../../kinds/meta/label-selector.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { Selector } from '../../meta/selectors.ts';
import { byController, controllerOf, controllerReference, type ObjectKind, orphansIn, pathOf } from './owner.ts';

/** A controller's object that claims others. */
interface Claimant {
  readonly kind: ObjectKind;
  readonly owner: ApiObject;
  readonly selector: Selector;
}

interface ClaimOptions {
  /** The kind of the claimed objects, and all of them. */
  readonly dependents: ObjectKind;
  readonly informer: SharedInformer;
  readonly client: ApiClient;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly signal: AbortSignal;
  /** Objects that are neither claimed nor released where it is false. Default: all are. */
  readonly isCandidate?: (object: ApiObject) => boolean;
  /** Finalizers that an object gets when it is adopted, and that go when it is released. */
  readonly finalizers?: readonly string[];
}

/** What a claimant does about an object. */
type Claim = 'keep' | 'adopt' | 'release' | 'leave';

/** As in kube-controller-manager: an owner that is being deleted neither adopts nor releases; a terminating orphan stays one. */
export function claimOf({ owner, selector }: Pick<Claimant, 'owner' | 'selector'>, object: ApiObject): Claim {
  const isSelected = selectsLabels(selector, object.metadata.labels);
  const isOwnerLeaving = owner.metadata.deletionTimestamp !== undefined;
  const controller = controllerOf(object);
  if (controller) {
    if (controller.uid !== owner.metadata.uid) return 'leave';
    if (isSelected) return 'keep';
    return isOwnerLeaving ? 'leave' : 'release';
  }
  const isAdoptable =
    isSelected &&
    !isOwnerLeaving &&
    object.metadata.deletionTimestamp === undefined &&
    object.metadata.namespace === owner.metadata.namespace;
  return isAdoptable ? 'adopt' : 'leave';
}

/**
 * The objects that belong to the claimant, after it has adopted orphans that it selects, and released what it owns and no
 * longer selects. Before the first adoption the owner is read anew: one that is gone or being deleted must not adopt what the
 * garbage collector has orphaned. Rejects after the first failure; what others have changed or deleted meanwhile is none.
 */
export async function claim(claimant: Claimant, options: ClaimOptions): Promise<readonly ApiObject[]> {
  const { owner } = claimant;
  const { clock, informer, signal, isCandidate = () => true } = options;
  const candidates = [
    ...informer.indexed(byController, owner.metadata.uid ?? ''),
    ...informer.indexed(byController, orphansIn(owner.metadata.namespace ?? '')),
  ];
  const claimed: ApiObject[] = [];
  const mayAdopt = loadedOnce(() => checkOwner(claimant, options));
  let written: string | undefined;
  const slice = new TimeSlice(clock);
  for (const object of candidates) {
    if (slice.over) await slice.next();
    if (!isCandidate(object)) continue;
    const what = claimOf(claimant, object);
    if (what === 'keep') claimed.push(object);
    if (what === 'keep' || what === 'leave') continue;
    if (what === 'adopt') await mayAdopt();
    const patch = what === 'adopt' ? adoption(claimant, object, options) : release(claimant, object, options);
    const patched = await patchOwned(patch, object, options);
    written = patched?.metadata.resourceVersion ?? written;
    if (patched && what === 'adopt') claimed.push(patched);
  }
  if (written !== undefined) await informer.reached(written, signal);
  return claimed;
}

/** Throws unless the owner exists and is not being deleted. */
async function checkOwner({ kind, owner }: Claimant, { client, signal }: ClaimOptions): Promise<void> {
  const { namespace, name, uid } = owner.metadata;
  const { metadata } = await client.get(pathOf(kind, owner), signal);
  if (metadata.uid !== uid) {
    throw new Error(`original ${kind.kind} ${namespace}/${name} is gone: got uid ${metadata.uid}, wanted ${uid}`);
  }
  if (metadata.deletionTimestamp !== undefined) {
    throw new Error(`${namespace}/${name} has just been deleted at ${metadata.deletionTimestamp}`);
  }
}

/** The UID is a precondition: an object of the same name that came later stays as it is. */
const adoption = (
  { kind, owner }: Claimant,
  { metadata: { uid } }: ApiObject,
  { finalizers }: Pick<ClaimOptions, 'finalizers'>,
) => ({
  metadata: { ownerReferences: [controllerReference(kind, owner)], uid, ...(finalizers && { finalizers }) },
});

const release = (
  { owner }: Claimant,
  { metadata: { uid } }: ApiObject,
  { finalizers }: Pick<ClaimOptions, 'finalizers'>,
) => ({
  metadata: {
    uid,
    ownerReferences: [{ $patch: 'delete', uid: owner.metadata.uid }],
    ...(finalizers && { '$deleteFromPrimitiveList/finalizers': finalizers }),
  },
});

/** Undefined if the object is gone, or is another one by now. */
async function patchOwned(
  patch: object,
  object: ApiObject,
  { client, dependents, signal }: ClaimOptions,
): Promise<ApiObject | undefined> {
  try {
    return await client.strategicPatch(pathOf(dependents, object), patch, signal);
  } catch (error) {
    if (hasReason(error, 'NotFound', 'Invalid') || isOtherUid(error)) return undefined;
    throw error;
  }
}

const isOtherUid = (error: unknown): boolean => hasReason(error, 'Conflict');
