import { type Clock, pause } from '../../base/time/clock.ts';
import type { ApiClient } from '../../client/api-client.ts';
import type { DiscoveredResource } from '../../client/discovery-client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import { listPages } from '../../client/list-pages.ts';
import { readMetadata } from '../../client/read-metadata.ts';
import { resourcePath } from '../../client/resource-path.ts';
import type { OwnerReference } from '../../meta/api-object.ts';
import type { GraphNode } from './ownership-graph.ts';

interface ForeignOwnersOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly events: EventRecorder;
  /** Stops the search. */
  readonly signal: AbortSignal;
}

interface Suspect {
  readonly node: GraphNode;
  readonly owner: OwnerReference;
  readonly resource: DiscoveredResource;
}

/** References that wait to be looked into, and the pause between two: more are dropped, since each costs a list. */
const waitingMax = 20;
const pauseMs = 500;
/** References that were looked into; the oldest is forgotten first. */
const lookedIntoMax = 1_000;
/** Objects of one name, in different namespaces, among which an owner is looked for. */
const namesakesMax = 500;

/**
 * Warns about owner references whose owner exists in another namespace, which makes them dangling. As in
 * kube-controller-manager, the warning is an Event of the object. Best effort, apart from the collection itself.
 */
export class ForeignOwners {
  readonly #options: ForeignOwnersOptions;
  readonly #waiting: Suspect[] = [];
  readonly #lookedInto = new Set<string>();
  #looking = false;

  constructor(options: ForeignOwnersOptions) {
    this.#options = options;
  }

  /** Looks for an owner that is not in the namespace of the object. Returns at once. */
  suspect(suspect: Suspect): void {
    const { node, owner } = suspect;
    const reference = `${node.uid} ${owner.uid}`;
    if (this.#waiting.length >= waitingMax || this.#lookedInto.has(reference)) return;
    this.#lookedInto.add(reference);
    const [oldest = ''] = this.#lookedInto;
    if (this.#lookedInto.size > lookedIntoMax) this.#lookedInto.delete(oldest);
    this.#waiting.push(suspect);
    if (!this.#looking) void this.#lookIntoAll();
  }

  async #lookIntoAll(): Promise<void> {
    this.#looking = true;
    for (let suspect = this.#waiting.shift(); suspect; suspect = this.#waiting.shift()) {
      try {
        if (await this.#isElsewhere(suspect)) this.#record(suspect);
      } catch {
        // Only a warning is lost.
      }
      await pause(this.#options.clock, pauseMs, this.#options.signal);
    }
    this.#looking = false;
  }

  async #isElsewhere({ node, owner, resource }: Suspect): Promise<boolean> {
    let seen = 0;
    for await (const { items } of listPages({
      ...this.#options,
      path: resourcePath({ ...resource, fieldSelector: `metadata.name=${owner.name}` }),
      readItem: readMetadata,
    })) {
      const found = items.find(({ metadata }) => metadata.uid === owner.uid);
      if (found) return found.metadata.namespace !== node.namespace;
      seen += items.length;
      if (seen >= namesakesMax) return false;
    }
    return false;
  }

  #record({ node, owner: { apiVersion, kind, name, uid } }: Suspect): void {
    const { namespace, resource } = node;
    const owner = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
    this.#options.events.record({
      about: { apiVersion: resource.apiVersion, kind: resource.kind, namespace, name: node.name, uid: node.uid },
      type: 'Warning',
      reason: 'OwnerRefInvalidNamespace',
      message: `ownerRef ${owner} does not exist in namespace ${JSON.stringify(namespace)}`,
    });
  }
}
