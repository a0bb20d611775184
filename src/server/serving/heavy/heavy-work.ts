import type { PluginConfigurations } from '../../../admission/plugins/plugin-configurations.ts';
import type { QuotaRequest } from '../../../admission/plugins/resource-quota/check-quotas.ts';
import type { PluginName } from '../../../admission/plugins.ts';
import { asBuffer } from '../../../base/collections/byte-span.ts';
import { identityOf } from '../../../base/collections/shared-content.ts';
import type { Turn } from '../../../base/keyed-mutex.ts';
import { limits } from '../../../base/limits.ts';
import { randomSeedBytes } from '../../../base/random.ts';
import { type BodyForm, formatOf, parseBody } from '../../../content/body.ts';
import type { DocumentForm } from '../../../content/document-forms.ts';
import { formatNamed } from '../../../content/formats/formats.ts';
import { yaml } from '../../../content/formats/yaml.ts';
import type { Presentation } from '../../../content/representation.ts';
import type { ServiceRanges } from '../../../kinds/core/service/service-pools.ts';
import { type Kind, storesObjects } from '../../../kinds/kind.ts';
import { kindData } from '../../../kinds/kind-data.ts';
import { lazySchemaOf } from '../../../kinds/lazy-schema.ts';
import { apiVersionOf } from '../../../kinds/stored-as.ts';
import { StatusError } from '../../../meta/status-error.ts';
import type { ApiDocument } from '../../../registry/documents/documents.ts';
import type { Registry } from '../../../registry/registry.ts';
import type { Reply } from '../../../registry/reply.ts';
import type { RegistryParts, RequestBody, VerbRequest } from '../../../registry/verb.ts';
import { stillServed } from '../../../registry/write/still-served.ts';
import { tracedWrite } from '../../../registry/write/traced-write.ts';
import type { ResourceRequest } from '../../../request/request-info.ts';
import { askingFor } from '../../../resources/custom-versions.ts';
import type { Resource, ServedResource } from '../../../resources/resource.ts';
import type { RuntimeConfig } from '../../../resources/runtime-config.ts';
import type { BatchWrite, ListOptions, UpdateOptions } from '../../../store/store.ts';
import type { AdmissionLookups } from '../../wiring/access/admission.ts';
import type { SentIdentity } from '../audit/sent-identity.ts';
import { bodyAsJson } from './body-as-json.ts';
import type { JobThread } from './job-thread.ts';
import type {
  BodyInput,
  DocumentInput,
  RepresentInput,
  RepresentJob,
  SharedKinds,
  SharedVersions,
  WriteInput,
  WriteOutput,
  YamlInput,
  YamlOutput,
} from './jobs.ts';
import { ownBytes } from './messages.ts';
import { admissionCalls } from './remote-admission.ts';
import type { Freshness, KnownEntry } from './remote-registry.ts';
import { countParts, isHeavy } from './weight.ts';

interface HeavyWorkParts
  extends Pick<
    RegistryParts,
    | 'dialect'
    | 'clock'
    | 'random'
    | 'store'
    | 'cache'
    | 'resources'
    | 'requireCreate'
    | 'requireUnsafeDelete'
    | 'features'
    | 'storeName'
    | 'unsafeDeletion'
    | 'count'
  > {
  readonly thread: JobThread;
  readonly registry: Registry;
  readonly admissionPlugins: readonly PluginName[];
  readonly pluginConfigurations: PluginConfigurations;
  readonly runtimeConfig: RuntimeConfig;
  readonly serviceRanges: () => ServiceRanges;
  readonly lookups: AdmissionLookups;
}

/** A request whose body was received. */
export interface ReceivedRequest extends Omit<VerbRequest, 'body'> {
  readonly method: string;
  readonly target: string;
  readonly form: BodyForm;
  /** The body; empty if none was sent. */
  readonly bytes: Buffer;
  /** The tenant that the work counts for; tenants are served round-robin. */
  readonly owner: unknown;
}

/**
 * Moves requests that are too heavy for the event loop to the second thread. Such a write runs there from the body's
 * bytes to the object's bytes, by the same registry code. Store, cache and authorization stay on this thread.
 */
export class HeavyWork {
  readonly #parts: HeavyWorkParts;

