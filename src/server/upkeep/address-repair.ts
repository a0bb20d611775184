import type { Closable } from '../../base/disposable.ts';
import type { Logger } from '../../base/logger.ts';
import type { Clock } from '../../base/time/clock.ts';
import { RepeatedWork } from '../../base/time/repeated-work.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import type { Freshness } from '../../cache/cache.ts';
import { type ApiClient, hasReason, isAbsence } from '../../client/api-client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { parseStored } from '../../codec/json.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { type Claim, isInPool, type ShownClaim, type ValuePool } from '../../kinds/allocation.ts';
import { ipAddresses, isLookedAfter, parentOf } from '../../kinds/networking/ip-address.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { familyOf } from '../../meta/ip-address.ts';
import { parseTime } from '../../meta/time.ts';
import { showsSame } from '../../registry/write/claims.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';

/** How often services and IPAddresses are compared; published. The first look waits until a start has other things behind it. */
const intervalMs = 3 * 60_000;
const firstLookMs = 5_000;

/** An IPAddress without a service stays that long: the service may still come. Published. */
const graceMs = 60_000;

interface AddressRepairOptions {
  readonly client: ApiClient;
  readonly cache: Pick<Freshness, 'fresh'>;
  readonly resources: Pick<ResourceRegistry, 'find'>;
  /** What services are given now. */
  readonly pools: () => readonly ValuePool[];
  readonly dialect: Dialect;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Brings IPAddresses in line with services (KEP-1880). In ordinary life there is nothing to do, since they are written together;
 * what makes work are services from before the gate was on, and IPAddresses that somebody else wrote or deleted. Idempotent, so
 * all servers of a store may do it. That no address is given twice does not depend on it.
 */
export class AddressRepair implements Closable {
  readonly #options: AddressRepairOptions;
  readonly #looks: RepeatedWork;

