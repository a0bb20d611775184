import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import type { SharedInformer } from '../../../client/shared-informers.ts';
import { asDeployment } from '../../../kinds/apps/deployment.ts';
import { asPod } from '../../../kinds/core/pod/pod-schema.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import type { InformedContext } from '../../controller.ts';
import { byController, collectionOf, controllerOf, type ObjectKind, podKind } from '../owner.ts';
import { isTerminatingNamespace } from '../pod-control.ts';
import { isFinished } from '../pod-state.ts';
import { selectorIn } from '../read-selector.ts';
import { WorkloadController } from '../workload-controller.ts';
import { DeploymentPass } from './deployment-pass.ts';

const parallel = 5;

/** Rolls out the templates of deployments by replica sets, one for each template. */
export const startDeployments = (context: InformedContext): Closable => new Deployments(context);

class Deployments implements Closable {
  readonly #context: InformedContext;
  readonly #kind: ObjectKind;
  readonly #setKind: ObjectKind;
  readonly #sets: SharedInformer;
  readonly #pods: SharedInformer;
  readonly #controller: WorkloadController;
  readonly #following: Closable;

  constructor(context: InformedContext) {
    this.#context = context;
    const apiVersion = `${context.dialect.group('apps')}/v1`;
    this.#kind = { apiVersion, kind: 'Deployment', resource: 'deployments' };
    this.#setKind = { apiVersion, kind: 'ReplicaSet', resource: 'replicasets' };
    this.#sets = context.informers.of(collectionOf(this.#setKind));
    this.#pods = context.informers.of(collectionOf(podKind));
    this.#controller = new WorkloadController(context, {
      ...{ kind: this.#kind, queue: 'deployment', parallel, dependents: [this.#setKind] },
      selectorOf: (owner) => selectorIn(asDeployment(owner).spec?.selector),
      pass: (owner, key) => this.#pass(owner, key),
    });
    this.#following = this.#pods.follow({ changed: (_key, now, before) => this.#podChanged(now, before) });
  }

  async #pass(owner: ApiObject, key: string): Promise<void> {
    const pass = new DeploymentPass({
      ...this.#context,
      ...{ kind: this.#kind, setKind: this.#setKind, owner },
      ...{ owners: this.#controller.owners, sets: this.#sets, signal: this.#controller.signal },
      hasPods: (set) => this.#hasPods(set),
    });
    try {
      const waitMs = await pass.run();
      if (waitMs !== undefined) this.#controller.addAfter(key, Math.min(waitMs, limits.controllerTimerMsMax));
    } catch (error) {
      // Whatever else is tried there fails as well.
      if (!isTerminatingNamespace(error)) throw error;
    }
  }

  /** Whether a pod of the set may still run. */
  #hasPods({ metadata: { uid = '' } }: ApiObject): boolean {
    if (!this.#pods.synced) throw new Error('pods have not been listed yet');
    return this.#pods.indexed(byController, uid).some((pod) => !isFinished(asPod(pod)));
  }

  /** A deployment that stops all former pods first goes on when the last of them is gone. */
  #podChanged(now: ApiObject | undefined, before: ApiObject | undefined): void {
    const pod = now ?? before;
    if (!pod || (now && !isFinished(asPod(now)))) return;
    const set = this.#ownerOf(pod, this.#sets);
    const deployment = set && this.#ownerOf(set, this.#controller.owners);
    if (deployment && asDeployment(deployment).spec?.strategy?.type === 'Recreate') {
      this.#controller.add(`${deployment.metadata.namespace}/${deployment.metadata.name}`);
    }
  }

  #ownerOf(object: ApiObject, owners: SharedInformer): ApiObject | undefined {
    const reference = controllerOf(object);
    const found = reference && owners.get(`${object.metadata.namespace}/${reference.name}`);
    return found?.metadata.uid === reference?.uid ? found : undefined;
  }

  close(): void {
    this.#following.close();
    this.#controller.close();
  }
}
