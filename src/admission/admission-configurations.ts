import { isDeepStrictEqual } from 'node:util';
import { type ApiObject, nameOf } from '../meta/api-object.ts';
import { MatchIndex } from './matching/match-index.ts';
import {
  type MutatingPolicy,
  mutatingPoliciesOf,
  type ValidatingPolicy,
  validatingPoliciesOf,
} from './policies/policy.ts';
import { type Webhook, type WebhookType, webhooksOf } from './webhooks/webhook.ts';

/** Versions of the kinds that configure admission, by their plural names. */
export const configurationVersions = {
  mutatingwebhookconfigurations: 'v1',
  validatingwebhookconfigurations: 'v1',
  mutatingadmissionpolicies: 'v1alpha1',
  mutatingadmissionpolicybindings: 'v1alpha1',
  validatingadmissionpolicies: 'v1',
  validatingadmissionpolicybindings: 'v1',
} as const;
type ConfigurationKind = keyof typeof configurationVersions;
export const configurationKinds = Object.keys(configurationVersions) as readonly ConfigurationKind[];

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
    mutatingadmissionpolicies: new Map(),
    mutatingadmissionpolicybindings: new Map(),
    validatingadmissionpolicies: new Map(),
    validatingadmissionpolicybindings: new Map(),
  };
  readonly #webhooks = new Map<WebhookType, MatchIndex<Webhook>>();
  #validating: MatchIndex<ValidatingPolicy> | undefined;
  #mutating: MatchIndex<MutatingPolicy> | undefined;
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

  /** A write that changes only the status or the metadata leaves everything as it is. */
  put(kind: ConfigurationKind, configuration: ApiObject): void {
    const objects = this.#objects[kind];
    const before = objects.get(nameOf(configuration));
    if (before && isSameConfiguration(before, configuration)) return;
    objects.set(nameOf(configuration), configuration);
    this.#changed();
  }

  remove(kind: ConfigurationKind, name: string): void {
    if (this.#objects[kind].delete(name)) this.#changed();
  }

  /** Replaces everything by what another thread has at this version. What is compiled of the objects that stay is kept. */
  replace(version: number, data: ConfigurationData): void {
    for (const kind of configurationKinds) {
      const objects = this.#objects[kind];
      const known = new Map(objects);
      objects.clear();
      for (const each of data[kind]) {
        const before = known.get(nameOf(each));
        objects.set(nameOf(each), before && isSameState(before, each) ? before : each);
      }
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
    this.#validating = undefined;
    this.#mutating = undefined;
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
  get validatingPolicies(): MatchIndex<ValidatingPolicy> {
    const { validatingadmissionpolicies: policies, validatingadmissionpolicybindings: bindings } = this.#objects;
    this.#validating ??= new MatchIndex(
      validatingPoliciesOf({ policies: policies.values(), bindings: bindings.values() }),
    );
    return this.#validating;
  }

  /** The same of those that mutate. */
  get mutatingPolicies(): MatchIndex<MutatingPolicy> {
    const { mutatingadmissionpolicies: policies, mutatingadmissionpolicybindings: bindings } = this.#objects;
    this.#mutating ??= new MatchIndex(mutatingPoliciesOf({ policies: policies.values(), bindings: bindings.values() }));
    return this.#mutating;
  }
}

/** The generation tells of changes by requests; an object may have been restored with the generation of another state. */
const isSameConfiguration = (one: ApiObject, other: ApiObject): boolean =>
  one.metadata.generation !== undefined &&
  one.metadata.generation === other.metadata.generation &&
  one.metadata.uid === other.metadata.uid &&
  isDeepStrictEqual([one['spec'], one['webhooks']], [other['spec'], other['webhooks']]);

const isSameState = ({ metadata: one }: ApiObject, { metadata: other }: ApiObject): boolean =>
  one.uid === other.uid && one.resourceVersion === other.resourceVersion;