  constructor(parts: HeavyWorkParts) {
    this.#parts = parts;
  }

  /** True for a write of a stored object that is heavy by its body or by the stored object. */
  takesWrite({ info, served, form, bytes }: Pick<ReceivedRequest, 'info' | 'served' | 'form' | 'bytes'>): boolean {
    if (!isStoredWrite(info, served) || !sharedKinds(served.resource)) return false;
    if (isHeavyBody(form, bytes)) return true;
    if (info.name === '') return false;
    const entry = served.collection.get(served.objectKey(info.namespace, info.name));
    // Checked first, without creating a view of a small object's bytes.
    return entry !== undefined && entry.end - entry.start > limits.lightBytesMax && isHeavy(entry.bytes, 'text');
  }

  /** `bodyRead` is told which object the body says that it is, whatever becomes of the write. */
  async write(request: ReceivedRequest, bodyRead?: (sent: SentIdentity | undefined) => void): Promise<Reply> {
    const { info, served } = request;
    const { registry, thread } = this.#parts;
    const key = info.name === '' ? undefined : served.objectKey(info.namespace, info.name);
    const work = async (turn?: Turn): Promise<WriteOutput> => {
      const entry = key === undefined ? undefined : knownEntry(served, key);
      const output = await thread.run({
        name: 'write',
        owner: request.owner,
        input: () => ({ ...this.#writeInput(request, entry), tellsBody: bodyRead !== undefined }),
        bytes: request.bytes.length + (entry?.bytes.length ?? 0),
        calls: {
          ...this.#calls(request, key),
          ...admissionCalls(this.#parts.lookups.dynamic, { caller: request, turn }),
          bodyRead: async (sent: SentIdentity) => bodyRead?.(sent),
        },
        asks,
        commits,
        signal: request.signal,
        annotate: (key, value, from) => void request.annotate(key, value, from),
        warn: (text) => request.warn(text),
      });
      return output as WriteOutput;
    };
    const output = await (key === undefined ? work() : registry.inTurn(request, key, work));
    if (output.type === 'status') return output;
    return { ...output, served, bytes: asBuffer(output.bytes) };
  }

  #writeInput(request: ReceivedRequest, entry: KnownEntry | undefined): Omit<WriteInput, 'tellsBody'> {
    const { method, target, user, userAgent, form, bytes } = request;
    return {
      dialect: this.#parts.dialect.name,
      scope: this.#parts.resources.scope.name,
      kinds: sharedKinds(request.served.resource),
      custom: sharedVersions(request.served.resource),
      admissionPlugins: this.#parts.admissionPlugins,
      pluginConfigurations: this.#parts.pluginConfigurations,
      features: this.#parts.features,
      runtimeConfig: this.#parts.runtimeConfig,
      unsafeDeletion: this.#parts.unsafeDeletion,
      serviceRanges: this.#parts.serviceRanges(),
      ...{ method, target, user, userAgent, form },
      body: ownBytes(bytes),
      entry: entry && { ...entry, bytes: ownBytes(entry.bytes) },
      now: this.#parts.clock.now(),
      seed: ownBytes(this.#parts.random.bytes(randomSeedBytes)),
    };
  }

  #calls(request: ReceivedRequest, key: string | undefined) {
    const { store, storeName, lookups, count, resources, requireCreate, requireUnsafeDelete } = this.#parts;
    const { info, served, user, signal, span } = request;
    const write = { span, storeName, served };
    const prepared = { resource: served.resource, caller: request };
    const { namespacePhase, object, authorize, resourcesOf, heldRules, roleRules, namespace, defaultClass } = lookups;
    const { existingPodWarnings, podSecurityObserved, countEvent, provisionNamespace } = lookups;
    return {
      ...kindCalls(served.resource.kinds),
      get: async ({ key: wanted }: { readonly key: string }) => {
        const record = await store.get(wanted);
        return record && { ...record, value: ownBytes(record.value) };
      },
      create: async ({ key: made, value }: StoreWrite) => {
        const record = await stillServed(resources, { ...prepared, operation: 'create', value: asBuffer(value) });
        request.beforeWrite();
        return tracedWrite({ ...write, operation: 'Create', key: made }, (traced) =>
          store.create(made, record, traced),
        );
      },
      update: async ({ key: changed, value, expected, options }: StoreWrite & Expected & StepOptions) => {
        const record = await stillServed(resources, { ...prepared, operation: 'update', value: asBuffer(value) });
        request.beforeWrite();
        return tracedWrite({ ...write, operation: 'GuaranteedUpdate', key: changed }, (traced) =>
          store.update(changed, record, expected, { ...options, ...traced }),
        );
      },
      delete: ({ key: removed, expected }: Pick<StoreWrite, 'key'> & Expected) => {
        request.beforeWrite();
        return tracedWrite({ ...write, operation: 'Delete', key: removed }, (traced) =>
          store.delete(removed, expected, traced),
        );
      },
      list: async ({ prefix, options }: { readonly prefix: string; readonly options: ListOptions }) => {
        const page = await store.list(prefix, options);
        return { ...page, records: page.records.map((record) => ({ ...record, value: ownBytes(record.value) })) };
      },
      // An object with its claims; the object comes first.
      batch: async ([first, ...claims]: readonly BatchWrite[]) => {
        if (!first) return [];
        const record =
          first.verb !== 'delete' &&
          (await stillServed(resources, { ...prepared, operation: first.verb, value: asBuffer(first.value) }));
        request.beforeWrite();
        return tracedWrite({ ...write, operation: tracedAs[first.verb], key: first.key }, () =>
          store.batch([record ? { ...first, value: record } : first, ...claims]),
        );
      },
      fresh: async ({ known }: { readonly known: number | undefined }): Promise<Freshness> => {
        const revision = await served.collection.line.fresh(signal);
        const entry = key === undefined ? undefined : knownEntry(served, key);
        if (entry?.revision === known) return { revision, state: 'same' };
        return { revision, state: 'changed', ...(entry && { entry: { ...entry, bytes: ownBytes(entry.bytes) } }) };
      },
      count,
      convert: async ({
        objects,
        apiVersion,
      }: {
        readonly objects: readonly Uint8Array[];
        readonly apiVersion: string;
      }) => {
        const { webhook, kinds = [] } = served.resource.custom ?? {};
        const kind = kinds.find((each) => apiVersionOf(each) === apiVersion);
        if (!webhook || !kind) throw new Error(`no webhook converts to ${apiVersion}`);
        const converted = await askingFor(request, () => webhook.convert(objects.map(asBuffer), kind, request));
        return converted.map(ownBytes);
      },
      requireCreate: () => requireCreate(info, user, request),
      requireUnsafeDelete: () => requireUnsafeDelete(info, user, request),
      namespacePhase: (args: LookupArguments<'namespacePhase'>) => namespacePhase(...args),
      object: (args: LookupArguments<'object'>) => object(...args),
      authorize: ([attributes, who]: LookupArguments<'authorize'>) => authorize(attributes, who, request),
      resourcesOf: (args: LookupArguments<'resourcesOf'>) => resourcesOf(...args),
      heldRules: (args: LookupArguments<'heldRules'>) => heldRules(...args),
      roleRules: (args: LookupArguments<'roleRules'>) => roleRules(...args),
      namespace: (args: LookupArguments<'namespace'>) => namespace(...args),
      defaultClass: (args: LookupArguments<'defaultClass'>) => defaultClass(...args),
      existingPodWarnings: (args: LookupArguments<'existingPodWarnings'>) => existingPodWarnings(...args),
      provisionNamespace: (args: LookupArguments<'provisionNamespace'>) => provisionNamespace(...args),
      countEvent: (args: LookupArguments<'countEvent'>) => countEvent(...args),
      podSecurityObserved: (args: LookupArguments<'podSecurityObserved'>) => podSecurityObserved(...args),
      limitRanges: ([namespace]: [string]) => lookups.limitRanges(namespace, signal),
      countsQuota: ([namespace]: [string]) => lookups.countsQuota(namespace, signal),
      chargeQuota: ([charged]: [QuotaRequest]) => lookups.chargeQuota(charged, request, signal),
    };
  }

  /**
   * The body of a request that does not run on the thread as a whole: small writes, and kinds that are answered instead
   * of stored, whose bodies are limited to what the event loop can take.
   */
  body(request: ReceivedRequest): RequestBody | undefined | Promise<RequestBody | undefined> {
    const { form, bytes } = request;
    if (!isHeavyBody(form, bytes)) return parseBody(bytes, form, request);
    checkUnstored(form, bytes);
    if (formatOf(form, bytes) === yaml) return this.#yamlBody(request);
    return parseBody(bytes, form, request, limits.unstoredPartsMax);
  }

  /** The body as compact JSON, on the thread if it is heavy. Throws or rejects if it is not valid. */
  bodyAsJson(request: ReceivedRequest, omitManagedFields: boolean): Buffer | Promise<Buffer> {
    const { form, bytes, served, method, target, owner } = request;
    const kinds = sharedKinds(served.resource);
    if (!kinds || !isHeavyBody(form, bytes)) return bodyAsJson(bytes, { ...request, omitManagedFields });
    const input = (): BodyInput => ({
      ...{ dialect: this.#parts.dialect.name, kinds, method, target, form, omitManagedFields },
      body: ownBytes(bytes),
    });
    const calls = kindCalls(served.resource.kinds);
    const job = { name: 'body', owner, input, bytes: bytes.length, calls, warn() {}, patient: true };
    return this.#parts.thread.run(job).then((json) => asBuffer(json as Uint8Array));
  }

  async #yamlBody(request: ReceivedRequest): Promise<RequestBody | undefined> {
    const { bytes } = request;
    const { json, duplicates } = (await this.#parts.thread.run({
      name: 'yaml',
      owner: request.owner,
      input: (): YamlInput => ({ bytes: ownBytes(bytes) }),
      bytes: bytes.length,
      calls: {},
      signal: request.signal,
      warn() {},
    })) as YamlOutput;
    checkUnstored({ type: 'whole', format: 'json' }, asBuffer(json));
    const read = parseBody(asBuffer(json), { type: 'whole', format: 'json' }, request);
    return read && { ...read, duplicates };
  }

