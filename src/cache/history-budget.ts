/** A history that shares a budget with others. */
export interface BudgetedHistory {
  /** Bytes that it keeps in memory. */
  readonly historyBytes: number;
  /** Drops the oldest changes until it keeps at most this many bytes in memory. */
  shrinkHistory(bytesMax: number): void;
}

/**
 * Limits the memory of the histories of all resources. If it is exceeded, the largest history shrinks: frequent writes of large
 * objects in some resources do not evict the history of others.
 */
export class HistoryBudget {
  readonly #bytesMax: number;
  readonly #histories = new Set<BudgetedHistory>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(history: BudgetedHistory): void {
    this.#histories.add(history);
    this.changed(history.historyBytes);
  }

  /** Its bytes no longer count. */
  remove(history: BudgetedHistory): void {
    if (this.#histories.delete(history)) this.#bytes -= history.historyBytes;
  }

  /** A history grew by this many bytes, or shrank if negative. */
  changed(bytes: number): void {
    this.#bytes += bytes;
    // Shrinking calls this method too.
    if (bytes <= 0) return;
    while (this.#bytes > this.#bytesMax && this.#shrinkLargest());
  }

  /** False if nothing is left to drop. */
  #shrinkLargest(): boolean {
    let largest: BudgetedHistory | undefined;
    for (const history of this.#histories) {
      if (history.historyBytes > (largest?.historyBytes ?? 0)) largest = history;
    }
    // Drops more than needed, so that the histories are not searched for every event.
    largest?.shrinkHistory(Math.floor(largest.historyBytes * shrunkPart));
    return largest !== undefined;
  }
}

const shrunkPart = 7 / 8;
