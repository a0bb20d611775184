import { type ApiClient, hasReason } from '../../../client/api-client.ts';
import type { SharedInformer } from '../../../client/shared-informers.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import { setNames } from '../../../dialect/workload-names.ts';
import { asStatefulSet } from '../../../kinds/apps/stateful-set.ts';
import { asPod } from '../../../kinds/core/pod/pod-schema.ts';
import type { PodTemplateSpec } from '../../../kinds/core/pod/pod-template-spec.ts';
import { type ApiObject, nameOf } from '../../../meta/api-object.ts';
import type { InformedContext } from '../../controller.ts';
import { aboutOf, collectionOf, controllerReference, type ObjectKind, pathOf, podKind } from '../owner.ts';
import { messageOf, podOf } from '../pod-control.ts';
import { claimOwners } from './claim-owners.ts';
import { ordinalOf } from './numbered-pods.ts';

export const claimKind: ObjectKind = {
  ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', resource: 'persistentvolumeclaims' },
};

interface StatefulPodsOptions extends Pick<InformedContext, 'client' | 'events' | 'dialect'> {
  readonly kind: ObjectKind;
  readonly pods: SharedInformer;
  readonly claims: SharedInformer;
  readonly signal: AbortSignal;
}

/** Whether the set still wants a pod of this number. */
export function isWanted(set: ApiObject, ordinal: number): boolean {
  const { ordinals, replicas = 0 } = asStatefulSet(set).spec ?? {};
  const index = ordinal - (ordinals?.start ?? 0);
  return index >= 0 && index < replicas;
}

/** Writes pods of stateful sets and their claims, with the published Events. */
export class StatefulPods {
  readonly #options: StatefulPodsOptions;
  readonly #client: ApiClient;
  readonly #dialect: Dialect;

  constructor(options: StatefulPodsOptions) {
    this.#options = options;
    this.#client = options.client;
    this.#dialect = options.dialect;
  }