  /** True if encoding an object this way would hold the event loop too long. */
  takesRepresentation(bytes: Buffer, { negotiated: { as, format, pretty }, kind }: Presentation): boolean {
    if (bytes.length <= limits.lightBytesMax || (as === 'object' && format === 'json' && !pretty)) return false;
    const needsKind = kind !== undefined && (as !== 'object' || formatNamed(format).isBinary);
    if (needsKind && !this.#isBuiltIn(kind) && !kindData(kind)) return false;
    return isHeavy(bytes, 'text');
  }

  #isBuiltIn(kind: Kind): boolean {
    const served = this.#parts.resources.find(kind.group, kind.version, kind.resource);
    return served?.kind === kind && served.resource.builtIn;
  }

  represent(bytes: Buffer, presentation: Presentation, client: WaitingClient): Promise<Buffer> {
    return this.#encode('represent', bytes, presentation, client);
  }

  /**
   * The same for a list item. A list has at most one such job at a time, so lists are exempt from the limit of waiting
   * jobs.
   */
  listItem(bytes: Buffer, presentation: Presentation, client: WaitingClient): Promise<Buffer> {
    return this.#encode('listItem', bytes, presentation, client);
  }

  /** The same for the object of a watch event. A watch has at most one such job at a time. */
  eventObject(bytes: Buffer, presentation: Presentation, client: WaitingClient, first: boolean): Promise<Buffer> {
    return this.#encode(first ? 'firstEventObject' : 'eventObject', bytes, presentation, client);
  }

