import { limits } from '../../base/limits.ts';
import type { ApiDocument } from './documents.ts';

/** The documents that were asked for last, by their hash, of `limits.recentDocumentsBytesMax` in all. */
export class RecentDocuments {
  readonly #kept = new Map<string, ApiDocument>();
  #bytes = 0;

  get(hash: string): ApiDocument | undefined {
    const document = this.#kept.get(hash);
    if (document) {
      this.#kept.delete(hash);
      this.#kept.set(hash, document);
    }
    return document;
  }

  /** A document that is larger than all may be together is not kept. */
  add(document: ApiDocument): void {
    const { hash, json } = document;
    if (json.length > limits.recentDocumentsBytesMax || this.#kept.has(hash)) return;
    this.#kept.set(hash, document);
    this.#bytes += json.length;
    for (const [oldest, its] of this.#kept) {
      if (this.#bytes <= limits.recentDocumentsBytesMax) break;
      this.#kept.delete(oldest);
      this.#bytes -= its.json.length;
    }
  }
}
