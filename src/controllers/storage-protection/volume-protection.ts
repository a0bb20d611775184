import type { Closable } from '../../base/disposable.ts';
import { Informer } from '../../client/informer.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import { volumeProtection } from '../../kinds/core/storage-protection.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ControllerContext } from '../controller.ts';
import { ControllerStack } from '../controller-stack.ts';
import { type ProtectionState, protectionState, settleProtection } from './protection.ts';

/** Lets volumes that are to be deleted go when no claim is bound to them. */
export const startVolumeProtection = (context: ControllerContext): Closable => new VolumeProtection(context);

const parallel = 5;

interface Volume {
  readonly uid: string;
  readonly state: ProtectionState;
  readonly isBound: boolean;
}

class VolumeProtection implements Closable {
  readonly #context: ControllerContext;
  readonly #finalizer: string;
  readonly #held = new ControllerStack();
  readonly #queue: WorkQueue<string>;
  readonly #volumes: Informer<Volume>;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#finalizer = volumeProtection(context.dialect);
    this.#queue = this.#held.add(
      new WorkQueue({ ...context, name: 'pvprotection', parallel, work: (key) => this.#work(key) }),
    );
    this.#volumes = this.#held.add(
      new Informer({
        ...context,
        client: context.reader,
        path: resourcePath({ resource: 'persistentvolumes' }),
        select: (object) => this.#read(object),
        changed: (key, now) => {
          if (now && now.state !== 'settled') this.#queue.add(key);
          else this.#queue.forget(key);
        },
      }),
    );
  }

  #read(object: ApiObject): Volume {
    const { phase } = (object as ApiObject & { readonly status?: { readonly phase?: string } }).status ?? {};
    const state = protectionState(object, this.#finalizer);
    return { uid: object.metadata.uid ?? '', state, isBound: phase === 'Bound' };
  }

  async #work(key: string): Promise<void> {
    const volume = this.#volumes.get(key);
    if (!volume || volume.state === 'settled' || (volume.state === 'check' && volume.isBound)) return;
    const path = resourcePath({ resource: 'persistentvolumes', name: key.slice(1) });
    const { client } = this.#context;
    const object = { client, path, uid: volume.uid, finalizer: this.#finalizer, signal: this.#held.signal };
    await settleProtection(volume.state, object);
  }

  close(): void {
    this.#held.close();
  }
}
