import type { Dice } from '../dice.ts';
import { admin, get } from '../simulated-world.ts';
import { ask, LostAnswer, type Member, type ReplyBody, type Servers } from './client.ts';
import type { WatchedEvent } from './committed.ts';
import type { Recorder } from './recorder.ts';

interface WatchParts {
  readonly servers: Servers;
  readonly dice: Dice;
  /** Is told of lists. */
  readonly recorder: Recorder;
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
/** Gone: what is asked for is before the history that is kept. */
const expired = 410;

/**
 * Follows a collection from one server to the next, each time from where it was, until it has seen a revision. Where history is
 * gone it lists, and goes on from there.
 */
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
        if ((await this.#read(response.body)) === 'expired') await this.#list(member);
      } catch (error) {
        if (!signal.aborted && !(error instanceof LostAnswer)) throw error;
      }
    }
  }

  async #list(member: Member): Promise<void> {
    const reply = await ask(member, get(this.#parts.collection));
    if (reply === 'gone' || reply.status !== 200) return;
    const { metadata, items = [] } = reply.body;
    const revision = Number(metadata?.resourceVersion);
    const shown = new Map(items.map(({ metadata, data }) => [metadata?.name ?? '', data?.['value'] ?? '']));
    this.#parts.recorder.lists.push({ client: 'a watch', revision, exact: revision, items: shown, invokedAt: 0 });
    this.events.push({ type: 'LISTED', key: '', value: '', revision });
    this.#reached(revision);
  }

  /** Ends with the watch. */
  async #read(body: AsyncIterable<Uint8Array>): Promise<'over' | 'expired'> {
    let rest = '';
    for await (const chunk of body) {
      const lines = `${rest}${Buffer.from(chunk)}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line === '') continue;
        const taken = this.#take(JSON.parse(line));
        if (taken !== 'more') return taken;
      }
    }
    return 'over';
  }

  #take(frame: Frame | ReplyBody): 'more' | 'over' | 'expired' {
    // A refusal is no event: it is asked for again, unless what it asks for will never be there.
    const status = 'type' in frame ? frame.object : frame;
    if (!('type' in frame) || frame.type === 'ERROR') return status.code === expired ? 'expired' : 'over';
    const { type, object } = frame;
    const revision = Number(object.metadata.resourceVersion);
    const event = { type, key: object.metadata.name, value: object.data?.['value'] ?? '', revision };
    this.events.push(event);
    if (this.#parts.doubles && this.#parts.dice.chance(doubledRate)) this.events.push(event);
    return this.#reached(revision) ? 'over' : 'more';
  }

  /** Whether that is as far as it is to be followed. */
  #reached(revision: number): boolean {
    this.#at = Math.max(this.#at, revision);
    if (this.#at < this.#until) return false;
    this.#stop.abort();
    return true;
  }
}
