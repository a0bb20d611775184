import type { Clock } from '../base/time/clock.ts';
import { TimeSlice } from '../base/time/time-slice.ts';
import { parseStored } from '../codec/json.ts';
import { JsonBytes } from '../codec/json-bytes.ts';
import { closeBracket, comma, openBrace } from '../codec/json-characters.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { ApiClient, ApiList } from './api-client.ts';

interface ListPagesOptions {
  readonly client: Pick<ApiClient, 'getBytes'>;
  /** Path of the collection, with selectors in the query. */
  readonly path: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly signal: AbortSignal;
  /** Parses an object of the list. Default: parses all of it. */
  readonly readItem?: ((bytes: Buffer) => ApiObject) | undefined;
}

/** Page size in objects: the first page; then as many as are estimated to fill `pageBytes`, up to `pageMax`. */
const firstPage = 50;
const pageMax = 500;
const pageBytes = 2 * 1024 * 1024;
/** Maximum growth from one page to the next, since object sizes vary. */
const growth = 4;

/** The pages of a collection at one resourceVersion. Objects are parsed in time slices: they may be large, or many. */
export async function* listPages(options: ListPagesOptions): AsyncGenerator<ApiList, void> {
  const { client, path, signal } = options;
  const start = `${path}${path.includes('?') ? '&' : '?'}limit=`;
  let limit = firstPage;
  for (let token = ''; ; ) {
    const from = token === '' ? '' : `&continue=${encodeURIComponent(token)}`;
    const bytes = await client.getBytes(`${start}${limit}${from}`, signal);
    const page = await readList(bytes, options);
    yield page;
    token = page.metadata.continue ?? '';
    if (token === '') return;
    const fitting = Math.floor((limit * pageBytes) / bytes.length);
    limit = Math.max(1, Math.min(fitting, limit * growth, pageMax));
  }
}

const itemsStart = Buffer.from('"items":[');

/** Parses a list. One that is not in this server's format is parsed in one go. */
export async function readList(
  bytes: Buffer,
  { clock, signal, readItem = readWhole }: Pick<ListPagesOptions, 'clock' | 'signal' | 'readItem'>,
): Promise<ApiList> {
  const start = bytes.indexOf(itemsStart) + itemsStart.length;
  const slice = new TimeSlice(clock);
  const items: ApiObject[] = [];
  const json = new JsonBytes(bytes);
  let at = start;
  while (start >= itemsStart.length && bytes[at] === openBrace) {
    if (slice.over) await slice.next();
    signal.throwIfAborted();
    const end = json.skipValue(at);
    if (end < 0) break;
    items.push(readItem(bytes.subarray(at, end)));
    at = bytes[end] === comma ? end + 1 : end;
  }
  const end = bytes[at] === closeBracket ? bytes.toString('utf8', at + 1).trim() : '';
  if (start < itemsStart.length || end !== '}') return parseStored(bytes) as unknown as ApiList;
  const { metadata }: ApiList = JSON.parse(`${bytes.toString('utf8', 0, start)}]}`);
  return { metadata, items };
}

const readWhole = (bytes: Buffer): ApiObject => parseStored(bytes) as ApiObject;