  constructor(options: AddressRepairOptions) {
    const { clock, logger } = options;
    this.#options = options;
    this.#looks = new RepeatedWork({
      clock,
      intervalMs,
      work: () => this.pass(),
      failed: (error) => logger.warn('IPAddresses could not be compared with services', { error }),
    });
  }

  /** Looks soon, and every three minutes from then on. */
  start(): void {
    this.#looks.start(firstLookMs);
  }

  /** One look at all services, and at all IPAddresses that the servers look after. */
  async pass(): Promise<void> {
    const { resources, dialect, cache } = this.#options;
    const { group, resource } = ipAddresses(dialect);
    const services = resources.find('', 'v1', 'services');
    const addresses = resources.find(group, 'v1beta1', resource);
    if (!services || !addresses) return;
    await cache.fresh();
    for await (const service of this.#objects(services)) {
      for (const claim of claimsOf(services, service)) {
        // The repair of claims tells what is outside of all ranges.
        if (claim.shown && this.#isInRange(claim)) {
          await this.#checkService({ services, addresses }, service, claim.shown);
        }
      }
    }
    for await (const address of this.#objects(addresses)) {
      if (isLookedAfter(dialect, address)) await this.#checkAddress({ services, addresses }, address);
    }
  }

  /** In time slices; ends when this is closed. */
  async *#objects({ collection }: ServedResource): AsyncGenerator<ApiObject> {
    const slice = new TimeSlice(this.#options.clock);
    for (const entry of collection.snapshot().entries(collection.prefix)) {
      if (slice.over) await slice.next();
      if (this.#looks.closed) return;
      // It may have changed while others were repaired.
      const bytes = collection.get(entry.key)?.bytes;
      if (bytes) yield parseStored(bytes) as unknown as ApiObject;
    }
  }

  #isInRange(claim: Claim): boolean {
    return this.#options.pools().some((pool) => isInPool(pool, claim));
  }

  async #checkService({ services, addresses }: Both, service: ApiObject, shown: ShownClaim): Promise<void> {
    const { object: wanted } = shown;
    const { name: address = '' } = wanted.metadata;
    const { name, namespace } = service.metadata;
    const text = `[${familyOf(address)}]: ${address}`;
    const found = objectAt(addresses, '', address);
    if (!found) {
      this.#tell(services, service, 'ClusterIPNotAllocated', `Cluster IP ${text} is not allocated; repairing`);
      return this.#create(addresses, wanted);
    }
    if (!showsSame(found, wanted)) {
      // Of two services with one address the other one keeps it: the repair of claims tells.
      if (this.#holderOf(services, found)) return;
      const said = `the ClusterIP ${text} for Service ${namespace}/${name} has a wrong reference; repairing`;
      this.#tell(services, service, 'ClusterIPNotAllocated', said);
    } else if (hasLabelsOf(found, wanted)) return;
    if (await this.#delete(addresses, found)) await this.#create(addresses, wanted);
  }

  /** As published: what names no service, or one that has another address, goes at once. */
  async #checkAddress({ services, addresses }: Both, address: ApiObject): Promise<void> {
    const { clock } = this.#options;
    const { name, creationTimestamp = '' } = address.metadata;
    const { group = '', resource = '', namespace = '', name: parent = '' } = parentOf(address) ?? {};
    if (group !== '' || resource !== 'services') {
      const said = `IPAddress ${name} appears to have been modified, not referencing a Service: cleaning up`;
      this.#tell(addresses, address, 'IPAddressNotAllocated', said);
    } else if (!objectAt(services, namespace, parent)) {
      if (clock.now() - (parseTime(creationTimestamp) ?? 0) <= graceMs) return;
      const said = `IPAddress: ${name} for Service ${namespace}/${parent} appears to have leaked: cleaning up`;
      this.#tell(addresses, address, 'IPAddressNotAllocated', said);
    } else if (this.#holderOf(services, address)) return;
    else {
      const said = `IPAddress: ${name} for Service ${namespace}/${parent} has a wrong reference; cleaning up`;
      this.#tell(addresses, address, 'IPAddressWrongReference', said);
    }
    await this.#delete(addresses, address);
  }

  /** The service that an IPAddress names, if it has the address. */
  #holderOf(services: ServedResource, address: ApiObject): ApiObject | undefined {
    const { group = '', resource, namespace = '', name = '' } = parentOf(address) ?? {};
    if (group !== '' || resource !== 'services') return undefined;
    const service = objectAt(services, namespace, name);
    if (!service) return undefined;
    return claimsOf(services, service).some(({ shown }) => shown?.object.metadata.name === address.metadata.name)
      ? service
      : undefined;
  }

  async #create(addresses: ServedResource, object: ApiObject): Promise<void> {
    try {
      await this.#options.client.create(pathOf(addresses), object);
    } catch (error) {
      // Another server was first.
      if (!hasReason(error, 'AlreadyExists')) throw error;
    }
  }

  /** False if it was changed meanwhile: the next look tells what is still to do. */
  async #delete(addresses: ServedResource, { metadata }: ApiObject): Promise<boolean> {
    const { name = '', uid = '', resourceVersion } = metadata;
    try {
      await this.#options.client.delete(pathOf(addresses, name), {
        preconditions: { uid, ...(resourceVersion !== undefined && { resourceVersion }) },
      });
      return true;
    } catch (error) {
      if (hasReason(error, 'Conflict')) return false;
      if (isAbsence(error)) return true;
      throw error;
    }
  }

  #tell({ apiVersion, kind: { kind } }: ServedResource, object: ApiObject, reason: string, message: string): void {
    const { name = '', namespace, uid } = object.metadata;
    this.#options.events.record({
      about: { apiVersion, kind, name, namespace, uid },
      type: 'Warning',
      reason,
      message,
    });
  }

  close(): void {
    this.#looks.close();
  }
}

interface Both {
  readonly services: ServedResource;
  readonly addresses: ServedResource;
}

const pathOf = ({ apiVersion, name: { resource } }: ServedResource, name?: string): string =>
  resourcePath({ apiVersion, resource, name });

const claimsOf = ({ kind }: ServedResource, object: ApiObject): readonly Claim[] => kind.claims?.(object) ?? [];

function objectAt(served: ServedResource, namespace: string, name: string): ApiObject | undefined {
  const bytes = served.collection.get(served.objectKey(namespace, name))?.bytes;
  return bytes && (parseStored(bytes) as unknown as ApiObject);
}

const hasLabelsOf = ({ metadata }: ApiObject, wanted: ApiObject): boolean =>
  Object.entries(wanted.metadata.labels ?? {}).every(([name, value]) => metadata.labels?.[name] === value);
