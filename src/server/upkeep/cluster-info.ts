import type { Closable } from '../../base/disposable.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import type { Clock } from '../../base/time/clock.ts';
import { type ApiClient, ApiError, hasReason } from '../../client/api-client.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { clusterInfo } from '../../kinds/core/cluster-info.ts';
import type { ApiObject } from '../../meta/api-object.ts';

interface ClusterInfoOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly dialect: Dialect;
  readonly client: ApiClient;
  /** Makes the object without a request where it can. Absent: it is made by a request. */
  readonly createInitial?: (object: ApiObject) => Promise<boolean>;
  /** The kubeconfig to publish, as of now. */
  readonly kubeconfig: () => string;
}

/**
 * Publishes connection data for joining nodes in the ConfigMap `cluster-info` (spec section 5.4): makes it, and replaces
 * its kubeconfig when that has changed. Other keys are left alone, and everything is if the annotation
 * `<domain>/autoupdate` is `false`.
 */
export class ClusterInfo implements Closable {
  readonly #options: ClusterInfoOptions;
  readonly #location: { readonly resource: string; readonly namespace: string };
  readonly #stop = new AbortController();
  readonly #queue: WorkQueue<'publish'>;

  constructor(options: ClusterInfoOptions) {
    this.#options = options;
    this.#location = { resource: 'configmaps', namespace: options.dialect.namespaces.public };
    this.#queue = new WorkQueue({ ...options, name: 'cluster-info', parallel: 1, work: () => this.#publish() });
  }

  /** Resolves after the first attempt. A failed one is repeated later: nodes that join can wait, others need not. */
  async publish(): Promise<void> {
    try {
      if (await this.#options.createInitial?.(this.#object())) return;
      await this.#publish();
    } catch (error) {
      this.#options.logger.warn('cluster-info could not be published yet', { error });
      this.changed();
    }
  }

  /** The kubeconfig may have changed. */
  changed(): void {
    this.#queue.add('publish');
  }

  async #publish(): Promise<void> {
    const { client, logger } = this.#options;
    const path = resourcePath({ ...this.#location, name: clusterInfo.name });
    try {
      const found = await this.#find(path);
      if (!found) return await this.#create();
      const changed = this.#updated(found);
      if (changed) await client.update(path, changed, this.#stop.signal);
    } catch (error) {
      if (isRepeated(error)) throw error;
      // Only a change by somebody else can help: it is immutable, or admission refuses it.
      logger.error('cluster-info cannot be published', { error });
    }
  }

  async #find(path: string): Promise<ApiObject | undefined> {
    try {
      return await this.#options.client.get(path, this.#stop.signal);
    } catch (error) {
      if (hasReason(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  async #create(): Promise<void> {
    await this.#options.client.create(resourcePath(this.#location), this.#object(), this.#stop.signal);
  }

  #object(): ApiObject {
    const { namespace } = this.#location;
    return {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: clusterInfo.name, namespace, annotations: { [this.#autoupdate]: 'true' } },
      data: { [clusterInfo.contentKey]: this.#options.kubeconfig() },
    };
  }

  /** The object with the current kubeconfig; undefined if nothing is to be done. */
  #updated(found: ApiObject): ApiObject | undefined {
    if (found.metadata.annotations?.[this.#autoupdate] === 'false') return undefined;
    const data = (found['data'] ?? {}) as Readonly<Record<string, string>>;
    const kubeconfig = this.#options.kubeconfig();
    if (data[clusterInfo.contentKey] === kubeconfig) return undefined;
    return { ...found, data: { ...data, [clusterInfo.contentKey]: kubeconfig } };
  }

  get #autoupdate(): string {
    return `${this.#options.dialect.domain}/autoupdate`;
  }

  close(): void {
    this.#queue.close();
    this.#stop.abort(new Error('the server stops'));
  }
}

/** True for failures of the store, and races with other writers. */
const isRepeated = (error: unknown): boolean =>
  !(error instanceof ApiError) ||
  error.code >= 500 ||
  error.code === 429 ||
  hasReason(error, 'Conflict', 'AlreadyExists', 'NotFound');
