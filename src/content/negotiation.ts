import { boundedMemo } from '../base/collections/bounded-memo.ts';
import type { Dialect } from '../dialect/dialect.ts';
import { type MediaRange, parseAccept, parseMediaType } from '../http/accept.ts';
import type { Exchange } from '../http/exchange.ts';
import { partialObjectMetadata } from '../kinds/meta/partial-object-metadata.ts';
import { StatusError } from '../meta/status-error.ts';
import { type AggregatedVersion, aggregatedVersions } from '../registry/documents/discovery.ts';
import type { DocumentMessage } from '../registry/documents/documents.ts';
import { type PatchMediaType, patchMediaTypes } from '../registry/write/patch-formats.ts';
import type { StructSchema } from '../schema/schema.ts';
import type { Format } from './formats/format.ts';
import { enabledFormats } from './formats/formats.ts';
import { json } from './formats/json.ts';
import { protobuf } from './formats/protobuf.ts';

/** Transformation of an object before encoding (spec section 4.3). */
type RepresentationType = 'object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';

/** The same, or the aggregated form of discovery (KEP-3352). */
type Requested = RepresentationType | 'APIGroupDiscoveryList';

/** A media type that the server reads and writes. */
interface Offer {
  /** Name of a format. */
  readonly format: string;
  readonly mediaType: string;
  /** Content-type of the response, if different. */
  readonly sentAs?: string;
  /** Whether watches can be encoded in it. */
  readonly streams: boolean;
  /** Whether nothing else is. */
  readonly streamsOnly: boolean;
  /** Whether whole objects can be encoded in it; metadata always can. */
  readonly objects: boolean;
  /** Whether tables can be encoded in it. */
  readonly tables: boolean;
  /** Whether errors list it among the accepted media types. */
  readonly advertised: boolean;
}

/** How to encode a response: plain data. */
export interface Negotiated {
  /** Name of a format. */
  readonly format: string;
  readonly as: RepresentationType;
  /** API version requested for a table or metadata; the dialect's default for whole objects. */
  readonly metaVersion: string;
  /** Version of the aggregated form of discovery, if requested. */
  readonly aggregated?: AggregatedVersion;
  /** For `content-type`. */
  readonly mediaType: string;
  /** Indented for human readers. */
  readonly pretty: boolean;
}

export interface NegotiateOptions {
  /** Query parameter `pretty`; null if absent. */
  readonly pretty?: string | null;
  /** The response is a stream of watch events. */
  readonly watch?: boolean;
  /** Transformations that the endpoint supports besides whole objects. */
  readonly representations?: readonly Exclude<Requested, 'object'>[];
  /** Schema of the response, or of the request body. Default: none, for documents of any form. */
  readonly schema?: StructSchema;
  /** The response is a document with this protobuf message. Its other formats are those of documents of any form. */
  readonly message?: DocumentMessage | undefined;
}

/** The media types of the given formats. */
const offersOf = (
  covering: readonly Format[],
  dialect: Dialect,
  objects: (format: Format) => boolean = () => true,
): readonly Offer[] =>
  covering.flatMap((format) =>
    format.mediaTypes(dialect).map((mediaType) => ({
      format: format.name,
      objects: objects(format),
      mediaType: mediaType.name,
      streams: format.watch !== undefined,
      streamsOnly: mediaType.streamsOnly === true,
      tables: format.tables,
      advertised: mediaType.advertised,
    })),
  );

/**
 * Media types of OpenAPI in protobuf: the current one, and the old one that clients still send (invalid by RFC 9110).
 */
const openapiOffers = (version: 'v2' | 'v3', documents: readonly Offer[]): readonly Offer[] => {
  const mediaType = `application/com.github.proto-openapi.spec.${version}.v1.0+protobuf`;
  const old = `application/com.github.proto-openapi.spec.${version}@v1.0+protobuf`;
  const cannot = { objects: true, streams: false, streamsOnly: false, tables: false } as const;
  const offer = { format: 'protobuf', mediaType, ...cannot, advertised: true } as const;
  return [...documents, offer, { ...offer, mediaType: old, sentAs: mediaType, advertised: false }];
};

/** API versions of tables and metadata; the old one differs only in name. */
const metaVersions: readonly string[] = ['v1', 'v1beta1'];

/** Cached Accept headers: clients use few, and send them with every request. */
const remembered = { countMax: 512, lengthMax: 1024 };

