import type { Caller } from '../base/caller.ts';
import { limits } from '../base/limits.ts';
import { inSlices, type Steps } from '../base/time/in-slices.ts';
import type { Readiness } from '../cache/cache.ts';
import { encodeObject, parseStored } from '../codec/json.ts';
import { parseStoredInSteps } from '../codec/json-steps.ts';
import { encodeVersioned } from '../codec/object-bytes.ts';
import type { Kind } from '../kinds/kind.ts';
import { schemaReady } from '../kinds/lazy-schema.ts';
import { apiVersionOf, canonical } from '../kinds/stored-as.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { StatusError } from '../meta/status-error.ts';
import { normalise } from '../schema/structural/normalise.ts';
import { headOf } from './conversion-review.ts';
import type { ConversionWebhook } from './conversion-webhook.ts';
import type { HeavyConversion } from './heavy-conversion.ts';

/**
 * The versions of a custom resource. Unlike those of built-in kinds each has a schema of its own: an object is stored in the
 * version that its apiVersion says, and written in the version of the request before it is converted to the stored one.
 */
export interface CustomVersions {
  /** The kind in which objects are stored first; then the other ones. */
  readonly kinds: readonly Kind[];
  /** Converts objects. Undefined: strategy `None`, the versions have the same fields. */
  readonly webhook: Pick<ConversionWebhook, 'convert'> | undefined;
  /** Absent: all conversions are done here. */
  readonly heavy?: HeavyConversion;
  /** Objects may have been stored in other versions, which the definition remembers. */
  readonly storedInOthers: boolean;
}

/** Who waits for a conversion. Others may share the result, so that it does not end with one of them. */
export type ConversionCaller = Pick<Caller, 'owner' | 'span' | 'awaitWebhook'>;

/** Asks and waits, without the seat that the caller has. */
export const askingFor = <T>(caller: ConversionCaller, ask: () => Promise<T>): Promise<T> =>
  caller.awaitWebhook?.(ask) ?? ask();

/** Strategy `None`: the object in the version of a kind, pruned by its schema. The same object if it is in that version. */
export function inVersion(object: ApiObject, kind: Kind): ApiObject {
  const apiVersion = apiVersionOf(kind);
  return object.apiVersion === apiVersion ? object : canonical(kind, { ...object, apiVersion });
}

/** The same of encoded objects. A resourceVersion stays. */
export function encodedInVersion(stored: Buffer, convert: (object: ApiObject) => ApiObject): Buffer {
  const object = parseStored(stored) as ApiObject;
  const converted = convert(object);
  return converted === object ? stored : encodeVersioned(converted);
}

/**
 * Strategy `Webhook`: encoded objects of other versions in the version of a kind, pruned by its schema, at most
 * `limits.conversionObjectsMax`. A resourceVersion stays.
 */
export async function convertAll(
  { kinds, webhook }: CustomVersions,
  objects: readonly Buffer[],
  kind: Kind,
  caller: ConversionCaller,
): Promise<readonly Buffer[]> {
  if (!webhook) throw new TypeError('a webhook converts');
  for (const object of objects) {
    const { apiVersion } = headOf(object);
    if (!kinds.some((each) => apiVersionOf(each) === apiVersion)) throw noSuchVersion(apiVersion);
  }
  return webhook.convert(objects, kind, caller);
}

const noSuchVersion = (apiVersion: string): StatusError =>
  new StatusError('InternalError', `request to convert CR from an invalid group/version: ${apiVersion}`);

/**
 * Brings stored values of these kinds into the form that clients get: pruned and with the defaults of the schema in which they
 * are stored. Values in versions that are gone stay as they are.
 */
export class Normaliser {
  readonly #kinds: readonly Kind[];
  readonly #byVersion: ReadonlyMap<string, Kind>;
  /** Normal forms of large values, found in slices of time before they are asked for. */
  readonly #prepared = new WeakMap<Uint8Array, Uint8Array>();

  constructor(kinds: readonly Kind[]) {
    this.#kinds = kinds;
    this.#byVersion = new Map(kinds.map((kind) => [apiVersionOf(kind), kind]));
  }

  /** See `CachedResource`. */
  readonly normalise = (value: Uint8Array): Uint8Array =>
    this.#prepared.get(value) ?? this.#normal(value, parseStored(value) as ApiObject);

  /** See `CachedResource`. */
  readonly ready: Readiness = (clock, value) => {
    const [kind] = this.#kinds;
    // All versions are built together.
    const waiting = kind && schemaReady(kind, clock);
    if (!value || value.length <= limits.inlineBytesMax || this.#prepared.has(value)) return waiting;
    const prepare = (): void | Promise<void> => inSlices(this.#prepare(value), clock);
    return waiting ? waiting.then(prepare) : Promise.resolve(prepare());
  };

  *#prepare(value: Uint8Array): Steps<void> {
    let object: ApiObject;
    try {
      object = (yield* parseStoredInSteps(value)) as ApiObject;
    } catch {
      // It is no object: whoever decodes it says so.
      return;
    }
    yield;
    this.#prepared.set(value, this.#normal(value, object));
  }

  #normal(value: Uint8Array, object: ApiObject): Uint8Array {
    const schema = this.#byVersion.get(object.apiVersion)?.schema;
    if (!schema) return value;
    const normal = normalise(schema, object);
    return normal.changed ? encodeObject(normal.value as ApiObject) : value;
  }
}
