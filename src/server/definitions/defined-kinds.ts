import { isDeepStrictEqual } from 'node:util';
import { type Closable, ClosableStack } from '../../base/disposable.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import type { Clock } from '../../base/time/clock.ts';
import { type ApiClient, hasReason } from '../../client/api-client.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import { parseStored } from '../../codec/json.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { acceptNames } from '../../kinds/apiextensions/accepted-names.ts';
import { approvalCondition } from '../../kinds/apiextensions/api-approval.ts';
import {
  cleanupFinalizer,
  type Definition,
  type DefinitionCondition,
  type DefinitionHead,
  type DefinitionNames,
  headOf,
} from '../../kinds/apiextensions/custom-resource-definition.ts';
import {
  establishedConditions,
  isTrue,
  terminating,
  withConditions,
} from '../../kinds/apiextensions/definition-conditions.ts';
import { customKinds } from '../../kinds/custom/custom-kinds.ts';
import { apiVersionOf } from '../../kinds/stored-as.ts';
import { caBundleProblem } from '../../kinds/webhook-client-errors.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ConversionParts } from '../../resources/conversion-webhook.ts';
import type { CustomVersions } from '../../resources/custom-versions.ts';
import type { Resource, ServedResource } from '../../resources/resource.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import { startInformer } from '../wiring/object-informer.ts';
import { ConversionWebhooks } from './conversion-webhooks.ts';

/** What is kept of a definition; its schemas are read again when its kinds are made. */
interface Followed extends DefinitionHead {
  readonly resourceVersion: string | undefined;
  readonly generation: number | undefined;
  /** Empty unless it is being deleted. */
  readonly pendingFinalizers: readonly string[];
  /** Whether its API is approved, for groups that need it. */
  readonly approval: DefinitionCondition | undefined;
  /** Nobody can verify the certificate of its webhook. */
  readonly hasInvalidCaBundle: boolean;
}

interface DefinedKindsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly dialect: Dialect;
  readonly resources: ResourceRegistry;
  /** For the status of definitions. */
  readonly client: ApiClient;
  readonly conversions: ConversionParts;
}

/** A resource that is served because of a definition, and the state of the definition that it was made of. */
interface Served {
  readonly resource: Resource;
  readonly generation: number | undefined;
  readonly names: unknown;
  readonly storedVersions: unknown;
  readonly isTerminating: boolean;
}

/**
 * Serves the kinds of the CustomResourceDefinitions of a scope. A definition is looked at when it changes: first its names
 * are accepted, then its kinds are added to the table of resources, then it is told that it is established. Other servers of
 * the store add the kinds when they see that.
 */
export class DefinedKinds implements Closable {
  readonly #options: DefinedKindsOptions;
  readonly #definitions = new Map<string, Followed>();
  readonly #served = new Map<string, Served>();
  readonly #held = new ClosableStack();
  readonly #stop = new AbortController();
  /** One at a time, since definitions compete for names. */
  readonly #queue: WorkQueue<string>;

  readonly #webhooks: ConversionWebhooks;

  /** Definitions as a resource. */
  readonly #find: () => ServedResource | undefined;

  constructor(options: DefinedKindsOptions) {
    this.#options = options;
    const { resources, dialect } = options;
    this.#find = resources.finder(dialect.group('apiextensions'), 'v1', 'customresourcedefinitions');
    this.#webhooks = this.#held.add(new ConversionWebhooks(options.conversions));
    const work = (name: string): Promise<void> => this.#reconcile(name);
    this.#queue = this.#held.add(new WorkQueue({ ...options, name: 'custom_resource_definitions', parallel: 1, work }));
  }

