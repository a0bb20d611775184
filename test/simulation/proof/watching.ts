import type { Dice } from '../dice.ts';
import { admin, get } from '../simulated-world.ts';
import { LostAnswer, type Servers } from './client.ts';
import type { WatchedEvent } from './committed.ts';

interface WatchParts {
  readonly servers: Servers;
  readonly dice: Dice;
  readonly collection: string;
  readonly from: number;
  /** Shows an event twice at times: a defect that the checker has to find. */
  readonly doubles: boolean;
}

interface Frame {
  readonly type: string;
  readonly object: {
    readonly metadata: { readonly name: string; readonly resourceVersion: string };
    readonly data?: Readonly<Record<string, string>>;
    readonly code?: number;
    readonly message?: string;
  };
}

const doubledRate = 0.05;

/** Follows a collection from one server to the next, each time from where it was, until it has seen a revision. */
export class Watching {
  readonly events: WatchedEvent[] = [];
  readonly #parts: WatchParts;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;
  #until = Number.POSITIVE_INFINITY;
  #at: number;

  constructor(parts: WatchParts) {
    this.#parts = parts;
    this.#at = parts.from;
    this.#done = this.#run();
  }

  /** Resolves when all up to the revision was shown, or when it is too late. */
  async end(until: number, late: Promise<void>): Promise<void> {
    this.#until = until;
    if (this.#at >= until) this.#stop.abort();
    void late.then(() => this.#stop.abort());
    await this.#done;
  }

  async #run(): Promise<void> {
    const { servers, dice, collection } = this.#parts;
    while (!this.#stop.signal.aborted) {
      const member = dice.pick(servers.members);
      const signal = AbortSignal.any([this.#stop.signal, member.gone]);
      const target = `${collection}?watch=true&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion=${this.#at}`;
      try {
        const response = await member.send({ ...get(target), signal }, admin);
        await this.#read(response.body);
      } catch (error) {
        if (!signal.aborted && !(error instanceof LostAnswer)) throw error;
      }
    }
  }

  async #read(body: AsyncIterable<Uint8Array>): Promise<void> {
    let rest = '';
    for await (const chunk of body) {
      const lines = `${rest}${Buffer.from(chunk)}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '' && !this.#take(JSON.parse(line))) return;
    }
  }

  /** False if the watch is over. */
  #take({ type, object }: Frame): boolean {
    // A refusal is no event: it is asked for again.
    if (!object?.metadata || type === 'ERROR' || type === undefined) return false;
    const revision = Number(object.metadata.resourceVersion);
    const event = { type, key: object.metadata.name, value: object.data?.['value'] ?? '', revision };
    this.events.push(event);
    if (this.#parts.doubles && this.#parts.dice.chance(doubledRate)) this.events.push(event);
    this.#at = Math.max(this.#at, revision);
    if (this.#at < this.#until) return true;
    this.#stop.abort();
    return false;
  }
}
