import { after, type Operation, type State, shown } from './operation.ts';

/**
 * Whether there is an order of the operations of one key, each at one moment between its call and its answer, in which every
 * answer is right (Herlihy and Wing 1990). The search is that of Wing and Gong, with what Lowe added ("Testing for
 * linearizability", 2017): a set of operations that led to a state before is not gone on from again. A write of unknown
 * outcome may stand anywhere after its call, or nowhere.
 */
export function isLinearizable(operations: readonly Operation[]): boolean {
  return new Search(operations.filter(({ answer }) => answer.type !== 'refused')).succeeds();
}

/** The call of an operation, or its answer, in a list in order of time. */
interface Entry {
  readonly operation: Operation;
  readonly number: number;
  readonly at: number;
  readonly type: 'call' | 'answer';
  /** Of a call: undefined for one that was never answered. */
  answer: Entry | undefined;
  previous: Entry | undefined;
  next: Entry | undefined;
}

interface Step {
  readonly call: Entry;
  readonly before: State;
}

class Search {
  readonly #head: Pick<Entry, 'next'> & { next: Entry | undefined } = { next: undefined };
  /** Operations that stand in the order, a bit for each. */
  #placed = 0n;
  #state: State;
  readonly #steps: Step[] = [];
  readonly #seen = new Set<string>();
  /** Answers that are not explained yet. */
  #unexplained = 0;

  constructor(operations: readonly Operation[]) {
    const entries = operations.flatMap((operation, number): readonly Entry[] => {
      const links = { operation, number, answer: undefined, previous: undefined, next: undefined };
      const call: Entry = { ...links, at: operation.invokedAt, type: 'call' };
      if (operation.answer.type === 'unknown') return [call];
      this.#unexplained += 1;
      call.answer = { ...links, at: operation.answeredAt, type: 'answer' };
      return [call, call.answer];
    });
    // An operation that begins in the moment in which another one ends may be before it.
    entries.sort((a, b) => a.at - b.at || (a.type === b.type ? 0 : a.type === 'call' ? -1 : 1));
    let last: Entry | undefined;
    for (const entry of entries) {
      entry.previous = last;
      if (last) last.next = entry;
      else this.#head.next = entry;
      last = entry;
    }
  }

  succeeds(): boolean {
    let entry = this.#head.next;
    while (this.#unexplained > 0) {
      if (entry?.type === 'call') entry = this.#place(entry) ? this.#head.next : entry.next;
      else {
        // An answer, and no place for its operation before it.
        const step = this.#steps.pop();
        if (!step) return false;
        this.#takeBack(step);
        entry = step.call.next;
      }
    }
    return true;
  }

  /** Puts an operation next in the order, if its answer allows it there. */
  #place(call: Entry): boolean {
    const next = after(this.#state, call.operation);
    if (next === 'impossible') return false;
    const placed = this.#placed | (1n << BigInt(call.number));
    const known = `${placed.toString(36)} ${next.state ?? ''}`;
    if (this.#seen.has(known)) return false;
    this.#seen.add(known);
    this.#steps.push({ call, before: this.#state });
    this.#state = next.state;
    this.#placed = placed;
    this.#unlink(call);
    if (call.answer) {
      this.#unlink(call.answer);
      this.#unexplained -= 1;
    }
    return true;
  }

  #takeBack({ call, before }: Step): void {
    this.#state = before;
    this.#placed ^= 1n << BigInt(call.number);
    if (call.answer) {
      this.#link(call.answer);
      this.#unexplained += 1;
    }
    this.#link(call);
  }

  #unlink({ previous, next }: Entry): void {
    (previous ?? this.#head).next = next;
    if (next) next.previous = previous;
  }

  /** Puts an entry back where it was: its neighbours are those that it had. */
  #link(entry: Entry): void {
    (entry.previous ?? this.#head).next = entry;
    if (entry.next) entry.next.previous = entry;
  }
}

/**
 * What is wrong with the operations of all keys, in words, with the shortest beginning of the history of a key that has no
 * order; undefined if nothing is.
 */
export function linearizabilityProblem(operations: readonly Operation[]): string | undefined {
  for (const [key, own] of Map.groupBy(operations, (operation) => operation.key)) {
    if (isLinearizable(own)) continue;
    const shortest = shortestFailing(own);
    return `no order explains the answers about ${key}:\n${shortest.map(shown).join('\n')}`;
  }
  return undefined;
}

/** What comes later than the moment is left out, and what was answered later has no answer yet. */
function until(operations: readonly Operation[], moment: number): readonly Operation[] {
  return operations.flatMap((operation): readonly Operation[] => {
    if (operation.invokedAt > moment) return [];
    if (operation.answeredAt <= moment) return [operation];
    const isWrite = operation.call.type !== 'get';
    return isWrite ? [{ ...operation, answer: { type: 'unknown' }, answeredAt: Number.POSITIVE_INFINITY }] : [];
  });
}

/** A history that fails goes on failing, so that its first wrong moment can be halved for. */
function shortestFailing(operations: readonly Operation[]): readonly Operation[] {
  const moments = operations.map(({ answeredAt }) => answeredAt).filter(Number.isFinite);
  moments.sort((a, b) => a - b);
  let [low, high] = [0, moments.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isLinearizable(until(operations, moments[middle] ?? 0))) low = middle + 1;
    else high = middle;
  }
  return until(operations, moments[low] ?? 0).toSorted((a, b) => a.invokedAt - b.invokedAt);
}
