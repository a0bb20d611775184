import type { RawClient } from '../../../src/http/h2/raw-client-fixture.ts';
import {
  literalForms,
  rawField,
  rawFrame,
  rawHeaders,
  rawIndex,
  rawTableSize,
  uint32,
} from '../../../src/http/h2/raw-frames-fixture.ts';
import type { Dice } from '../dice.ts';
import type { Field, Shown } from './oracle.ts';
import { ReferenceHpack } from './reference-hpack.ts';
import { randomFields, review, target } from './requests.ts';

/** A request that was sent over HTTP/2. */
export interface SentRequest {
  readonly stream: number;
  /** What a strict reader finds in what was sent; undefined where it cannot be read. */
  readonly fields: readonly Field[] | undefined;
  /** Bytes were changed at random: it may be refused for more than its identity. */
  readonly changed: boolean;
  /** It was taken back: there may be no answer. */
  readonly cancelled: boolean;
}

const data = 0;
const headers = 1;
const priority = 2;
const cancel = 3;
const ping = 6;
const windowUpdate = 8;
const endStream = 1;
const padded = 8;
const prioritized = 0x20;

/** Sends random requests on one connection: random representations of fields, cut into random frames, all mixed up. */
export class RandomSender {
  readonly #dice: Dice;
  readonly #client: RawClient;
  readonly #shown: Shown;
  /** What the table of the server holds. */
  readonly #table = new ReferenceHpack();
  #nextStream = 1;
  /** A block was sent that cannot be read: the server ends the connection. */
  broken = false;

  constructor(dice: Dice, client: RawClient, shown: Shown) {
    this.#dice = dice;
    this.#client = client;
    this.#shown = shown;
  }