  /** Creates the claims of a pod that are missing, and then the pod. False if a claim of a former pod is still to go. */
  async create(
    set: ApiObject,
    ordinal: number,
    made: { readonly template: PodTemplateSpec; readonly revision: string },
  ): Promise<boolean> {
    const { kind, pods, signal } = this.#options;
    const name = `${nameOf(set)}-${ordinal}`;
    if (this.#hasStaleClaim(set, name, ordinal)) return false;
    const { revisionHash } = setNames(this.#dialect);
    const { serviceName } = asStatefulSet(set).spec ?? {};
    const { template, revision } = made;
    await this.#reported('create', set, name, async () => {
      await this.#createClaims(set, name, ordinal);
      const object = podOf(kind, set, {
        ...{ template, name, labels: { ...this.#identity(name, ordinal), [revisionHash]: revision } },
        spec: {
          hostname: name,
          ...(serviceName && { subdomain: serviceName }),
          volumes: this.#volumes(set, ordinal, template.spec?.volumes),
        },
      });
      const created = await this.#client.create<ApiObject>(
        collectionOf(podKind, set.metadata.namespace),
        object,
        signal,
      );
      await this.#ownClaims(set, created);
      await pods.reached(created.metadata.resourceVersion, signal);
    });
    return true;
  }

  async delete(set: ApiObject, pod: ApiObject): Promise<void> {
    const { pods, signal } = this.#options;
    const { namespace = '', name = '', uid } = pod.metadata;
    await this.#reported('delete', set, name, async () => {
      const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid } };
      try {
        await this.#client.delete(pathOf(podKind, pod), body, signal);
      } catch (error) {
        // Gone, or another one under its name.
        if (!hasReason(error, 'NotFound', 'Conflict')) throw error;
      }
    });
    await pods.deleted(`${namespace}/${name}`, uid, signal);
  }

  /** Gives a pod its labels, volumes and claims again. */
  async settle(set: ApiObject, pod: ApiObject): Promise<void> {
    const { pods, signal } = this.#options;
    const name = nameOf(pod);
    const ordinal = ordinalOf(name, nameOf(set)) ?? 0;
    const { podName } = setNames(this.#dialect);
    const { spec, status } = asPod(pod);
    if (status?.phase === 'Pending') await this.#createClaims(set, name, ordinal);
    await this.ownClaims(set, pod);
    const volumes = spec?.volumes ?? [];
    const hasVolume = (template: ApiObject): boolean =>
      volumes.some(
        (volume) =>
          volume.name === template.metadata.name &&
          volume.persistentVolumeClaim?.claimName === this.#claimName(set, template, ordinal),
      );
    const isStored = this.#claimTemplates(set).every(hasVolume);
    if (pod.metadata.labels?.[podName] === name && isStored) return;
    await this.#reported('update', set, name, async () => {
      await this.#createClaims(set, name, ordinal);
      const changed = {
        ...pod,
        metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, ...this.#identity(name, ordinal) } },
        spec: { ...spec, volumes: this.#volumes(set, ordinal, volumes) },
      };
      const written = await this.#client.update<ApiObject>(pathOf(podKind, pod), changed, signal);
      await pods.reached(written.metadata.resourceVersion, signal);
    });
  }

  /** Makes the set or the pod the controller of the pod's claims, as the retention policy asks. */
  async ownClaims(set: ApiObject, pod: ApiObject): Promise<void> {
    try {
      await this.#ownClaims(set, pod);
    } catch (error) {
      this.#report(set, 'update', nameOf(pod), error);
      throw error;
    }
  }

  async #ownClaims(set: ApiObject, pod: ApiObject): Promise<void> {
    const { claims, events, kind, signal } = this.#options;
    const ordinal = ordinalOf(nameOf(pod), nameOf(set)) ?? 0;
    const { whenDeleted, whenScaled } = asStatefulSet(set).spec?.persistentVolumeClaimRetentionPolicy ?? {};
    const isScaledDown = !isWanted(set, ordinal);
    const owners = { set: controllerReference(kind, set), pod: controllerReference(podKind, pod), isScaledDown };
    for (const template of this.#claimTemplates(set)) {
      const name = this.#claimName(set, template, ordinal);
      const claim = claims.get(`${set.metadata.namespace}/${name}`);
      if (!claim) continue;
      const wanted = claimOwners(claim.metadata.ownerReferences, { ...owners, whenDeleted, whenScaled });
      if (wanted.isConflicting) {
        const reason = 'ConflictingController';
        const message = `PersistentVolumeClaim ${name} has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim`;
        events.record({ about: aboutOf(kind, set), type: 'Warning', reason, message });
      }
      if (!wanted.references) continue;
      const changed = { ...claim, metadata: { ...claim.metadata, ownerReferences: wanted.references } };
      const written = await this.#client.update<ApiObject>(pathOf(claimKind, claim), changed, signal);
      await claims.reached(written.metadata.resourceVersion, signal);
    }
  }

  /** A claim that goes with a former pod of this name cannot be used by the next one. */
  #hasStaleClaim(set: ApiObject, pod: string, ordinal: number): boolean {
    if (asStatefulSet(set).spec?.persistentVolumeClaimRetentionPolicy?.whenScaled !== 'Delete') return false;
    return this.#claimTemplates(set).some((template) => {
      const name = this.#claimName(set, template, ordinal);
      const { ownerReferences = [] } = this.#options.claims.get(`${set.metadata.namespace}/${name}`)?.metadata ?? {};
      return ownerReferences.some((each) => each.kind === podKind.kind && each.name === pod);
    });
  }

  async #createClaims(set: ApiObject, pod: string, ordinal: number): Promise<void> {
    const { claims, signal } = this.#options;
    const { namespace = '' } = set.metadata;
    for (const template of this.#claimTemplates(set)) {
      const name = this.#claimName(set, template, ordinal);
      const found = claims.get(`${namespace}/${name}`);
      if (found?.metadata.deletionTimestamp !== undefined) throw new Error(`pvc ${name} is being deleted`);
      if (found) continue;
      const { matchLabels } = asStatefulSet(set).spec?.selector ?? {};
      const labels = { ...template.metadata.labels, ...matchLabels };
      const claim = { ...template, ...claimType, metadata: { ...template.metadata, name, namespace, labels } };
      try {
        const made = await this.#client.create<ApiObject>(collectionOf(claimKind, namespace), claim, signal);
        await claims.reached(made.metadata.resourceVersion, signal);
        this.#reportClaim(set, pod, name);
      } catch (error) {
        if (!hasReason(error, 'AlreadyExists')) this.#reportClaim(set, pod, name, error);
        throw new Error(`failed to create PVC ${name}: ${messageOf(error)}`, { cause: error });
      }
    }
  }

  #claimTemplates = (set: ApiObject): readonly ApiObject[] =>
    (asStatefulSet(set).spec?.volumeClaimTemplates ?? []) as unknown as readonly ApiObject[];

  #claimName = (set: ApiObject, { metadata }: ApiObject, ordinal: number): string =>
    `${metadata.name}-${nameOf(set)}-${ordinal}`;

  /** Volumes of claims come instead of those of their name in the template. */
  #volumes<V extends { readonly name: string }>(set: ApiObject, ordinal: number, volumes: readonly V[] = []) {
    const templates = this.#claimTemplates(set);
    return [
      ...templates.map((template) => ({
        name: template.metadata.name,
        persistentVolumeClaim: { claimName: this.#claimName(set, template, ordinal) },
      })),
      ...volumes.filter(({ name }) => !templates.some(({ metadata }) => metadata.name === name)),
    ];
  }

  #identity(name: string, ordinal: number): Readonly<Record<string, string>> {
    const { podName, podIndex } = setNames(this.#dialect);
    return { [podName]: name, [podIndex]: String(ordinal) };
  }

  async #reported(verb: Verb, set: ApiObject, pod: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#report(set, verb, pod, error);
      throw error;
    }
    this.#report(set, verb, pod);
  }

  #report(set: ApiObject, verb: Verb, pod: string, error?: unknown): void {
    const text = `${verb} Pod ${pod} in StatefulSet ${nameOf(set)}`;
    this.#record(
      set,
      verb,
      error === undefined ? `${text} successful` : `${text} failed error: ${messageOf(error)}`,
      error,
    );
  }

  #reportClaim(set: ApiObject, pod: string, claim: string, error?: unknown): void {
    const [of, where] = [`create Claim ${claim}`, `Pod ${pod} in StatefulSet ${nameOf(set)}`];
    const text =
      error === undefined ? `${of} ${where} success` : `${of} for ${where} failed error: ${messageOf(error)}`;
    this.#record(set, 'create', text, error);
  }

  #record(set: ApiObject, verb: Verb, message: string, error: unknown): void {
    if (this.#options.signal.aborted) return;
    const [type, outcome] =
      error === undefined ? (['Normal', 'Successful'] as const) : (['Warning', 'Failed'] as const);
    const reason = `${outcome}${verb.charAt(0).toUpperCase()}${verb.slice(1)}`;
    this.#options.events.record({ about: aboutOf(this.#options.kind, set), type, reason, message });
  }
}

type Verb = 'create' | 'update' | 'delete';
const claimType = { apiVersion: claimKind.apiVersion, kind: claimKind.kind };