  /** Resolves when the kinds of all definitions that are established are served. */
  async start(): Promise<void> {
    const { resources, logger } = this.#options;
    const put = (object: ApiObject): void => this.#put(object);
    const remove = (_namespace: string, name: string): void => this.#remove(name);
    this.#held.add(startInformer({ resources, find: this.#find }, { put, remove }, logger));
    await Promise.all([...this.#definitions.keys()].map((name) => this.#serve(name)));
  }

  #put(object: ApiObject): void {
    const { name = '', resourceVersion, generation, deletionTimestamp, finalizers = [] } = object.metadata;
    const pendingFinalizers = deletionTimestamp === undefined ? [] : finalizers;
    const definition = object as Definition & ApiObject;
    const head = headOf(definition);
    const approval = approvalCondition(definition, this.#options.dialect);
    const { caBundle } = definition.spec?.conversion?.webhook?.clientConfig ?? {};
    const hasInvalidCaBundle = !isTrue(head, 'Established') && caBundleProblem(caBundle) !== undefined;
    const followed = { ...head, resourceVersion, generation, pendingFinalizers, approval, hasInvalidCaBundle };
    this.#definitions.set(name, followed);
    this.#queue.add(name);
  }

  #remove(name: string): void {
    const group = this.#definitions.get(name)?.group;
    this.#definitions.delete(name);
    this.#queue.add(name);
    // Its names are free for others now.
    for (const [other, definition] of this.#definitions) if (definition.group === group) this.#queue.add(other);
  }

  async #reconcile(name: string): Promise<void> {
    const definition = this.#definitions.get(name);
    const decided = definition && this.#decide(name, definition);
    // The kinds are served before anybody is told so.
    if (decided) this.#definitions.set(name, decided);
    await this.#serve(name);
    if (decided && decided !== definition) await this.#writeStatus(name, decided);
    else if (decided) await this.#clean(name, decided);
  }

  /** Deletes the objects of a definition that is being deleted, then lets it go. */
  async #clean(name: string, definition: Followed): Promise<void> {
    const { client, dialect } = this.#options;
    const finalizer = cleanupFinalizer(dialect);
    const { pendingFinalizers, resourceVersion } = definition;
    if (!pendingFinalizers.includes(finalizer)) return;
    const resource = this.#served.get(name)?.resource;
    if (resource && !(await this.#removeObjects(resource))) {
      // Finalizers of its objects are removed by others.
      this.#queue.addAfter(name, recheckMs);
      return;
    }
    const finalizers = pendingFinalizers.filter((each) => each !== finalizer);
    const path = this.#pathOf(name);
    await this.#write(() => client.mergePatch(path, { metadata: { resourceVersion, finalizers } }, this.#stop.signal));
  }

  /** Asks for the deletion of all objects of a resource. Resolves to true if there are none. */
  async #removeObjects({ kind, collection }: Resource): Promise<boolean> {
    const { client } = this.#options;
    const snapshot = collection.snapshot();
    if (snapshot.count(collection.prefix) === 0) return true;
    const namespaces = new Set<string>();
    for (const { namespace } of snapshot.entries(collection.prefix)) namespaces.add(namespace);
    const apiVersion = apiVersionOf(kind);
    for (const namespace of namespaces) {
      await client.delete(resourcePath({ apiVersion, resource: kind.resource, namespace }), {}, this.#stop.signal);
    }
    return false;
  }

  /** The definition with the names that it gets and its conditions; the same object if nothing changes. */
  #decide(name: string, definition: Followed): Followed {
    const others = [...this.#definitions].flatMap(([other, each]) =>
      other !== name && each.group === definition.group ? [each.status.acceptedNames ?? {}] : [],
    );
    const { acceptedNames, condition } = acceptNames(definition, [...others, ...this.#otherNames(definition)]);
    const approval = definition.approval ? [definition.approval] : [];
    const established = isTrue(definition, 'Established') ? [] : [establishment(definition, condition)];
    const leaving = isTrue(definition, 'Terminating') ? [terminating.inProgress] : [];
    const now = this.#options.clock.now();
    const conditions = withConditions(definition, [...approval, condition, ...established, ...leaving], now);
    const status = { ...definition.status, acceptedNames, conditions };
    return isDeepStrictEqual(status, definition.status) ? definition : { ...definition, status };
  }

  /** Names of the resources in the group of a definition that nobody has defined, such as those of a library's user. */
  #otherNames({ group }: Followed): readonly DefinitionNames[] {
    const others = [...this.#options.resources.table.ofGroup(group)].filter(({ resource }) => !resource.custom);
    return others.map(({ kind: { resource: plural, singular, shortNames, kind, listKind } }) => ({
      ...{ plural, singular, kind, listKind },
      shortNames: [...shortNames],
    }));
  }

  async #writeStatus(name: string, { resourceVersion, status }: Followed): Promise<void> {
    const { client } = this.#options;
    const path = this.#pathOf(name, 'status');
    // A merge patch keeps what it does not name.
    const acceptedNames = { shortNames: null, categories: null, ...status.acceptedNames };
    const patch = { metadata: { resourceVersion }, status: { ...status, acceptedNames } };
    await this.#write(() => client.mergePatch(path, patch, this.#stop.signal));
  }

  #pathOf(name: string, subresource?: string): string {
    const apiVersion = `${this.#options.dialect.group('apiextensions')}/v1`;
    const resource = 'customresourcedefinitions';
    return resourcePath({ apiVersion, resource, name, ...(subresource !== undefined && { subresource }) });
  }