  /** Sends `count` requests whose frames are mixed up with each other. */
  send(count: number): readonly SentRequest[] {
    const dice = this.#dice;
    const sent: SentRequest[] = [];
    const frames: Buffer[] = [];
    const open: (() => Buffer)[][] = [];
    while (sent.length < count || open.length > 0) {
      if (dice.chance(0.05)) frames.push(this.#frameBetween());
      if (sent.length < count && (open.length === 0 || dice.chance(0.5))) {
        const { request, first, steps } = this.#request(false);
        sent.push(request);
        frames.push(first);
        open.push(steps);
      } else {
        const at = dice.below(open.length);
        const step = open[at]?.shift();
        if (step) frames.push(step());
        if (open[at]?.length === 0) open.splice(at, 1);
      }
    }
    this.#write(Buffer.concat(frames));
    return sent;
  }

  /** Sends one whose header block has been changed at random: all others should be answered before. */
  sendChanged(): SentRequest {
    const { request, first, steps } = this.#request(true);
    this.#write(Buffer.concat([first, ...(this.broken ? [] : steps.map((step) => step()))]));
    return request;
  }

  /** In random parts. */
  #write(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      const length = this.#dice.chance(0.2) ? 1 + this.#dice.below(200) : bytes.length;
      this.#client.send(bytes.subarray(at, at + length));
      at += length;
    }
  }

  #request(changed: boolean) {
    const dice = this.#dice;
    const stream = this.#nextStream;
    this.#nextStream += 2;
    const block = this.#block(this.#head(), changed);
    const fields = this.#table.read(block);
    this.broken = fields === undefined;
    const cancelled = dice.chance(0.01);
    const first = this.#headersFrames(stream, 0, block);
    const steps = cancelled
      ? [() => rawFrame(cancel, 0, stream, uint32(8))]
      : dice.chance(0.1)
        ? [...this.#body(stream, false), () => this.#trailers(stream)]
        : this.#body(stream, true);
    const request: SentRequest = { stream, fields, changed, cancelled };
    return { request, first, steps };
  }

  #head(): readonly Field[] {
    const dice = this.#dice;
    const pseudo: Field[] = [
      [':method', 'POST'],
      [':scheme', 'https'],
      [':path', target],
    ];
    if (dice.chance(0.8)) pseudo.push([':authority', 'localhost']);
    const fields: Field[] = [['content-type', 'application/json'], ...randomFields(dice, this.#shown)];
    if (dice.chance(0.5)) fields.push(['content-length', String(review.length)]);
    return [...dice.shuffle(pseudo), ...fields];
  }

  #block(fields: readonly Field[], changed: boolean): Buffer {
    const dice = this.#dice;
    // The same table, to see what the places are while the block is made.
    const table = this.#table.copy();
    const parts: Buffer[] = [];
    const add = (part: Buffer): void => {
      parts.push(part);
      table.read(part);
    };
    if (dice.chance(0.03)) add(rawTableSize(dice.pick([0, 100, 1_000, 4_096])));
    for (const field of fields) add(this.#represented(field, table));
    const block = Buffer.concat(parts);
    if (!changed) return block;
    for (let changes = 1 + dice.below(3); changes > 0; changes -= 1) block[dice.below(block.length)] = dice.below(256);
    return block;
  }

  #represented(field: Field, tables: ReferenceHpack): Buffer {
    const dice = this.#dice;
    const [name, value] = field;
    const { whole, named } = placesOf(field, tables);
    if (whole > 0 && dice.chance(0.7)) return rawIndex(whole);
    return rawField(name, value, {
      form: dice.pick(forms),
      huffman: dice.chance(0.5),
      nameIndex: dice.chance(0.7) ? named : 0,
    });
  }

  #headersFrames(stream: number, flags: number, block: Buffer): Buffer {
    const dice = this.#dice;
    const cut = dice.chance(0.2) ? 1 + dice.below(block.length) : 16_000;
    if (block.length > cut) return rawHeaders(stream, flags, block, Math.max(cut, Math.ceil(block.length / 60)));
    const weight = dice.chance(0.2) ? Buffer.concat([uint32(0), Buffer.from([dice.below(256)])]) : none;
    const padding = dice.chance(0.2) ? dice.below(200) : -1;
    const payload = Buffer.concat([
      padding < 0 ? none : Buffer.from([padding]),
      weight,
      block,
      Buffer.alloc(Math.max(0, padding)),
    ]);
    const more = (weight.length > 0 ? prioritized : 0) | (padding >= 0 ? padded : 0);
    return rawFrame(headers, flags | more | 4, stream, payload);
  }

  #body(stream: number, ends: boolean): (() => Buffer)[] {
    const dice = this.#dice;
    const steps: (() => Buffer)[] = [];
    let at = 0;
    while (at < review.length) {
      const length = dice.chance(0.3) ? 1 + dice.below(30) : review.length;
      const part = Buffer.from(review.slice(at, at + length));
      at += length;
      const flags = ends && at >= review.length ? endStream : 0;
      const padding = dice.chance(0.1) ? dice.below(100) : -1;
      const payload = padding < 0 ? part : Buffer.concat([Buffer.from([padding]), part, Buffer.alloc(padding)]);
      steps.push(() => rawFrame(data, flags | (padding < 0 ? 0 : padded), stream, payload));
    }
    return steps;
  }

  /** Fields that say who asks are none of the request here. */
  #trailers(stream: number): Buffer {
    const fields = randomFields(this.#dice, this.#shown).filter(
      ([name, value]) => /^[a-z-]+$/.test(name) && !/[^\t -~]/.test(value),
    );
    const block = this.#block([['x-trailer', 'x'], ...fields], false);
    this.#table.read(block);
    return this.#headersFrames(stream, endStream, block);
  }

  #frameBetween(): Buffer {
    const dice = this.#dice;
    switch (dice.below(4)) {
      case 0:
        return rawFrame(ping, 0, 0, Buffer.alloc(8, dice.below(256)));
      case 1:
        return rawFrame(windowUpdate, 0, 0, uint32(1 + dice.below(1_000)));
      case 2:
        return rawFrame(priority, 0, 2 * dice.below(1_000) + 1, Buffer.alloc(5, 0x80));
      default:
        return rawFrame(0x20 + dice.below(100), dice.below(256), dice.below(1_000), Buffer.alloc(dice.below(50)));
    }
  }
}

const none: Buffer = Buffer.alloc(0);
const forms = Object.keys(literalForms) as readonly (keyof typeof literalForms)[];

/** Where a field, and where its name, stands in the tables; 0 where it does not. */
function placesOf([name, value]: Field, tables: ReferenceHpack): { readonly whole: number; readonly named: number } {
  let named = 0;
  for (let index = 1; ; index += 1) {
    const field = tables.at(index);
    if (!field) return { whole: 0, named };
    if (field[0] !== name) continue;
    named ||= index;
    if (field[1] === value) return { whole: index, named };
  }
}