/** Selects formats by request headers. One per server, since it caches the results by header. */
export class Negotiator {
  readonly #metaGroups: readonly string[];
  readonly #discoveryGroup: string;
  readonly #ranges = boundedMemo(parseAccept, remembered);
  readonly #mediaTypes = boundedMemo((header) => parseMediaType(header) ?? null, remembered);
  readonly #dialect: Dialect;
  /** Those that are enabled. */
  readonly #formats: readonly Format[];
  readonly #patches: readonly PatchMediaType[];
  readonly #documents: readonly Offer[];
  readonly #messages: Readonly<Record<DocumentMessage, readonly Offer[]>>;
  /** By the names of the formats that support a schema, and by the schema itself. */
  readonly #byFormats = new Map<string, readonly Offer[]>();
  readonly #bySchema = new WeakMap<StructSchema, readonly Offer[]>();
  /** Results by header. Lists of representations are constants, so their identity is the key. */
  readonly #choices = new WeakMap<readonly Offer[], WeakMap<readonly Requested[], Choices>>();

  /** `features` are the names of the enabled feature gates. */
  constructor(dialect: Dialect, features: ReadonlySet<string>) {
    this.#metaGroups = dialect.tableGroups;
    this.#discoveryGroup = dialect.group('apidiscovery');
    this.#dialect = dialect;
    this.#formats = enabledFormats(features);
    this.#patches = patchMediaTypes.filter(({ format }) => this.#formats.some(({ name }) => name === format));
    this.#documents = offersOf(
      this.#formats.filter((format) => format.covers(undefined)),
      dialect,
    );
    this.#messages = {
      'openapi v2': openapiOffers('v2', this.#documents),
      'openapi v3': openapiOffers('v3', this.#documents),
      discovery: [...this.#documents, ...offersOf([protobuf], dialect)],
    };
  }

  /** How to encode the response. Throws NotAcceptable if the client accepts none of the supported media types. */
  negotiate(exchange: Exchange, options: NegotiateOptions = {}): Negotiated {
    const chosen = this.#choose(exchange.header('accept') ?? '', options);
    if (!chosen) throw notAcceptable(this.#offersFor(options), options.watch === true);
    const pretty = isPretty(exchange, options.pretty) || chosen.pretty;
    return pretty === chosen.pretty ? chosen : { ...chosen, pretty };
  }

  /** Format of the request body; JSON if the header is missing. Throws UnsupportedMediaType. */
  contentType(header: string | undefined, options: Pick<NegotiateOptions, 'schema'> = {}): string {
    if (header === undefined || header === '') return json.name;
    const offers = this.#offersFor(options);
    const sent = this.#mediaTypes(header);
    const offer = offers.find(({ mediaType, objects, streamsOnly }) => mediaType === sent && objects && !streamsOnly);
    if (!offer) throw unsupportedMediaType(advertised(offers, false).map(({ mediaType }) => mediaType));
    return offer.format;
  }

  /** Type of a patch. Throws UnsupportedMediaType, for those in `without` as well. */
  patchType(
    header: string | undefined,
    without: readonly PatchMediaType['patch'][] = [],
  ): Pick<PatchMediaType, 'patch' | 'format'> {
    const sent = (header ?? '').split(';', 1)[0]?.trim().toLowerCase();
    const found = this.#patches.find(({ mediaType }) => mediaType === sent);
    if (!found || without.includes(found.patch)) {
      const served = this.#patches.filter(({ patch }) => !without.includes(patch));
      throw unsupportedMediaType(served.map(({ mediaType }) => mediaType));
    }
    return { patch: found.patch, format: found.format };
  }

  #offersFor({ schema, message }: NegotiateOptions): readonly Offer[] {
    if (message) return this.#messages[message];
    if (!schema) return this.#documents;
    const known = this.#bySchema.get(schema);
    if (known) return known;
    const covers = (format: Format): boolean => format.covers(schema);
    const covering = this.#formats.filter((format) => covers(format) || format.covers(partialObjectMetadata));
    const names = covering.map((format) => `${format.name} ${covers(format)}`).join(' ');
    const offers = this.#byFormats.get(names) ?? offersOf(covering, this.#dialect, covers);
    this.#byFormats.set(names, offers);
    this.#bySchema.set(schema, offers);
    return offers;
  }

  #choose(accept: string, options: NegotiateOptions): Negotiated | null {
    const choices = this.#choicesOf(this.#offersFor(options), options.representations ?? none);
    return options.watch ? choices.watch(accept) : choices.answer(accept);
  }

  #choicesOf(offers: readonly Offer[], representations: readonly Requested[]): Choices {
    const known = this.#choices.get(offers) ?? new WeakMap<readonly Requested[], Choices>();
    this.#choices.set(offers, known);
    const found = known.get(representations);
    if (found) return found;
    const search = (watch: boolean) =>
      boundedMemo((header) => this.#search(header, { offers, representations, watch }), remembered);
    const choices = { answer: search(false), watch: search(true) };
    known.set(representations, choices);
    return choices;
  }

