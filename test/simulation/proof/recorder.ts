import type { ListRead, WatchedEvent } from './committed.ts';
import type { Answer, Call, Operation } from './operation.ts';

/** All that the clients of one run did and saw, in one order. */
export class Recorder {
  readonly operations: Operation[] = [];
  readonly lists: ListRead[] = [];
  readonly watches: { readonly client: string; from: number; readonly events: WatchedEvent[] }[] = [];
  #moment = 0;
  #values = 0;

  /** The next place in the order. */
  moment(): number {
    this.#moment += 1;
    return this.#moment;
  }

  /** A value that nobody has written. */
  value(): string {
    this.#values += 1;
    return `v${this.#values}`;
  }

  /** Notes an operation whose answer is that of `send`. */
  async operation(client: string, key: string, call: Call, send: () => Promise<Answer>): Promise<Answer> {
    const invokedAt = this.moment();
    const answer = await send();
    const answeredAt = answer.type === 'unknown' ? Number.POSITIVE_INFINITY : this.moment();
    this.operations.push({ client, key, call, answer, invokedAt, answeredAt });
    return answer;
  }
}
