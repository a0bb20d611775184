import { EventEmitter, once } from 'node:events';
import { CoreV1Api, type Informer, type KubeConfig, makeInformer, type V1ConfigMap } from '@kubernetes/client-node';

/** The deadline of each wait. */
const waitMsMax = 30_000;

/** After an error the informer stops, and its user starts it again. */
const restartMs = 500;

/** An informer over the ConfigMaps of a namespace that goes on after its server is gone for a while. */
export class ConfigMapInformer {
  /** `add NAME COLOUR` and so on, in the order in which the informer told of them. */
  readonly #told: string[] = [];
  readonly #changed = new EventEmitter();
  readonly #informer: Informer<V1ConfigMap>;
  #restart: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(config: KubeConfig, namespace: string) {
    const core = config.makeApiClient(CoreV1Api);
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    this.#informer = makeInformer(config, path, () => core.listNamespacedConfigMap({ namespace }));
    for (const event of ['add', 'update', 'delete'] as const) {
      this.#informer.on(event, ({ metadata, data }) => {
        this.#told.push(`${event} ${metadata?.name} ${data?.['colour'] ?? ''}`);
        this.#changed.emit('change');
      });
    }
    this.#informer.on('error', () => {
      // Stopping is told as an error, too.
      if (!this.#stopped) this.#restart = setTimeout(() => this.#informer.start(), restartMs);
    });
  }

  start(): Promise<void> {
    return this.#informer.start();
  }

  stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#restart);
    return this.#informer.stop();
  }

  /** Waits for what it may have told already. */
  async tellsOf(change: string): Promise<void> {
    const signal = AbortSignal.timeout(waitMsMax);
    try {
      while (!this.#told.includes(change)) await once(this.#changed, 'change', { signal });
    } catch (error) {
      throw new Error(`the informer does not tell of: ${change}`, { cause: error });
    }
  }
}