  async #write(write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
    } catch (error) {
      // It was changed or deleted meanwhile, and is looked at again.
      if (!hasReason(error, 'Conflict', 'NotFound')) throw error;
    }
  }

  /** Adds, replaces or removes the kinds of a definition, so that they are what it says now. */
  async #serve(name: string): Promise<void> {
    const { resources } = this.#options;
    const definition = this.#definitions.get(name);
    const served = this.#served.get(name);
    const wanted = definition && isTrue(definition, 'Established') ? definition : undefined;
    if (wanted && served && isServed(wanted, served)) return;
    const { versions, webhook } = (wanted && this.#versionsOf(name, wanted)) ?? {};
    if (wanted && served && versions && hasSamePath(served.resource, versions)) {
      this.#keep(name, wanted, await resources.changeCustom(served.resource, versions));
    } else {
      if (served) resources.remove(served.resource);
      this.#served.delete(name);
      if (wanted && versions) this.#keep(name, wanted, await resources.addCustom(versions));
    }
    this.#webhooks.use(name, webhook);
  }

  #keep(name: string, definition: Followed, resource: Resource): void {
    const { generation, status } = definition;
    const { acceptedNames: names, storedVersions } = status;
    const isTerminating = isTrue(definition, 'Terminating');
    this.#served.set(name, { resource, generation, names, storedVersions, isTerminating });
  }

  /** Undefined if none of the versions has a schema that can be read. */
  #versionsOf(name: string, { status }: Followed): ReadVersions | undefined {
    const found = this.#find();
    const entry = found?.collection.get(found.objectKey('', name));
    if (!entry) return undefined;
    const definition = { ...(parseStored(entry.bytes) as Definition), status };
    const kinds = customKinds(definition);
    const [stored] = kinds;
    const { storedVersions = [] } = status;
    if (!stored) return undefined;
    const webhook = this.#webhooks.of(name, definition);
    const storedInOthers = storedVersions.some((each) => each !== stored.version);
    return { versions: { kinds, webhook: webhook?.webhook, storedInOthers }, webhook };
  }

  close(): void {
    this.#stop.abort(new Error('the server stops'));
    this.#held.close();
  }
}

/** The versions of a definition. */
interface ReadVersions {
  readonly versions: CustomVersions;
  readonly webhook: ReturnType<ConversionWebhooks['of']>;
}

/** How often the objects of a definition that is being deleted are looked at. */
const recheckMs = 500;

const establishment = ({ hasInvalidCaBundle }: Followed, names: DefinitionCondition): DefinitionCondition =>
  establishedConditions[names.status !== 'True' ? 'notAccepted' : hasInvalidCaBundle ? 'invalidCaBundle' : 'accepted'];

/** Spec, names and stored versions are those that the resource was made of. */
const isServed = (definition: Followed, { generation, names, storedVersions, isTerminating }: Served): boolean =>
  definition.generation === generation &&
  isTrue(definition, 'Terminating') === isTerminating &&
  isDeepStrictEqual(definition.status.acceptedNames, names) &&
  isDeepStrictEqual(definition.status.storedVersions, storedVersions);

/** Its group, plural and scope are those of the resource, so that objects and watches stay. */
const hasSamePath = ({ kind }: Resource, { kinds: [wanted] }: CustomVersions): boolean =>
  wanted?.group === kind.group && wanted.resource === kind.resource && wanted.scope === kind.scope;
