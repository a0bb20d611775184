import type { ClosableStack } from '../../base/disposable.ts';
import type { Logger } from '../../base/logger.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ValuePool } from '../../kinds/allocation.ts';
import {
  defaultServiceRanges,
  type ServiceRanges,
  type StoredRange,
  servicePools,
} from '../../kinds/core/service/service-pools.ts';
import { ipAddresses, multiCidrGate } from '../../kinds/networking/ip-address.ts';
import { isOpenForServices, rangesOf, serviceCidrs } from '../../kinds/networking/service-cidr.ts';
import { type ApiObject, nameOf } from '../../meta/api-object.ts';
import { parseIpRange } from '../../meta/ip-range.ts';
import { startInformer } from '../../resources/object-informer.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import type { ApiServerConfig } from './config.ts';

/** What services are given, as it is now. */
export interface CurrentServiceRanges {
  /** As plain data. The same value as long as nothing changes. */
  ranges(): ServiceRanges;
  pools(): readonly ValuePool[];
}

interface RangeParts {
  readonly resources: ResourceRegistry;
  readonly dialect: Dialect;
  readonly logger: Logger;
  readonly held: ClosableStack;
}

/** Whether services get their addresses from ServiceCIDRs: the gate is on, and the kinds are served that it is about. */
export const usesServiceCidrs = (
  { features, dialect }: Pick<ApiServerConfig, 'features' | 'dialect'>,
  resources: Pick<ResourceRegistry, 'find'>,
): boolean =>
  features[multiCidrGate] &&
  [serviceCidrs(dialect), ipAddresses(dialect)].every(({ group, resource }) =>
    resources.find(group, 'v1beta1', resource),
  );

/** The ranges of the configuration, or those of ServiceCIDRs, as fresh as the cache, until the parts close. */
export function openServiceRanges(config: ApiServerConfig, parts: RangeParts): CurrentServiceRanges {
  const { dialect, logger, resources, held } = parts;
  const configured = config.serviceRanges ?? defaultServiceRanges;
  const pools = servicePools(configured, dialect);
  if (!usesServiceCidrs(config, resources)) {
    if (config.features[multiCidrGate]) {
      logger.warn(
        'ServiceCIDRs and IPAddresses are not served: services get their addresses from the configured ranges',
        {
          gate: multiCidrGate,
        },
      );
    }
    return { ranges: () => configured, pools: () => pools };
  }
  const stored = new StoredServiceRanges(configured, dialect);
  const { group, resource } = serviceCidrs(dialect);
  held.add(startInformer({ resources, find: resources.finder(group, 'v1beta1', resource) }, stored, logger));
  return stored;
}

/**
 * The ranges of all ServiceCIDRs. Those of the configuration are among them: open as long as the default ServiceCIDR, which the
 * servers make with them, is not there.
 */
export class StoredServiceRanges implements CurrentServiceRanges {
  readonly #configured: ServiceRanges;
  readonly #dialect: Dialect;
  readonly #objects = new Map<string, readonly StoredRange[]>();
  /** Undefined after a change. */
  #current: { readonly ranges: ServiceRanges; readonly pools: readonly ValuePool[] } | undefined;

  constructor(configured: ServiceRanges, dialect: Dialect) {
    this.#configured = configured;
    this.#dialect = dialect;
  }

  put(object: ApiObject): void {
    const isOpen = isOpenForServices(object);
    const ranges = rangesOf(object).flatMap((text) => parseIpRange(text)?.text ?? []);
    this.#objects.set(
      nameOf(object),
      ranges.map((text) => ({ text, isOpen })),
    );
    this.#current = undefined;
  }

  remove(_namespace: string, name: string): void {
    this.#objects.delete(name);
    this.#current = undefined;
  }

  ranges(): ServiceRanges {
    return this.#now().ranges;
  }

  pools(): readonly ValuePool[] {
    return this.#now().pools;
  }

  #now() {
    this.#current ??= this.#compute();
    return this.#current;
  }

  #compute() {
    const areOpen = !this.#objects.has(this.#dialect.name);
    const open = new Map<string, boolean>();
    for (const text of this.#configured.clusterIps) open.set(parseIpRange(text)?.text ?? text, areOpen);
    // A range may be that of several ServiceCIDRs.
    for (const [, ranges] of [...this.#objects].sort(([a], [b]) => (a < b ? -1 : 1))) {
      for (const { text, isOpen } of ranges) open.set(text, isOpen || open.get(text) === true);
    }
    const ranges = { ...this.#configured, stored: [...open].map(([text, isOpen]) => ({ text, isOpen })) };
    return { ranges, pools: servicePools(ranges, this.#dialect) };
  }
}
