import { limits } from '../../../base/limits.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { TimeSlice } from '../../../base/time/time-slice.ts';
import type { CacheEntry } from '../../../cache/cache.ts';
import { ObjectScanner } from '../../../cache/entries/object-scanner.ts';
import type { Presentation, Representation } from '../../../content/representation.ts';
import type { ListReply } from '../../../registry/reply.ts';
import type { HeavyWork, ReceivedRequest } from '../heavy/heavy-work.ts';
import type { EncodedObject } from './request-audit.ts';

interface AuditedObjectsParts {
  readonly clock: Clock;
  readonly representation: Representation;
  readonly heavy: HeavyWork;
}

interface ObjectOptions {
  readonly presentation: Presentation;
  readonly omitManagedFields: boolean;
  /** Target of the request. */
  readonly target: string;
}

/** A list whose items are kept as they are sent. */
interface RecordedList {
  readonly reply: ListReply;
  readonly sent: readonly CacheEntry[];
}

/** Encodes what clients sent and received as JSON in one line, whatever the format was. */
export class AuditedObjects {
  readonly #parts: AuditedObjectsParts;

  constructor(parts: AuditedObjectsParts) {
    this.#parts = parts;
  }

  /** The body of a request, without defaults. Throws or rejects if it is not valid. */
  request(request: ReceivedRequest, omitManagedFields: boolean): Buffer | Promise<Buffer> {
    return this.#parts.heavy.bodyAsJson(request, omitManagedFields);
  }

  /** An object that is sent in any form. */
  async object(bytes: Buffer, { presentation, omitManagedFields, target }: ObjectOptions): Promise<Buffer> {
    const shown = omitManagedFields ? withoutManagedFields(bytes) : bytes;
    const form = asJson(presentation);
    const { heavy, representation } = this.#parts;
    if (!heavy.takesRepresentation(shown, form)) return inOneLine(representation.object(shown, form));
    return inOneLine(await heavy.represent(shown, form, { target, signal: never, owner: undefined }));
  }

  /** The list with items that are kept for its event. */
  record(reply: ListReply): RecordedList {
    const sent: CacheEntry[] = [];
    const { items } = reply;
    const recorded = function* (): Generator<CacheEntry, void> {
      for (const entry of items) {
        sent.push(entry);
        yield entry;
      }
    };
    return { reply: { ...reply, items: recorded(), runs: undefined }, sent };
  }

  /** Of the items that were sent, which is what is held of a list that is not too large. */
  listBytes({ sent }: RecordedList): number {
    let total = 0;
    for (const { start, end } of sent) total += end - start;
    return total;
  }

  /** The list with the items that were sent. */
  async list({ reply, sent }: RecordedList, options: ObjectOptions): Promise<EncodedObject> {
    const { clock, representation, heavy } = this.#parts;
    if (this.listBytes({ reply, sent }) > limits.auditObjectBytesMax) return 'tooLarge';
    const form = asJson(options.presentation);
    const slice = new TimeSlice(clock);
    const items = options.omitManagedFields ? sent.map((entry) => new BareEntry(entry)) : sent;
    const list = await representation.list({ ...reply, items, count: () => items.length, runs: undefined }, form, {
      exchange: { signal: never },
      slice,
      elsewhere: ({ bytes }) =>
        heavy.takesRepresentation(bytes, form)
          ? heavy.listItem(bytes, form, { target: options.target, signal: never, owner: undefined })
          : undefined,
    });
    const pieces = list.type === 'pieces' ? list.pieces : separated(list);
    return joined(pieces, slice);
  }
}

/** Events are made even if the client is gone. */
const never = new AbortController().signal;

const asJson = (presentation: Presentation): Presentation => ({
  ...presentation,
  negotiated: { ...presentation.negotiated, format: 'json', mediaType: 'application/json', pretty: false },
});

const lineEnd = 0x0a;
const inOneLine = (bytes: Buffer): Buffer => (bytes.at(-1) === lineEnd ? bytes.subarray(0, -1) : bytes);

interface Items {
  readonly head: string;
  readonly items: Iterable<{ readonly memory: Buffer; readonly start: number; readonly end: number }>;
  readonly tail: string;
}

function* separated({ head, items, tail }: Items): Generator<string | Uint8Array, void> {
  yield head;
  let first = true;
  for (const { memory, start, end } of items) {
    if (!first) yield ',';
    first = false;
    yield memory.subarray(start, end);
  }
  yield tail;
}

async function joined(
  pieces: Iterable<Uint8Array | string | Promise<Uint8Array>>,
  slice: TimeSlice,
): Promise<EncodedObject> {
  const buffers: Uint8Array[] = [];
  let total = 0;
  for (const piece of pieces) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece instanceof Promise ? await piece : piece;
    total += bytes.length;
    if (total > limits.auditObjectBytesMax) return 'tooLarge';
    buffers.push(bytes);
    if (slice.over) await slice.next();
  }
  return inOneLine(Buffer.concat(buffers, total));
}

const managedFields = new ObjectScanner([['metadata', 'managedFields']]);
const comma = 0x2c;

/** A stored object without that field, cut out of its bytes. Other bytes are returned as they are. */
function withoutManagedFields(bytes: Buffer): Buffer {
  if (!managedFields.scan(bytes)) return bytes;
  const [value, end] = [managedFields.start(0), managedFields.end(0)];
  if (value < 0) return bytes;
  const name = bytes.lastIndexOf('"managedFields"', value);
  // With one of the commas around it.
  const before = bytes[name - 1] === comma;
  const after = !before && bytes[end] === comma;
  return Buffer.concat([bytes.subarray(0, before ? name - 1 : name), bytes.subarray(after ? end + 1 : end)]);
}

/** An entry without managed fields. */
class BareEntry implements CacheEntry {
  readonly #entry: CacheEntry;
  #bytes: Buffer | undefined;

  constructor(entry: CacheEntry) {
    this.#entry = entry;
  }

  get bytes(): Buffer {
    this.#bytes ??= withoutManagedFields(this.#entry.bytes);
    return this.#bytes;
  }

  get memory(): Buffer {
    return this.bytes;
  }

  readonly start = 0;

  get end(): number {
    return this.bytes.length;
  }

  get key(): string {
    return this.#entry.key;
  }

  get namespace(): string {
    return this.#entry.namespace;
  }

  get name(): string {
    return this.#entry.name;
  }

  get revision(): number {
    return this.#entry.revision;
  }

  get stale(): boolean {
    return this.#entry.stale;
  }

  label(key: string): string | undefined {
    return this.#entry.label(key);
  }

  field(path: string): string | undefined {
    return this.#entry.field(path);
  }
}
