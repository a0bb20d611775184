import type { ApiObject } from '../meta/api-object.ts';
import { MatchIndex } from './matching/match-index.ts';
import { type Policy, policiesOf } from './policies/policy.ts';
import { type Webhook, type WebhookType, webhooksOf } from './webhooks/webhook.ts';

/** What configures admission, by the plural names of the kinds. */
export const configurationKinds = [
  'mutatingwebhookconfigurations',
  'validatingwebhookconfigurations',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
] as const;
type ConfigurationKind = (typeof configurationKinds)[number];

/** Configurations as they are passed to another thread. */
export type ConfigurationData = Readonly<Record<ConfigurationKind, readonly ApiObject[]>>;

const webhookKinds: Readonly<Record<WebhookType, ConfigurationKind>> = {
  admit: 'mutatingwebhookconfigurations',
  validating: 'validatingwebhookconfigurations',
};

/** The configurations of webhooks, the policies and their bindings, and what they make of requests. */
export class AdmissionConfigurations {
  readonly #objects: Readonly<Record<ConfigurationKind, Map<string, ApiObject>>> = {
    mutatingwebhookconfigurations: new Map(),
    validatingwebhookconfigurations: new Map(),
    validatingadmissionpolicies: new Map(),
    validatingadmissionpolicybindings: new Map(),
  };
  readonly #webhooks = new Map<WebhookType, MatchIndex<Webhook>>();
  #policies: MatchIndex<Policy> | undefined;
  #version = 0;

  /** Changes with everything that decides who judges which requests. */
  get version(): number {
    return this.#version;
  }

  get isEmpty(): boolean {
    return configurationKinds.every((kind) => this.#objects[kind].size === 0);
  }

  get data(): ConfigurationData {
    const listed = configurationKinds.map((kind) => [kind, [...this.#objects[kind].values()]] as const);
    return Object.fromEntries(listed) as unknown as ConfigurationData;
  }

  put(kind: ConfigurationKind, configuration: ApiObject): void {
    this.#objects[kind].set(configuration.metadata.name ?? '', configuration);
    this.#changed();
  }

  remove(kind: ConfigurationKind, name: string): void {
    if (this.#objects[kind].delete(name)) this.#changed();
  }

  /** Replaces everything by what another thread has at this version. */
  replace(version: number, data: ConfigurationData): void {
    for (const kind of configurationKinds) {
      this.#objects[kind].clear();
      for (const each of data[kind]) this.#objects[kind].set(each.metadata.name ?? '', each);
    }
    this.#changed();
    this.#version = version;
  }

  /** To be called when other resources or versions are served: equivalent ones are found anew. */
  servedChanged(): void {
    this.#changed();
  }

  #changed(): void {
    this.#version++;
    this.#webhooks.clear();
    this.#policies = undefined;
  }

  /** The webhooks of a type in the order in which they are called. Compiled when they are first needed. */
  webhooks(type: WebhookType): MatchIndex<Webhook> {
    let index = this.#webhooks.get(type);
    if (!index) {
      index = new MatchIndex(webhooksOf(type, this.#objects[webhookKinds[type]].values()));
      this.#webhooks.set(type, index);
    }
    return index;
  }

  /** The policies that are in force, in order of their names. Compiled when they are first needed. */
  get policies(): MatchIndex<Policy> {
    this.#policies ??= new MatchIndex(
      policiesOf(
        this.#objects.validatingadmissionpolicies.values(),
        this.#objects.validatingadmissionpolicybindings.values(),
      ),
    );
    return this.#policies;
  }
}
