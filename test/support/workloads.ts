import { until } from '../../src/base/waits-fixture.ts';
import { template } from '../../src/kinds/core/pod/owner-rules-fixture.ts';
import { asPod, type Pod } from '../../src/kinds/core/pod/pod-schema.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { formatTime } from '../../src/meta/time.ts';
import type { controllersForEach } from './registry-controllers.ts';

/** What tests of workload controllers do as users, and as a node. */
export class Workloads {
  readonly #controllers: ReturnType<typeof controllersForEach>;

  constructor(controllers: ReturnType<typeof controllersForEach>) {
    this.#controllers = controllers;
  }

  make(collection: string, name: string, spec: object, metadata: object = {}): Promise<ApiObject> {
    return this.#controllers.fixture.object('POST', collection, { metadata: { name, ...metadata }, spec });
  }

  get<T = ApiObject>(path: string): Promise<T> {
    return this.#controllers.fixture.object('GET', path) as Promise<T>;
  }

  patch(path: string, patch: object): Promise<ApiObject> {
    return this.#controllers.fixture.object('PATCH', path, patch);
  }

  async remove(path: string, options: object = {}): Promise<void> {
    await this.#controllers.fixture.call('DELETE', path, { kind: 'DeleteOptions', apiVersion: 'v1', ...options });
  }

  async list(path: string): Promise<readonly ApiObject[]> {
    const reply = await this.#controllers.fixture.call('GET', path);
    if (reply.type !== 'list') throw new Error(`${path} is no collection`);
    return Array.from(reply.items, ({ bytes }) => JSON.parse(bytes.toString()));
  }

  async pods(): Promise<readonly Pod[]> {
    return (await this.list(podsPath)).map(asPod);
  }

  async names(): Promise<readonly string[]> {
    return (await this.pods()).map(({ metadata }) => metadata?.name ?? '');
  }

  /** Waits until there is this number of pods. */
  count(expected: number): Promise<void> {
    let last = 0;
    return until(
      async () => {
        last = (await this.pods()).length;
        return last === expected;
      },
      () => `there are ${last} pods instead of ${expected}`,
    );
  }

  /** Waits until the status of the object has these fields; undefined means that it has none of that name. */
  async status(path: string, expected: Readonly<Record<string, unknown>>): Promise<void> {
    let last: unknown;
    await until(
      async () => {
        const status = ((await this.get(path))['status'] ?? {}) as Readonly<Record<string, unknown>>;
        last = status;
        return Object.entries(expected).every(
          ([name, value]) => JSON.stringify(status[name]) === JSON.stringify(value),
        );
      },
      () => `the status is ${JSON.stringify(last)} instead of ${JSON.stringify(expected)}`,
    );
  }

  /** Makes a pod run on a node, and ready since this time. */
  async ready(name: string, sinceMs = 0, nodeName = 'n1'): Promise<void> {
    const binding = { metadata: { name }, target: { kind: 'Node', name: nodeName } };
    await this.#controllers.fixture.call('POST', `${podsPath}/${name}/binding`, binding);
    const condition = { type: 'Ready', status: 'True', lastTransitionTime: formatTime(sinceMs) };
    await this.patch(`${podsPath}/${name}/status`, { status: { phase: 'Running', conditions: [condition] } });
  }

  /** Reasons and messages of the events about an object, in order. */
  async events(name: string): Promise<readonly string[]> {
    const all = (await this.list('/api/v1/namespaces/ns/events')) as readonly (ApiObject & {
      readonly involvedObject: { readonly name: string };
      readonly reason: string;
      readonly message: string;
    })[];
    return all
      .filter(({ involvedObject }) => involvedObject.name === name)
      .map(({ reason, message }) => `${reason}: ${message}`);
  }
}

export const podsPath = '/api/v1/namespaces/ns/pods';
export const selector = { matchLabels: { app: 'x' } };
/** A spec of an object that keeps replicas of a pod. */
export const replicasOf = (replicas: number, more: object = {}): object => ({
  ...{ replicas, selector, template: template() },
  ...more,
});
export { template } from '../../src/kinds/core/pod/owner-rules-fixture.ts';
