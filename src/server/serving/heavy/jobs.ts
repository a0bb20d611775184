import type { PluginConfigurations } from '../../../admission/plugins/plugin-configurations.ts';
import type { PluginName } from '../../../admission/plugins.ts';
import { asBuffer } from '../../../base/collections/byte-span.ts';
import { WeakValues } from '../../../base/collections/weak-values.ts';
import { limits } from '../../../base/limits.ts';
import { derivedRandom } from '../../../base/random.ts';
import { clockAt } from '../../../base/time/clock.ts';
import { stringifyJson } from '../../../codec/json.ts';
import { parseYaml } from '../../../codec/yaml.ts';
import { type BodyForm, parseBody } from '../../../content/body.ts';
import { type DocumentForm, writeDocument } from '../../../content/document-forms.ts';
import type { Negotiated } from '../../../content/negotiation.ts';
import { type Presentation, Representation } from '../../../content/representation.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import { dialects } from '../../../dialect/dialects.ts';
import type { ServiceRanges } from '../../../kinds/core/service/service-pools.ts';
import { DefinedSchemas } from '../../../kinds/custom/defined-schemas.ts';
import type { Kind } from '../../../kinds/kind.ts';
import { type KindData, kindsOfData, type RestoredKind, restoreKind } from '../../../kinds/kind-data.ts';
import { scopeNamed } from '../../../meta/scope.ts';
import type { Status } from '../../../meta/status-error.ts';
import type { ApiDocument } from '../../../registry/documents/documents.ts';
import { parseRequestInfo, type ResourceRequest } from '../../../request/request-info.ts';
import type { UserInfo } from '../../../request/user-info.ts';
import type { CustomVersions } from '../../../resources/custom-versions.ts';
import type { RuntimeConfig } from '../../../resources/runtime-config.ts';
import { sentIdentity } from '../audit/sent-identity.ts';
import { bodyAsJson } from './body-as-json.ts';
import { convertJob, readConvertedJob } from './convert-jobs.ts';
import { KnownConfigurations } from './remote-admission.ts';
import { type KnownEntry, remoteRegistry } from './remote-registry.ts';
import type { Job, JobContext } from './serve-jobs.ts';

/** A complete write request: bytes in, bytes out. */
export interface WriteInput {
  readonly dialect: Dialect['name'];
  /** Name of the request's scope. */
  readonly scope: string;
  readonly kinds: SharedKinds | undefined;
  /** Of a custom resource, whose kinds these are. */
  readonly custom: SharedVersions | undefined;
  readonly admissionPlugins: readonly PluginName[];
  readonly pluginConfigurations: PluginConfigurations;
  /** Enabled feature gates. */
  readonly features: ReadonlySet<string>;
  readonly runtimeConfig: RuntimeConfig;
  readonly unsafeDeletion: boolean;
  readonly serviceRanges: ServiceRanges;
  readonly method: string;
  readonly target: string;
  readonly user: UserInfo;
  readonly userAgent: string;
  readonly form: BodyForm;
  readonly body: Uint8Array;
  /** Whether the main thread wants to know which object the body is (call `bodyRead`). */
  readonly tellsBody: boolean;
  readonly entry: KnownEntry | undefined;
  /** Current time by the server's clock. Milliseconds. */
  readonly now: number;
  /** Seed of all random values of the request. */
  readonly seed: Uint8Array;
}

export type WriteOutput =
  | { readonly type: 'object'; readonly status: 200 | 201 | 202; readonly bytes: Uint8Array }
  | { readonly type: 'status'; readonly status: 200 | 201 | 202 | 500; readonly body: Status };

/** YAML to be converted to JSON. */
export interface YamlInput {
  readonly bytes: Uint8Array;
}

export interface YamlOutput {
  readonly json: Uint8Array;
  readonly duplicates: readonly string[];
}

/** The body of a request to be recorded. */
export interface BodyInput extends Pick<WriteInput, 'dialect' | 'method' | 'target' | 'form' | 'body'> {
  readonly kinds: SharedKinds;
  readonly omitManagedFields: boolean;
}

/** An object to be encoded in another form than the stored one. */
export interface RepresentInput {
  readonly dialect: Dialect['name'];
  readonly bytes: Uint8Array;
  readonly negotiated: Negotiated;
  /** Target of the request. */
  readonly target: string;
  /** Kinds of the object's resource. */
  readonly kinds: SharedKinds;
  /** Current time by the server's clock. Milliseconds. */
  readonly now: number;
}

/** A document to encode in another format. */
export interface DocumentInput extends Pick<ApiDocument, 'message'> {
  readonly json: Uint8Array;
  readonly form: DocumentForm;
}

