/** A history that shares a budget with others. */
export interface BudgetedHistory {
  /** What it keeps alive. */
  readonly historyBytes: number;
  /** Drops from its old end until it keeps at most so much alive. */
  shrinkHistory(bytesMax: number): void;
}

/**
 * What the histories of all resources keep alive together. Where it is passed the largest gives way: whoever rewrites large
 * objects of some resources takes nothing from the others.
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

  /** What it keeps alive counts no more. */
  remove(history: BudgetedHistory): void {
    if (this.#histories.delete(history)) this.#bytes -= history.historyBytes;
  }

  /** One of the histories grew by so much, or shrank. */
  changed(bytes: number): void {
    this.#bytes += bytes;
    // What shrinks tells of it, too.
    if (bytes <= 0) return;
    while (this.#bytes > this.#bytesMax && this.#shrinkLargest());
  }

  /** False where nothing is left to drop. */
  #shrinkLargest(): boolean {
    let largest: BudgetedHistory | undefined;
    for (const history of this.#histories) {
      if (history.historyBytes > (largest?.historyBytes ?? 0)) largest = history;
    }
    // More than is needed at once, so that histories are not searched for each event.
    largest?.shrinkHistory(Math.floor(largest.historyBytes * shrunkPart));
    return largest !== undefined;
  }
}

const shrunkPart = 7 / 8;
