import type { Logger } from '../../base/logger.ts';
import type { Clock } from '../../base/time/clock.ts';
import { RepeatedWork } from '../../base/time/repeated-work.ts';
import { type ApiClient, hasReason } from '../../client/api-client.ts';
import { resourcePath } from '../../client/resource-path.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { equalValues } from '../../schema/equal-values.ts';

/** How often is looked whether they are as they should be. */
const intervalMs = 10_000;

export type ConfigMapData = Readonly<Record<string, string>>;

/** A ConfigMap of the system namespace by which the server tells other components something of itself. */
export interface SystemConfigMap {
  readonly name: string;
  /** What it is to hold now, where it holds `found`: nothing if it is absent. */
  readonly data: (found: ConfigMapData) => ConfigMapData;
}

interface SystemConfigMapsOptions {
  readonly client: ApiClient;
  /** Makes the object without a request where it can. Absent: it is made by a request. */
  readonly createInitial?: (object: ApiObject) => Promise<boolean>;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly kept: readonly SystemConfigMap[];
}

/** Makes ConfigMaps that the server keeps, and brings them up to date: those that others have deleted or changed, too. */
export class SystemConfigMaps {
  readonly #options: SystemConfigMapsOptions;
  readonly #location: { readonly resource: string; readonly namespace: string };
  readonly #rounds: RepeatedWork;
  #first: Promise<void> = Promise.resolve();

  constructor(options: SystemConfigMapsOptions) {
    const { clock, dialect } = options;
    this.#options = options;
    this.#location = { resource: 'configmaps', namespace: dialect.namespaces.system };
    this.#rounds = new RepeatedWork({
      ...{ clock, intervalMs },
      work: () => this.sync(),
      failed: (error) => this.#failed(error),
    });
  }

  /** Looks after them from now on. Resolves after the first round, which may fail: others come. */
  async start(): Promise<void> {
    this.#first = this.sync().catch((error) => this.#failed(error));
    await this.#first;
    if (!this.#rounds.closed) this.#rounds.start(intervalMs);
  }

  #failed(error: unknown): void {
    this.#options.logger.warn('what other components read of this server is not up to date', { error });
  }

  /** One round. */
  async sync(): Promise<void> {
    if (!this.#rounds.closed) await Promise.all(this.#options.kept.map((kept) => this.#keep(kept)));
  }

  async #keep({ name, data: dataOf }: SystemConfigMap): Promise<void> {
    const { client } = this.#options;
    const path = resourcePath({ ...this.#location, name });
    const found = (await client.find(path)) as (ApiObject & { readonly data?: ConfigMapData }) | undefined;
    const data = dataOf(found?.data ?? {});
    if (found && equalValues(found.data ?? {}, data)) return;
    const { namespace } = this.#location;
    try {
      if (found) await client.update(path, { ...found, data });
      else await this.#create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data });
    } catch (error) {
      // Another server was first. The next round looks at what it is now.
      if (!hasReason(error, 'Conflict', 'AlreadyExists', 'NotFound')) throw error;
    }
  }

  async #create(object: ApiObject): Promise<void> {
    const { client, createInitial } = this.#options;
    if (!(await createInitial?.(object))) await client.create(resourcePath(this.#location), object);
  }

  /** Ends, and waits for the round under way, which needs the store. */
  async end(): Promise<void> {
    await Promise.all([this.#first, this.#rounds.end()]);
  }
}