/** Built-in kinds, or IDs by which this thread fetches kinds from the main thread, the stored version first. */
export type SharedKinds = 'builtIn' | readonly number[];

/** What the thread must know of a custom resource besides its kinds. */
export interface SharedVersions extends Pick<CustomVersions, 'storedInOthers'> {
  /** Objects are converted by the main thread (call `convert`). */
  readonly asksWebhook: boolean;
}

/**
 * Resolves such references, without the functions that only exist on the main thread and that stored kinds do not need.
 */
type KindsOf = (
  wanted: { readonly kinds: SharedKinds | undefined; readonly dialect: Dialect['name'] },
  context: JobContext,
) => Promise<readonly Kind[]>;

/** What the thread keeps between jobs. */
interface Kept {
  readonly kindsOf: KindsOf;
  readonly configurations: KnownConfigurations;
}

async function write(input: WriteInput, context: JobContext, { kindsOf, configurations }: Kept): Promise<WriteOutput> {
  const {
    dialect: name,
    admissionPlugins,
    pluginConfigurations,
    features,
    runtimeConfig,
    unsafeDeletion,
    serviceRanges,
    entry,
    user,
    userAgent,
    form,
  } = input;
  const dialect = dialects[name];
  const info = parseRequestInfo(input.method, input.target);
  const { registry, resources } = remoteRegistry({
    dialect,
    kinds: await kindsOf(input, context),
    custom: input.custom,
    scope: scopeNamed(input.scope),
    admissionPlugins,
    pluginConfigurations,
    configurations: configurations.of(`${name} ${input.scope}`),
    features,
    runtimeConfig,
    unsafeDeletion,
    serviceRanges,
    entry,
    context,
    clock: clockAt(input.now),
    random: derivedRandom(input.seed),
  });
  const served = info.type === 'resource' ? resources.find(info.group, info.version, info.resource) : undefined;
  if (info.type !== 'resource' || !served) throw new Error(`nothing is served at ${input.target}`);
  const body = parseBody(input.body, form, { info, served });
  if (input.tellsBody) await context.call('bodyRead', sentIdentity(body, { info, served }));
  const reply = await registry.serve({
    info,
    served,
    user,
    userAgent,
    body,
    signal: context.signal,
    annotate: (key, value, from) => context.annotate(key, value, from),
    warn: (text) => context.warn(text),
    // The main thread notes the write when it sends it to the store.
    beforeWrite() {},
  });
  switch (reply.type) {
    case 'object':
      return { type: 'object', status: reply.status, bytes: new Uint8Array(reply.bytes) };
    case 'status':
      return { type: 'status', status: reply.status, body: reply.body };
    default:
      throw new Error(`a write is answered by a ${reply.type}`);
  }
}

function yaml({ bytes }: YamlInput): YamlOutput {
  const { value, duplicates } = parseYaml(bytes);
  return { json: new Uint8Array(Buffer.from(stringifyJson(value))), duplicates };
}

const document = ({ json, message, form }: DocumentInput): Uint8Array =>
  new Uint8Array(writeDocument({ json: asBuffer(json), ...(message && { message }) }, form));

/** Encodings of an object: as a single reply, a list item, or the object of a watch event. */
const represented = {
  represent: (representation, bytes, presentation) => representation.object(bytes, presentation),
  listItem: (representation, bytes, presentation) => representation.listItem(bytes, presentation),
  eventObject: (representation, bytes, presentation) => representation.eventObject(bytes, presentation, false),
  firstEventObject: (representation, bytes, presentation) => representation.eventObject(bytes, presentation, true),
} as const satisfies Readonly<
  Record<string, (representation: Representation, bytes: Buffer, presentation: Presentation) => Uint8Array>
>;

export type RepresentJob = keyof typeof represented;

const representJob =
  (name: RepresentJob, kindsOf: KindsOf): Job =>
  async (input, context) => {
    const wanted = input as RepresentInput;
    const { representation, presentation, bytes } = presented(wanted, await kindsOf(wanted, context));
    return new Uint8Array(represented[name](representation, bytes, presentation));
  };

const kindAt = (info: ResourceRequest, known: readonly Kind[]): Kind | undefined =>
  known.find(
    ({ group, version, resource }) => group === info.group && version === info.version && resource === info.resource,
  );

const bodyJob =
  (kindsOf: KindsOf): Job =>
  async (input, context) => {
    const { method, target, form, body, omitManagedFields, ...wanted } = input as BodyInput;
    const info = parseRequestInfo(method, target);
    const kind = info.type === 'resource' ? kindAt(info, await kindsOf(wanted, context)) : undefined;
    if (info.type !== 'resource' || !kind) throw new Error(`nothing is served at ${target}`);
    return new Uint8Array(bodyAsJson(body, { form, info, served: { kind }, omitManagedFields }));
  };

