import { EventEmitter, once } from 'node:events';
import type { Informer, KubernetesObject } from '@kubernetes/client-node';
import { within } from '../../../../src/base/waits-fixture.ts';

/** After an error the informer stops, and its user starts it again. */
const restartMs = 200;

/** An informer that goes on after its server is gone for a while. */
export class RestartingInformer<T extends KubernetesObject> implements AsyncDisposable {
  /** `add NAME` and so on, in the order in which the informer told of them. */
  readonly #told: string[] = [];
  readonly #changed = new EventEmitter();
  readonly #informer: Informer<T>;
  #restart: NodeJS.Timeout | undefined;
  #stopped = false;

  /** `describe`: what is told of an object, by default its name. */
  constructor(informer: Informer<T>, describe = ({ metadata }: T): string => metadata?.name ?? '') {
    this.#informer = informer;
    for (const event of ['add', 'update', 'delete'] as const) {
      informer.on(event, (object) => {
        this.#told.push(`${event} ${describe(object)}`);
        this.#changed.emit('change');
      });
    }
    informer.on('error', () => {
      // Stopping is told as an error, too.
      if (!this.#stopped) this.#startLater();
    });
  }

  start(): Promise<void> {
    return this.#informer.start();
  }

  /** Waits for what it may have told already. */
  async tellsOf(change: string): Promise<void> {
    const told = async (): Promise<void> => {
      while (!this.#told.includes(change)) await once(this.#changed, 'change');
    };
    await within(told(), () => `the informer does not tell of ${change}, but of ${this.#told.join(', ')}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#restart);
    await this.#informer.stop();
  }

  /** The server may still be away. */
  #startLater(): void {
    this.#restart = setTimeout(async () => {
      try {
        await this.#informer.start();
      } catch {
        if (!this.#stopped) this.#startLater();
      }
    }, restartMs);
  }
}
