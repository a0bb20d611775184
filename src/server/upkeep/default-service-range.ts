import type { Logger } from '../../base/logger.ts';
import type { Clock } from '../../base/time/clock.ts';
import { RepeatedWork } from '../../base/time/repeated-work.ts';
import { type ApiClient, hasReason, isAbsence } from '../../client/api-client.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { formatTime } from '../../meta/time.ts';
import { equalValues } from '../../schema/equal-values.ts';

/** How often is looked whether it is there; published. */
const intervalMs = 10_000;

interface DefaultServiceRangeOptions {
  readonly client: ApiClient;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The ranges of the configuration in canonical form; the first one is of the default family. */
  readonly ranges: readonly string[];
}

/**
 * The ServiceCIDR of the configured ranges, where its kind is served (KEP-1880). As in kube-apiserver the servers make it, every
 * ten seconds if it is gone, and call it ready unless somebody else has said something of that; its other fields stay as they are.
 */
export class DefaultServiceRange {
  readonly #options: DefaultServiceRangeOptions;
  readonly #collection: string;
  readonly #path: string;
  readonly #rounds: RepeatedWork;
  #warned = false;

  constructor(options: DefaultServiceRangeOptions) {
    const { clock, logger } = options;
    this.#options = options;
    this.#collection = `/apis/${options.dialect.group('networking')}/v1beta1/servicecidrs`;
    this.#path = `${this.#collection}/${options.dialect.name}`;
    this.#rounds = new RepeatedWork({
      clock,
      intervalMs,
      work: () => this.sync(),
      failed: (error) => logger.warn('the default ServiceCIDR could not be brought up to date', { error }),
    });
  }

  /** Looks after it from now on. Does not wait. */
  start(): void {
    this.#rounds.start();
  }

  /** One round. */
  async sync(): Promise<void> {
    const object = (await this.#options.client.find(this.#path)) ?? (await this.#made());
    if (!object || this.#rounds.closed) return;
    this.#warnOfOthers(object);
    if (this.#lacksReady(object)) await this.#callReady(object);
  }

  /** Once: services get addresses of the stored ranges, if of any. */
  #warnOfOthers({ spec: { cidrs: stored = [] } = {} }: ApiObject & Partial<ServiceRange>): void {
    const { logger, ranges: configured } = this.#options;
    if (this.#warned || equalValues(stored, configured)) return;
    this.#warned = true;
    logger.warn('the default ServiceCIDR has other ranges than the configuration', { stored, configured });
  }

  async #made(): Promise<ApiObject | undefined> {
    const { client, dialect, ranges } = this.#options;
    try {
      return await client.create(this.#collection, { metadata: { name: dialect.name }, spec: { cidrs: ranges } });
    } catch (error) {
      // Another server was first, and calls it ready.
      if (hasReason(error, 'AlreadyExists')) return undefined;
      throw error;
    }
  }

  /** Ranges that are being deleted, or are not those of the configuration, are left to others. */
  #lacksReady({ metadata, spec, status }: ApiObject & Partial<ServiceRange>): boolean {
    if (metadata.deletionTimestamp !== undefined || !equalValues(spec?.cidrs, this.#options.ranges)) return false;
    return !status?.conditions?.some(({ type }) => type === 'Ready');
  }

  async #callReady(object: ApiObject & Partial<ServiceRange>): Promise<void> {
    const { client, clock, dialect } = this.#options;
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: '',
      message: `${dialect.title} default Service CIDR is ready`,
      lastTransitionTime: formatTime(clock.now()),
    };
    const conditions = [...(object.status?.conditions ?? []), ready];
    try {
      await client.update(`${this.#path}/status`, { ...object, status: { conditions } });
    } catch (error) {
      // The next round looks at what it is now.
      if (!hasReason(error, 'Conflict') && !isAbsence(error)) throw error;
    }
  }

  /** Ends, and waits for the round under way, which needs the store. */
  end(): Promise<void> {
    return this.#rounds.end();
  }
}

interface ServiceRange {
  readonly spec: { readonly cidrs?: readonly string[] };
  readonly status: { readonly conditions?: readonly { readonly type: string }[] };
}
