import { limits } from '../base/limits.ts';

/** Adds annotations to the audit event of a request. */
export interface Annotator {
  /**
   * `key` is `<domain>/<name>`. The first value of a key is kept. Returns why an annotation was rejected, for logging;
   * the request continues. `from`: only shown at this level and above. Default: whenever the request is recorded.
   */
  annotate(key: string, value: string, from?: AnnotationLevel): string | undefined;
}

/** A level of audit from which an annotation is shown, because it has parts of an object. */
export type AnnotationLevel = 'Request';

/** The audit annotations of one request. Bounded, since keys and values may come from webhooks. */
export class AuditAnnotations implements Annotator, Iterable<readonly [key: string, value: string]> {
  readonly #values = new Map<string, string>();
  #bytes = 0;

  annotate(key: string, value: string): string | undefined {
    const known = this.#values.get(key);
    if (known !== undefined) return known === value ? undefined : `${key} has a value already`;
    if (!keyForm.test(key)) return `${JSON.stringify(key.slice(0, keyLengthMax))} is not of the form domain/name`;
    const bytes = Buffer.byteLength(key) + Buffer.byteLength(value);
    if (this.#values.size >= limits.auditAnnotationsMax || this.#bytes + bytes > limits.auditAnnotationsBytesMax) {
      return `${key} does not fit beside the others`;
    }
    this.#values.set(key, value);
    this.#bytes += bytes;
    return undefined;
  }

  get size(): number {
    return this.#values.size;
  }

  [Symbol.iterator](): Iterator<readonly [key: string, value: string]> {
    return this.#values.entries();
  }
}

const keyLengthMax = 253 + 1 + 63;
/** A DNS subdomain, then the name part of a qualified name. */
const keyForm =
  /^(?=[^/]{1,253}\/)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*\/(?=.{1,63}$)[A-Za-z0-9](?:[-\w.]*[A-Za-z0-9])?$/;
