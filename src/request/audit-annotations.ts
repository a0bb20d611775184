import { limits } from '../base/limits.ts';

/** Lets whoever works on a request leave a note for its audit event. */
export interface Annotator {
  /**
   * `key` is `<domain>/<name>`. The first value of a key stays. Returns why a note was not taken, for a log; the request
   * itself goes on.
   */
  annotate(key: string, value: string): string | undefined;
}

/** The annotations of one request: bounded, since names and texts in them may come from webhooks. */
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
/** A DNS subdomain, and a qualified name's own part. */
const keyForm =
  /^(?=[^/]{1,253}\/)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*\/(?=.{1,63}$)[A-Za-z0-9](?:[-\w.]*[A-Za-z0-9])?$/;