  #search(accept: string, { offers, representations, watch }: Search): Negotiated | null {
    const ranges = accept === '' ? anything : this.#ranges(accept);
    for (const range of ranges) {
      if (range.quality === 0) break;
      for (const offer of offers) {
        if (!covers(range, offer) || !fits(offer, watch) || isRefused(ranges, range, offer)) continue;
        const as = this.#representation(range, offer, representations);
        if (!as || !streamFits(range, offer) || !serverVersionFits(range)) continue;
        const { format, sentAs: mediaType = offer.mediaType } = offer;
        const { parameters } = range;
        const how = as === 'APIGroupDiscoveryList' ? discoveryForm(parameters.get('v')) : { as };
        const metaVersion = `${parameters.get('g') ?? this.#metaGroups[0]}/${parameters.get('v') ?? metaVersions[0]}`;
        return { format, ...how, metaVersion, mediaType, pretty: parameters.get('pretty') === '1' };
      }
    }
    return null;
  }

  /** The representation that `as`, `g` and `v` request; undefined if it is not supported here. */
  #representation(
    { parameters }: MediaRange,
    offer: Offer,
    representations: readonly Requested[],
  ): Requested | undefined {
    const as = parameters.get('as');
    const group = parameters.get('g');
    const version = parameters.get('v');
    if (as === undefined && group === undefined && version === undefined) return offer.objects ? 'object' : undefined;
    if (as === 'APIGroupDiscoveryList') {
      const isKnown = group === this.#discoveryGroup && aggregatedVersion(version) !== undefined;
      return isKnown ? representations.find((representation) => representation === as) : undefined;
    }
    if (!this.#metaGroups.includes(group ?? '') || !metaVersions.includes(version ?? '')) return undefined;
    if (as === 'Table' && !offer.tables) return undefined;
    return representations.find((representation) => representation === as);
  }
}

const aggregatedVersion = (name: string | undefined): AggregatedVersion | undefined =>
  aggregatedVersions.find((each) => each === name);

function discoveryForm(name: string | undefined): Pick<Negotiated, 'as' | 'aggregated'> {
  const aggregated = aggregatedVersion(name);
  return { as: 'object', ...(aggregated && { aggregated }) };
}

/** Results by header, for single responses and for watches. */
type Choices = Readonly<Record<'answer' | 'watch', (accept: string) => Negotiated | null>>;

interface Search {
  readonly offers: readonly Offer[];
  readonly representations: readonly Requested[];
  readonly watch: boolean;
}

const none: readonly Requested[] = [];

const anything: readonly MediaRange[] = [{ type: '*', subtype: '*', parameters: new Map(), quality: 1 }];

function covers({ type, subtype }: MediaRange, { mediaType }: Offer): boolean {
  return type === '*' || (subtype === '*' ? mediaType.startsWith(`${type}/`) : mediaType === `${type}/${subtype}`);
}

/** A type listed with quality 0 is excluded from a wildcard. */
function isRefused(ranges: readonly MediaRange[], range: MediaRange, offer: Offer): boolean {
  if (range.subtype !== '*') return false;
  return ranges.some((other) => other.quality === 0 && other.subtype !== '*' && covers(other, offer));
}

/** `stream=watch` is the only stream type that Kubernetes defines. It says how events are sent, if any are. */
function streamFits({ parameters }: MediaRange, { streams }: Offer): boolean {
  const stream = parameters.get('stream') ?? '';
  return stream === '' || (streams && stream === 'watch');
}

/** `sv` names the version of the meta group, of which there is one, as in kube-apiserver. */
const serverVersionFits = ({ parameters }: MediaRange): boolean =>
  ['', metaVersions[0]].includes(parameters.get('sv') ?? '');

/** Browsers, curl and wget get indented text unless the parameter says otherwise, as in kube-apiserver. */
function isPretty(exchange: Exchange, parameter: string | null | undefined): boolean {
  if (parameter) return truthy.has(parameter);
  const agent = exchange.header('user-agent') ?? '';
  return agent.startsWith('curl') || agent.startsWith('Wget') || agent.startsWith('Mozilla/5.0');
}

const truthy = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);

const fits = ({ streams, streamsOnly }: Offer, watch: boolean): boolean => (watch ? streams : !streamsOnly);

const advertised = (offers: readonly Offer[], watch: boolean): readonly Offer[] =>
  offers.filter((offer) => offer.advertised && offer.objects && fits(offer, watch));

function notAcceptable(offers: readonly Offer[], watch: boolean): StatusError {
  const accepted = advertised(offers, watch).map(({ mediaType, streamsOnly }) =>
    watch && !streamsOnly ? `${mediaType};stream=watch` : mediaType,
  );
  return new StatusError('NotAcceptable', `only the following media types are accepted: ${accepted.join(', ')}`);
}

/** The request body is in none of the formats that the endpoint reads. */
const unsupportedMediaType = (accepted: readonly string[]): StatusError =>
  new StatusError(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );
