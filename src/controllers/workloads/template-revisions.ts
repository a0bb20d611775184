import type { Clock } from '../../base/time/clock.ts';
import { type ApiClient, hasReason } from '../../client/api-client.ts';
import type { SharedInformer } from '../../client/shared-informers.ts';
import { asControllerRevision } from '../../kinds/apps/controller-revision.ts';
import type { PodTemplateSpec } from '../../kinds/core/pod/pod-template-spec.ts';
import { type ApiObject, nameOf } from '../../meta/api-object.ts';
import type { Selector } from '../../meta/selectors.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { claim } from './claim.ts';
import { byController, collectionOf, controllerOf, controllerReference, type ObjectKind, pathOf } from './owner.ts';
import { writeStatus } from './write-status.ts';

/** An object that keeps the templates it has had as revisions. */
interface RevisionOwner {
  readonly kind: ObjectKind;
  readonly owner: ApiObject;
  readonly selector: Selector;
  readonly template: PodTemplateSpec;
  readonly status: { readonly collisionCount?: number | null | undefined };
  /** Hash in the name of the revision of the present template, and the label that has it too. */
  readonly hash: string;
  readonly hashLabel: string;
}

interface RevisionsOptions {
  readonly client: ApiClient;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly revisionKind: ObjectKind;
  readonly revisions: SharedInformer;
  readonly owners: SharedInformer;
  readonly signal: AbortSignal;
}

export interface TemplateRevisions {
  /** The revision of the present template: the newest one. */
  readonly present: ApiObject;
  /** Other revisions of the same template, as a restored owner may adopt. */
  readonly duplicates: readonly ApiObject[];
  /** Revisions of other templates, older ones first. */
  readonly former: readonly ApiObject[];
}

/** The longest beginning of a revision's name that leaves room for the hash. */
const revisionPrefixMax = 223;

const numberOf = (revision: ApiObject): number => asControllerRevision(revision).revision ?? 0;

/** A strategic merge patch by which clients go back to the template. */
const dataOf = (template: PodTemplateSpec) => ({ spec: { template: { ...template, $patch: 'replace' } } });

/** The template that a revision restores. */
export const templateIn = (revision: ApiObject): PodTemplateSpec => {
  const data = asControllerRevision(revision).data as { readonly spec?: { readonly template?: object } } | undefined;
  const { $patch: _, ...template } = (data?.spec?.template ?? {}) as Readonly<Record<string, unknown>>;
  return template as PodTemplateSpec;
};

/**
 * The revisions of an object, with that of its present template, which is made or becomes the newest one again. Rejects if
 * another object has its name; the collision is noted in the status, so that the next attempt takes another name.
 */
export async function templateRevisions(of: RevisionOwner, options: RevisionsOptions): Promise<TemplateRevisions> {
  const { client, clock, revisionKind, revisions: informer, signal } = options;
  await claim(of, { client, clock, signal, informer, dependents: revisionKind });
  const data = dataOf(of.template);
  const all = [...informer.indexed(byController, of.owner.metadata.uid ?? '')].sort(byAge);
  const equal = all.filter((each) => equalValues(asControllerRevision(each).data, data));
  const former = all.filter((each) => !equal.includes(each));
  const newest = former.reduce((max, each) => Math.max(max, numberOf(each)), 0) + 1;
  const last = equal.at(-1);
  const present = last ? await renewed(last, newest, options) : await created(of, newest, options);
  return { present, duplicates: equal.slice(0, -1), former };
}

const byAge = (a: ApiObject, b: ApiObject): number =>
  numberOf(a) - numberOf(b) ||
  (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? '') ||
  nameOf(a).localeCompare(nameOf(b));

async function renewed(revision: ApiObject, newest: number, options: RevisionsOptions): Promise<ApiObject> {
  if (numberOf(revision) >= newest) return revision;
  const { client, revisionKind, revisions, signal } = options;
  const changed = { ...revision, revision: newest };
  const written = await client.update<ApiObject>(pathOf(revisionKind, revision), changed, signal);
  await revisions.reached(written.metadata.resourceVersion, signal);
  return written;
}

async function created(of: RevisionOwner, newest: number, options: RevisionsOptions): Promise<ApiObject> {
  const { client, revisionKind, revisions, signal } = options;
  const { kind, owner, template, hash, hashLabel } = of;
  const { namespace = '', annotations } = owner.metadata;
  const revision = {
    ...{ apiVersion: revisionKind.apiVersion, kind: revisionKind.kind },
    metadata: {
      ...{ name: `${nameOf(owner).slice(0, revisionPrefixMax)}-${hash}`, namespace },
      labels: { ...template.metadata?.labels, [hashLabel]: hash },
      ...(annotations && { annotations }),
      ownerReferences: [controllerReference(kind, owner)],
    },
    ...{ data: dataOf(template), revision: newest },
  };
  try {
    const made = await client.create<ApiObject>(collectionOf(revisionKind, namespace), revision, signal);
    await revisions.reached(made.metadata.resourceVersion, signal);
    return made;
  } catch (error) {
    if (!hasReason(error, 'AlreadyExists')) throw error;
    const found = await client.get<ApiObject>(pathOf(revisionKind, revision), signal);
    const isOurs = controllerOf(found)?.uid === owner.metadata.uid;
    if (isOurs && equalValues(asControllerRevision(found).data, revision.data)) return found;
    const status = { ...of.status, collisionCount: (of.status.collisionCount ?? 0) + 1 };
    await writeStatus({ client, kind, object: owner, status, informer: options.owners, signal });
    throw error;
  }
}

/** Deletes the oldest of these revisions, but those that are in use, until no more than the limit are left. */
export async function limitRevisions(
  revisions: readonly ApiObject[],
  { limit, isUsed }: { readonly limit: number; readonly isUsed: (revision: ApiObject) => boolean },
  options: RevisionsOptions,
): Promise<void> {
  const surplus = revisions.length - limit;
  if (limit < 0 || surplus <= 0) return;
  for (const revision of revisions.filter((each) => !isUsed(each)).slice(0, surplus)) {
    await deleteRevision(revision, options);
  }
}

export async function deleteRevision(revision: ApiObject, options: RevisionsOptions): Promise<void> {
  const { client, revisionKind, revisions, signal } = options;
  const { namespace = '', uid } = revision.metadata;
  try {
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid } };
    await client.delete(pathOf(revisionKind, revision), body, signal);
  } catch (error) {
    // Gone, or another one under its name.
    if (!hasReason(error, 'NotFound', 'Conflict')) throw error;
  }
  await revisions.deleted(`${namespace}/${nameOf(revision)}`, uid, signal);
}
