import { hasCause, hasReason } from '../../client/api-client.ts';
import type { SharedInformer } from '../../client/shared-informers.ts';
import type { PodTemplateSpec } from '../../kinds/core/pod/pod-template-spec.ts';
import { type ApiObject, nameOf } from '../../meta/api-object.ts';
import type { ControllerContext } from '../controller.ts';
import { aboutOf, collectionOf, controllerReference, type ObjectKind, pathOf, podKind } from './owner.ts';

interface PodControlOptions extends Pick<ControllerContext, 'client' | 'events'> {
  /** The kind of the owners. */
  readonly ownerKind: ObjectKind;
  readonly pods: SharedInformer;
  readonly signal: AbortSignal;
}

/** A pod for a template, to be created. `metadata` has what the owner adds, such as a name or labels. */
interface NewPod {
  readonly template: PodTemplateSpec;
  readonly name?: string;
  /** Where there is no name. Default: the owner's name. */
  readonly generateName?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** Creates and deletes the pods of owners, and reports it in Events about the owner with the published texts. */
export class PodControl {
  readonly #options: PodControlOptions;

  constructor(options: PodControlOptions) {
    this.#options = options;
  }

  /** Creates a pod with the owner as its controller, and waits until it is seen. Rejects if the server refuses. */
  async create(owner: ApiObject, pod: NewPod): Promise<ApiObject> {
    const created = await this.#create(owner, pod);
    await this.#options.pods.reached(created.metadata.resourceVersion, this.#options.signal);
    return created;
  }

  async #create(owner: ApiObject, pod: NewPod): Promise<ApiObject> {
    const { client, events, ownerKind, signal } = this.#options;
    const about = aboutOf(ownerKind, owner);
    try {
      const path = collectionOf(podKind, owner.metadata.namespace);
      const created = await client.create<ApiObject>(path, podOf(ownerKind, owner, pod), signal);
      events.record({ about, type: 'Normal', reason: 'SuccessfulCreate', message: `Created pod: ${nameOf(created)}` });
      return created;
    } catch (error) {
      if (!signal.aborted && !isTerminatingNamespace(error)) {
        const message = `Error creating: ${messageOf(error)}`;
        events.record({ about, type: 'Warning', reason: 'FailedCreate', message });
      }
      throw error;
    }
  }

  /** Deletes a pod and waits until it is seen to be deleted. One that is gone already is no error, and no event. */
  async delete(owner: ApiObject, pod: ApiObject): Promise<void> {
    const { client, events, ownerKind, pods, signal } = this.#options;
    const { namespace = '', name = '', uid } = pod.metadata;
    const about = aboutOf(ownerKind, owner);
    try {
      await client.delete(
        pathOf(podKind, pod),
        { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid } },
        signal,
      );
      events.record({ about, type: 'Normal', reason: 'SuccessfulDelete', message: `Deleted pod: ${name}` });
    } catch (error) {
      // Gone, or another one under its name.
      if (!hasReason(error, 'NotFound', 'Conflict')) {
        const message = `Error deleting: ${messageOf(error)}`;
        if (!signal.aborted) events.record({ about, type: 'Warning', reason: 'FailedDelete', message });
        throw new Error(`unable to delete pods: ${messageOf(error)}`, { cause: error });
      }
    }
    await pods.deleted(`${namespace}/${name}`, uid, signal);
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Nothing can be created in a namespace that is being deleted, and nobody needs to be told. */
export const isTerminatingNamespace = (error: unknown): boolean => hasCause(error, 'NamespaceTerminating');

/** The object to create. */
export function podOf(ownerKind: ObjectKind, owner: ApiObject, pod: NewPod): ApiObject {
  const { template, name, generateName = `${nameOf(owner)}-`, labels, annotations, finalizers = [], spec } = pod;
  const { metadata = {} } = template;
  return {
    apiVersion: podKind.apiVersion,
    kind: podKind.kind,
    metadata: {
      ...(name === undefined ? { generateName } : { name }),
      namespace: owner.metadata.namespace ?? '',
      labels: { ...metadata.labels, ...labels },
      annotations: { ...metadata.annotations, ...annotations },
      finalizers: [...(metadata.finalizers ?? []), ...finalizers],
      ownerReferences: [controllerReference(ownerKind, owner)],
    },
    spec: { ...template.spec, ...spec },
  };
}
