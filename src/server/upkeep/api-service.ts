import { isIpv6 } from '../../base/ip-version.ts';
import type { Logger } from '../../base/logger.ts';
import type { Clock } from '../../base/time/clock.ts';
import { RepeatedWork } from '../../base/time/repeated-work.ts';
import { type ApiClient, hasReason } from '../../client/api-client.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { specialAddressProblems } from '../../meta/ip-address.ts';
import { equalValues } from '../../schema/equal-values.ts';
import type { ServerPresence } from './server-presence.ts';

/** How often is looked whether all is there; published. */
const intervalMs = 10_000;

interface ApiServiceOptions {
  readonly client: ApiClient;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The first address of the range of services. */
  readonly clusterIp: string;
  /** Where servers listen. */
  readonly port: number;
  /** Port of every node that leads to the servers; 0 for none. */
  readonly nodePort: number;
  /** Where others reach this server; undefined if it is not to be told. */
  readonly address: string | undefined;
  /** The servers that share the store. Undefined if none can. */
  readonly servers: Pick<ServerPresence, 'addresses'> | undefined;
}

/**
 * The service by which pods reach the API, with its endpoints: the addresses of all servers that share the store. As in
 * kube-apiserver it is looked after by the servers themselves, every ten seconds: what is missing is made again, the service as it
 * is stays.
 */
export class ApiService {
  readonly #options: ApiServiceOptions;
  readonly #name: string;
  readonly #rounds: RepeatedWork;

  constructor(options: ApiServiceOptions) {
    const { clock, logger } = options;
    this.#options = options;
    this.#name = options.dialect.name;
    this.#rounds = new RepeatedWork({
      clock,
      intervalMs,
      work: () => this.sync(),
      failed: (error) => logger.warn('the service of the API could not be brought up to date', { error }),
    });
  }

  /** Looks after the service from now on. Does not wait. */
  start(): void {
    this.#rounds.start();
  }

  /** One round. */
  async sync(): Promise<void> {
    const { client } = this.#options;
    if (!(await client.find(this.#path('services')))) await this.#make('services', this.#service());
    const addresses = await this.#addresses();
    if (addresses.length === 0 || this.#rounds.closed) return;
    await this.#keep('endpoints', this.#endpoints(addresses), (found) => found['subsets']);
    if (this.#rounds.closed) return;
    const { dialect } = this.#options;
    const slice = this.#slice(addresses);
    const path = `/apis/${dialect.group('discovery')}/v1/namespaces/default/endpointslices`;
    const found = await client.find(`${path}/${this.#name}`);
    // The family of a slice cannot change.
    if (found && found['addressType'] !== slice['addressType']) await client.delete(`${path}/${this.#name}`);
    await this.#keep(path, slice, ({ endpoints, ports }) => ({ endpoints, ports }));
  }

  /** Those that endpoints may have, of the family of the service. */
  async #addresses(): Promise<readonly string[]> {
    const { address, servers, clusterIp } = this.#options;
    if (address === undefined || specialAddressProblems(address).length > 0) return [];
    if (isIpv6(address) !== isIpv6(clusterIp)) return [];
    const all = servers ? await servers.addresses(address) : [address];
    return all.filter((each) => isIpv6(each) === isIpv6(clusterIp)).sort();
  }

  #path(resource: string): string {
    return `${this.#collection(resource)}/${this.#name}`;
  }

  #collection(resource: string): string {
    return resource.startsWith('/') ? resource : `/api/v1/namespaces/default/${resource}`;
  }

  #service(): Sent {
    const { clusterIp, port, nodePort } = this.#options;
    const https = { name: 'https', protocol: 'TCP', port: 443, targetPort: port, ...(nodePort > 0 && { nodePort }) };
    return {
      metadata: { name: this.#name, namespace: 'default', labels: { component: 'apiserver', provider: this.#name } },
      spec: {
        ports: [https],
        clusterIP: clusterIp,
        ipFamilyPolicy: 'SingleStack',
        sessionAffinity: 'None',
        type: nodePort > 0 ? 'NodePort' : 'ClusterIP',
      },
    };
  }

  #endpoints(addresses: readonly string[]): Sent {
    const { port, dialect } = this.#options;
    return {
      metadata: this.#metadata({ [`endpointslice.${dialect.domain}/skip-mirror`]: 'true' }),
      subsets: [{ addresses: addresses.map((ip) => ({ ip })), ports: [{ name: 'https', port, protocol: 'TCP' }] }],
    };
  }

  #slice(addresses: readonly string[]): Sent {
    const { port, dialect } = this.#options;
    return {
      metadata: this.#metadata({ [`${dialect.domain}/service-name`]: this.#name }),
      addressType: addresses.some((each) => isIpv6(each)) ? 'IPv6' : 'IPv4',
      endpoints: addresses.map((each) => ({ addresses: [each], conditions: { ready: true } })),
      ports: [{ name: 'https', protocol: 'TCP', port }],
    };
  }

  #metadata(labels: Readonly<Record<string, string>>): Sent['metadata'] {
    return { name: this.#name, namespace: 'default', labels };
  }

  /** Creates the object, or brings it up to date if what counts of it differs. */
  async #keep(resource: string, wanted: Sent, counts: (object: Sent | ApiObject) => unknown): Promise<void> {
    const path = this.#path(resource);
    const found = await this.#options.client.find(path);
    if (!found) return this.#make(resource, wanted);
    const hasLabels = Object.entries(wanted.metadata.labels).every(
      ([key, value]) => found.metadata.labels?.[key] === value,
    );
    if (hasLabels && equalValues(counts(found), counts(wanted))) return;
    const labels = { ...found.metadata.labels, ...wanted.metadata.labels };
    await this.#options.client.update(path, { ...found, ...wanted, metadata: { ...found.metadata, labels } });
  }

  async #make(resource: string, object: Sent): Promise<void> {
    const { client } = this.#options;
    try {
      await client.create(this.#collection(resource), object);
    } catch (error) {
      // Another server was first, with the same address.
      const isThere =
        hasReason(error, 'AlreadyExists') ||
        (hasReason(error, 'Invalid') && (await client.find(this.#path(resource))) !== undefined);
      if (!isThere) throw error;
    }
  }

  /** Ends, and waits for the round under way, which needs the store. */
  end(): Promise<void> {
    return this.#rounds.end();
  }
}

interface Sent extends Readonly<Record<string, unknown>> {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
  };
}