function presented({ dialect, bytes, negotiated, target, now }: RepresentInput, known: readonly Kind[]) {
  const info = parseRequestInfo('GET', target);
  const isResource = info.type === 'resource';
  const kind = isResource ? kindAt(info, known) : undefined;
  const representation = new Representation(dialects[dialect], clockAt(now));
  const presentation = representation.presentation(negotiated, kind, info.query, isResource ? info.subresource : '');
  return { representation, presentation, bytes: asBuffer(bytes) };
}

/** A job about one kind. */
const ofKind =
  <I extends Parameters<KindsOf>[0]>(kindsOf: KindsOf, work: (input: I, kind: Kind) => unknown): Job =>
  async (input, context) => {
    const wanted = input as I;
    const [kind] = await kindsOf(wanted, context);
    if (!kind) throw new Error('a job is about a kind');
    return work(wanted, kind);
  };

/** The jobs of the thread, by name. Built-in kinds are created once per dialect; others are fetched. */
export function jobsOf(make: (dialect: Dialect) => readonly Kind[]): Readonly<Record<string, Job>> {
  const made = new Map<Dialect['name'], readonly Kind[]>();
  const builtIn = (name: Dialect['name']): readonly Kind[] => {
    const known = made.get(name) ?? make(dialects[name]);
    made.set(name, known);
    return known;
  };
  const added = new AddedKinds();
  const configurations = new KnownConfigurations();
  const kindsOf: KindsOf = async ({ kinds = 'builtIn', dialect }, context) =>
    kinds === 'builtIn' ? builtIn(dialect) : added.get(kinds, context);
  return {
    write: (input, context) => write(input as WriteInput, context, { kindsOf, configurations }),
    yaml: (input) => yaml(input as YamlInput),
    document: (input) => document(input as DocumentInput),
    body: bodyJob(kindsOf),
    convert: ofKind(kindsOf, convertJob),
    readConverted: ofKind(kindsOf, readConvertedJob),
    represent: representJob('represent', kindsOf),
    listItem: representJob('listItem', kindsOf),
    eventObject: representJob('eventObject', kindsOf),
    firstEventObject: representJob('firstEventObject', kindsOf),
  };
}

interface AddedKind {
  readonly restored: RestoredKind;
  /** Of the kind's definition. Holds the definition's bytes. */
  readonly schemas: DefinedSchemas | undefined;
}

/** Cache of kinds that were added at run time, each fetched once. */
class AddedKinds {
  /** By ID, oldest first; the oldest is evicted first. */
  readonly #known = new Map<number, AddedKind>();
  /** Schemas of definitions by ID, as long as a kind has one of them. */
  readonly #schemas = new WeakValues<DefinedSchemas>();

  /** The kinds of a resource, the stored version first. */
  async get(ids: readonly number[], context: JobContext): Promise<readonly Kind[]> {
    const added: AddedKind[] = [];
    // One after the other: they have one definition.
    for (const id of ids) added.push(this.#known.get(id) ?? (await this.#fetch(id, context)));
    return kindsOfData(added.map(({ restored }) => restored));
  }

  async #fetch(id: number, context: JobContext): Promise<AddedKind> {
    const data = (await context.call('kind', { id })) as KindData;
    const { builtOf } = data;
    const schemas = builtOf && (await this.#schemasOf(builtOf, context));
    const added = { restored: restoreKind(data, schemas?.of(builtOf?.version ?? '')), schemas };
    this.#known.set(id, added);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= limits.heavyKindsMax && this.#bytes() <= limits.heavyKindBytesMax) break;
      this.#known.delete(oldest);
    }
    return added;
  }

  /** Of the definitions of all kinds that are kept. */
  #bytes(): number {
    const definitions = new Set([...this.#known.values()].map(({ schemas }) => schemas));
    return [...definitions].reduce((sum, schemas) => sum + (schemas?.bytes.length ?? 0), 0);
  }

  /** The schemas of a definition, which are built here of the same bytes: copying built ones takes longer. */
  async #schemasOf(
    { origin, revision }: NonNullable<KindData['builtOf']>,
    context: JobContext,
  ): Promise<DefinedSchemas> {
    const known = this.#schemas.get(String(origin));
    if (known) return known;
    const bytes = (await context.call('definition', { id: origin })) as Uint8Array;
    const schemas = new DefinedSchemas(revision, () => bytes);
    this.#schemas.set(String(origin), schemas);
    return schemas;
  }
}
