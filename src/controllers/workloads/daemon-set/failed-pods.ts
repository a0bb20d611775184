/** Pauses between deletions of failed pods on one node, as published: a node agent may refuse each new one at once. */
const firstMs = 1_000;
const longestMs = 15 * 60_000;

interface Entry {
  readonly delayMs: number;
  readonly sinceMs: number;
}

/** Back-off of one daemon set, for each node. It begins anew with each generation. */
export class FailedPods {
  readonly #entries = new Map<string, Entry>();
  #generation: number | undefined;

  /** Forgets the pauses of another generation, and those that are long over. */
  prune(generation: number | undefined, nowMs: number): void {
    if (generation !== this.#generation) this.#entries.clear();
    this.#generation = generation;
    for (const [node, entry] of this.#entries) if (isOver(entry, nowMs)) this.#entries.delete(node);
  }

  /** Milliseconds until a failed pod on this node may be deleted; 0 if it may be now, which then begins the next pause. */
  waitMs(node: string, nowMs: number): number {
    const entry = this.#entries.get(node);
    const restMs = entry ? entry.sinceMs + entry.delayMs - nowMs : 0;
    if (restMs > 0) return restMs;
    const delayMs = entry && !isOver(entry, nowMs) ? Math.min(2 * entry.delayMs, longestMs) : firstMs;
    this.#entries.set(node, { delayMs, sinceMs: nowMs });
    return 0;
  }
}

const isOver = ({ sinceMs }: Entry, nowMs: number): boolean => nowMs - sinceMs > 2 * longestMs;
