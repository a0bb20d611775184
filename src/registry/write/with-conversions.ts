import type { ConvertObject } from '../../apply/versions.ts';
import type { Caller } from '../../base/caller.ts';
import { untilAborted } from '../../base/time/until-aborted.ts';
import { stringifyJson } from '../../codec/json.ts';
import type { ConvertLater, ServedResource } from '../../resources/resource.ts';

type Fields = Readonly<Record<string, unknown>>;
type Converted = ReturnType<ConvertObject>;

type ConversionClient = Pick<Caller, 'signal' | 'span' | 'awaitWebhook'>;

/**
 * Runs a computation that converts objects between versions of a resource. Where somebody else converts, it is run again with
 * what it has asked for until nothing is missing: it must be free of effects until its last conversion.
 *
 * `failed`: `throws`, or the version is treated as one that is gone.
 */
export function withConversions<T>(
  { conversion }: Pick<ServedResource, 'conversion'>,
  client: ConversionClient,
  failed: 'throws' | 'isGone',
  compute: (convert: ConvertObject | undefined) => T,
): T | Promise<T> {
  if (conversion?.type !== 'later') return compute(conversion?.convert);
  const conversions = new Conversions(conversion.convert, client, failed);
  return conversions.run(compute);
}

/** Thrown out of a computation to get the result of a conversion. */
class Missing extends Error {
  readonly object: Fields;
  readonly apiVersion: string;

  constructor(object: Fields, apiVersion: string) {
    super('a conversion is waited for');
    this.object = object;
    this.apiVersion = apiVersion;
  }
}

class Conversions {
  readonly #convert: ConvertLater;
  readonly #client: ConversionClient;
  readonly #failed: 'throws' | 'isGone';
  /** Results by version and object. Equal objects have equal results. */
  readonly #known = new Map<string, Converted>();
  readonly #texts = new WeakMap<Fields, string>();
  /** Nothing more is asked for. */
  #gone = false;

  constructor(convert: ConvertLater, client: ConversionClient, failed: 'throws' | 'isGone') {
    this.#convert = convert;
    this.#client = client;
    this.#failed = failed;
  }

  run<T>(compute: (convert: ConvertObject) => T): T | Promise<T> {
    const convert: ConvertObject = (object, apiVersion) => {
      const key = this.#keyOf(object, apiVersion);
      if (this.#known.has(key)) return this.#known.get(key);
      if (this.#gone) return undefined;
      throw new Missing(object, apiVersion);
    };
    try {
      return compute(convert);
    } catch (error) {
      if (!(error instanceof Missing)) throw error;
      return this.#fetch(error).then(() => this.run(compute));
    }
  }

  async #fetch({ object, apiVersion }: Missing): Promise<void> {
    const { signal } = this.#client;
    const asked = this.#convert(object, apiVersion, this.#client);
    try {
      this.#known.set(this.#keyOf(object, apiVersion), asked && (await untilAborted(asked, signal)));
    } catch (error) {
      signal.throwIfAborted();
      if (this.#failed === 'throws') throw error;
      this.#gone = true;
    }
  }

  #keyOf(object: Fields, apiVersion: string): string {
    let text = this.#texts.get(object);
    if (text === undefined) {
      text = stringifyJson(object);
      this.#texts.set(object, text);
    }
    return `${apiVersion} ${text}`;
  }
}
