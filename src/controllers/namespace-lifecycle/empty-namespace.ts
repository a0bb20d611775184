import type { Clock } from '../../base/time/clock.ts';
import { type ApiClient, hasReason } from '../../client/api-client.ts';
import { type DiscoveredResource, discoverResources, pathOf } from '../../client/discovery-client.ts';
import { listPages } from '../../client/list-pages.ts';
import { readMetadata } from '../../client/read-metadata.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { Findings } from './conditions.ts';

/** A collection of the namespace that is not empty yet. */
export interface Remainder {
  readonly path: string;
  /** Version of the list: a watch from here misses no deletion. */
  readonly resourceVersion: string;
}

export interface Attempt {
  readonly findings: Findings;
  readonly remainders: readonly Remainder[];
  /** Nothing is left, and discovery and deletion were complete and of what is served now. */
  readonly empty: boolean;
}

/** Dependencies of a deletion. */
interface DeletionParts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly dialect: Dialect;
  readonly signal: AbortSignal;
}

/**
 * Deletes the content of a namespace once. Pods are deleted first, and nothing else until all are gone: objects that
 * protect or restrict Pods must outlive them (CVE-2024-7598, KEP-5080). A failure for one resource does not stop the
 * others.
 */
export async function emptyNamespace(namespace: string, parts: DeletionParts): Promise<Attempt> {
  const deletion = new Deletion(namespace, parts);
  const resources = await deletion.discover();
  const pods = resources.filter(isPods);
  for (const resource of pods) await deletion.deleteAll(resource);
  if (!deletion.foundAny) for (const each of resources) if (!isPods(each)) await deletion.deleteAll(each);
  await deletion.recheckUnserved();
  return deletion.attempt();
}

const isPods = ({ apiVersion, resource }: DiscoveredResource): boolean => apiVersion === 'v1' && resource === 'pods';

class Deletion {
  readonly #client: ApiClient;
  readonly #clock: Clock;
  readonly #dialect: Dialect;
  readonly #namespace: string;
  readonly #signal: AbortSignal;
  readonly #discoveryFailures: string[] = [];
  readonly #malformedGroups: string[] = [];
  readonly #deletionFailures: string[] = [];
  readonly #remaining = new Map<string, number>();
  readonly #finalizers = new Map<string, number>();
  readonly #remainders: Remainder[] = [];
  /** Paths at which nothing was served any more. */
  readonly #unserved = new Set<string>();
  #isOutdated = false;

  constructor(namespace: string, { client, clock, dialect, signal }: DeletionParts) {
    this.#client = client;
    this.#clock = clock;
    this.#dialect = dialect;
    this.#namespace = namespace;
    this.#signal = signal;
  }

  /** Some objects remain, or could not be deleted. */
  get foundAny(): boolean {
    return this.#remainders.length > 0 || this.#deletionFailures.length > 0;
  }

  /** The namespaced resources that support deletion. */
  async discover(): Promise<readonly DiscoveredResource[]> {
    try {
      const { resources, failures } = await discoverResources({
        client: this.#client,
        clock: this.#clock,
        dialect: this.#dialect,
        signal: this.#signal,
      });
      for (const { type, groupVersion, message } of failures) {
        if (type === 'malformed') this.#malformedGroups.push(message);
        else this.#discoveryFailures.push(`${groupVersion}: ${message}`);
      }
      return resources.filter(({ namespaced, verbs }) => namespaced && verbs.includes('delete'));
    } catch (error) {
      this.#signal.throwIfAborted();
      this.#discoveryFailures.push(messageOf(error));
      return [];
    }
  }

  async deleteAll(resource: DiscoveredResource): Promise<void> {
    const path = pathOf(resource, this.#namespace);
    try {
      if (resource.verbs.includes('deletecollection')) await this.#client.delete(path, background, this.#signal);
      if (!resource.verbs.includes('list')) return;
      await this.#countRemaining(resource, path);
    } catch (error) {
      this.#signal.throwIfAborted();
      if (hasReason(error, 'NotFound')) this.#unserved.add(path);
      else this.#deletionFailures.push(`${qualified(resource)}: ${messageOf(error)}`);
    }
  }

  /** Of a resource that went while the namespace was emptied, objects may be left in another version. */
  async recheckUnserved(): Promise<void> {
    if (this.#unserved.size === 0) return;
    try {
      const { resources } = await discoverResources({
        client: this.#client,
        clock: this.#clock,
        dialect: this.#dialect,
        signal: this.#signal,
      });
      const served = new Set(resources.map((resource) => pathOf(resource, this.#namespace)));
      this.#isOutdated = [...this.#unserved].some((path) => !served.has(path));
    } catch {
      // The next attempt reports it.
      this.#signal.throwIfAborted();
      this.#isOutdated = true;
    }
  }

  /** Counts the remaining objects; deletes them one by one if the resource has no deletecollection. */
  async #countRemaining(resource: DiscoveredResource, path: string): Promise<void> {
    const together = resource.verbs.includes('deletecollection');
    const parts = { client: this.#client, clock: this.#clock, signal: this.#signal };
    let resourceVersion = '';
    for await (const { items, metadata } of listPages({ ...parts, path, readItem: readMetadata })) {
      ({ resourceVersion } = metadata);
      for (const { metadata: object } of items) {
        if (!together && object.deletionTimestamp === undefined) await this.#deleteOne(resource, object.name ?? '');
        for (const finalizer of object.finalizers ?? []) count(this.#finalizers, finalizer, 1);
      }
      if (items.length > 0) count(this.#remaining, qualified(resource), items.length);
    }
    if (this.#remaining.has(qualified(resource))) this.#remainders.push({ path, resourceVersion });
  }

  async #deleteOne(resource: DiscoveredResource, name: string): Promise<void> {
    try {
      await this.#client.delete(pathOf(resource, this.#namespace, name), background, this.#signal);
    } catch (error) {
      if (!hasReason(error, 'NotFound')) throw error;
    }
  }

  attempt(): Attempt {
    const findings = {
      discoveryFailures: this.#discoveryFailures,
      malformedGroups: this.#malformedGroups,
      deletionFailures: this.#deletionFailures,
      remaining: this.#remaining,
      finalizers: this.#finalizers,
    };
    const failures = [findings.discoveryFailures, findings.malformedGroups, findings.deletionFailures].flat();
    const empty = failures.length === 0 && this.#remainders.length === 0 && !this.#isOutdated;
    return { findings, remainders: this.#remainders, empty };
  }
}

/** Dependents are in the same namespace and are deleted with it, so nothing is orphaned. */
const background = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' };

const qualified = ({ apiVersion, resource }: DiscoveredResource): string =>
  apiVersion === 'v1' ? `${resource}.` : `${resource}.${apiVersion.split('/')[0]}`;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const count = (counts: Map<string, number>, name: string, by: number): void => {
  counts.set(name, (counts.get(name) ?? 0) + by);
};