  /** True if encoding the document would hold the event loop too long. */
  takesDocument({ json }: ApiDocument, form: DocumentForm): boolean {
    return form !== 'json' && isHeavy(json, 'text');
  }

  /** Encodes a document. Not aborted when a client disconnects, since requests share the result. */
  async document({ json, message }: ApiDocument, form: DocumentForm, owner: unknown): Promise<Buffer> {
    const input = (): DocumentInput => ({ json: ownBytes(json), form, ...(message && { message }) });
    const job = { name: 'document', owner, input, bytes: json.length, calls: {}, warn() {}, patient: true };
    return asBuffer((await this.#parts.thread.run(job)) as Uint8Array);
  }

  async #encode(
    name: RepresentJob,
    bytes: Buffer,
    { negotiated, kind }: Presentation,
    { target, signal, owner }: WaitingClient,
  ): Promise<Buffer> {
    const { dialect, clock, thread } = this.#parts;
    const added = kind && kindData(kind) && !this.#isBuiltIn(kind) ? kind : undefined;
    const input = (): RepresentInput => ({
      ...{ dialect: dialect.name, bytes: ownBytes(bytes), negotiated, target },
      kinds: added ? [identityOf(added)] : 'builtIn',
      now: clock.now(),
    });
    const calls = kindCalls(added ? [added] : []);
    const job = { name, owner, input, bytes: bytes.length, calls, signal, warn() {}, patient: name !== 'represent' };
    const output = await thread.run(job);
    return asBuffer(output as Uint8Array);
  }
}

/** The client that waits for an encoded object. */
type WaitingClient = Pick<ReceivedRequest, 'target' | 'signal' | 'owner'>;

/**
 * The reference by which the thread finds the kinds of a resource: built-in kinds exist there; others are fetched once,
 * by ID. Undefined if the kinds contain functions and cannot be sent.
 */
function sharedKinds({ builtIn, kinds }: Resource): SharedKinds | undefined {
  if (builtIn) return 'builtIn';
  return kinds.every(kindData) ? kinds.map(identityOf) : undefined;
}

const sharedVersions = ({ custom }: Resource): SharedVersions | undefined =>
  custom && { storedInOthers: custom.storedInOthers, asksWebhook: custom.webhook !== undefined };

export const kindCalls = (kinds: readonly Kind[]) => ({
  kind: ({ id }: { readonly id: number }) => {
    const kind = kinds.find((each) => identityOf(each) === id);
    return kind && kindData(kind);
  },
  /** What the schemas of kinds are built of. */
  definition: ({ id }: { readonly id: number }) => {
    const origins = kinds.map((each) => lazySchemaOf(each)?.origin);
    const origin = origins.find((each) => each && identityOf(each) === id);
    return origin && ownBytes(origin.bytes);
  },
});

interface StoreWrite {
  readonly key: string;
  readonly value: Uint8Array;
}

interface Expected {
  readonly expected: number;
}

interface StepOptions {
  readonly options?: UpdateOptions;
}

type LookupArguments<Name extends Exclude<keyof AdmissionLookups, 'dynamic'>> = Parameters<AdmissionLookups[Name]>;

const tracedAs = { create: 'Create', update: 'GuaranteedUpdate', delete: 'Delete' } as const;

/** Calls of a write that ask a webhook, or wait for another write. */
const asks: ReadonlySet<string> = new Set(['convert', 'sendReview', 'chargeQuota']);

/** Calls of a write that change the store. */
const commits: ReadonlySet<string> = new Set(['create', 'update', 'delete', 'batch']);

function knownEntry(served: ServedResource, key: string): KnownEntry | undefined {
  const entry = served.collection.get(key);
  return entry && { key, revision: entry.revision, bytes: entry.bytes, stale: entry.stale };
}

/** True for writes of stored objects: no answered kinds, actions or collections. */
function isStoredWrite({ verb, subresource }: ResourceRequest, { kind }: ServedResource): boolean {
  if (!storesObjects(kind) || (verb !== 'create' && verb !== 'update' && verb !== 'patch' && verb !== 'delete'))
    return false;
  return subresource === '' || kind.subresources.some(({ name, type }) => name === subresource && type === 'view');
}

/**
 * YAML is always heavy: loading the parser takes longer than any small write, and anchors expand small documents to
 * large ones.
 */
function isHeavyBody(form: BodyForm, body: Buffer): boolean {
  const format = formatOf(form, body);
  return format === yaml ? body.length > 0 : isHeavy(body, format.isBinary ? 'binary' : 'text');
}

function checkUnstored(form: BodyForm, body: Buffer): void {
  const { isBinary } = formatNamed(form.format);
  const bytesMax = isBinary ? limits.inlineBytesMax : limits.unstoredBytesMax;
  const what =
    body.length > bytesMax
      ? `${bytesMax} bytes`
      : countParts(body, limits.unstoredPartsMax) > limits.unstoredPartsMax && !isBinary
        ? `${limits.unstoredPartsMax} commas, colons and line breaks`
        : undefined;
  if (what === undefined) return;
  throw new StatusError('RequestEntityTooLarge', `a body that is not stored may have no more than ${what}`);
}
