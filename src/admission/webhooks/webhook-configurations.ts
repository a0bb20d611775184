import type { ApiObject } from '../../meta/api-object.ts';
import { MatchIndex } from '../matching/match-index.ts';
import { type Webhook, type WebhookType, webhooksOf } from './webhook.ts';

const types: readonly WebhookType[] = ['admit', 'validating'];

/** Configurations as they are passed to another thread. */
export type ConfigurationData = Readonly<Record<WebhookType, readonly ApiObject[]>>;

/** The configurations of webhooks, and what they make of requests. */
export class WebhookConfigurations {
  readonly #objects: Readonly<Record<WebhookType, Map<string, ApiObject>>> = {
    admit: new Map(),
    validating: new Map(),
  };
  readonly #indexes = new Map<WebhookType, MatchIndex<Webhook>>();
  #version = 0;

  /** Changes with everything that decides which webhooks are called. */
  get version(): number {
    return this.#version;
  }

  get data(): ConfigurationData {
    const { admit, validating } = this.#objects;
    return { admit: [...admit.values()], validating: [...validating.values()] };
  }

  put(type: WebhookType, configuration: ApiObject): void {
    this.#objects[type].set(configuration.metadata.name ?? '', configuration);
    this.#changed(type);
  }

  remove(type: WebhookType, name: string): void {
    if (this.#objects[type].delete(name)) this.#changed(type);
  }

  /** Replaces everything by what another thread has at this version. */
  replace(version: number, data: ConfigurationData): void {
    for (const type of types) {
      this.#objects[type].clear();
      for (const each of data[type]) this.put(type, each);
    }
    this.#indexes.clear();
    this.#version = version;
  }

  /** To be called when other resources or versions are served: equivalent ones are found anew. */
  servedChanged(): void {
    for (const type of types) this.#changed(type);
  }

  #changed(type: WebhookType): void {
    this.#version++;
    this.#indexes.delete(type);
  }

  /** The webhooks of a type in the order in which they are called. Compiled when they are first needed. */
  index(type: WebhookType): MatchIndex<Webhook> {
    let index = this.#indexes.get(type);
    if (!index) {
      index = new MatchIndex(webhooksOf(type, this.#objects[type].values()));
      this.#indexes.set(type, index);
    }
    return index;
  }
}
