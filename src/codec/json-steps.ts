import { asBuffer } from '../base/collections/byte-span.ts';
import { setOwn } from '../schema/own-property.ts';
import { parseStored } from './json.ts';
import { backslash, closeBrace, closeBracket, comma, openBrace, openBracket, quote } from './json-characters.ts';

/** Parsed, or scanned, between two steps: well below a millisecond. */
const stepBytes = 32 * 1024;

/**
 * As `parseStored`, with a pause now and then for whoever iterates: a document of 3 MB would hold the event loop for tens
 * of milliseconds. Large lists and objects are cut between their elements.
 */
export function* parseStoredInSteps(bytes: Uint8Array): Generator<void, unknown> {
  if (bytes.length <= stepBytes) return parseStored(bytes);
  const buffer = asBuffer(bytes);
  const large = yield* findLarge(buffer);
  return large ? yield* build(buffer, large) : parseStored(bytes);
}

/** A list or object that is parsed in parts. */
interface LargeContainer {
  readonly isList: boolean;
  /** Where it begins. */
  readonly start: number;
  readonly parts: Part[];
}

/** From and to positions: several elements, or the name of one that is large itself. */
type Part =
  | { readonly type: 'run'; readonly from: number; readonly to: number }
  | { readonly type: 'large'; readonly from: number; readonly container: LargeContainer };

/** A list or object whose end was not reached. */
interface OpenContainer {
  start: number;
  isList: boolean;
  /** Where the present element begins, and the first one that is in no part; `noRun` if that is the next one. */
  elementStart: number;
  runStart: number;
  /** Undefined while it is small. */
  parts: Part[] | undefined;
}

const noRun = -1;

/** The outermost container, if it is large. What is no JSON is found by parsing it. */
function* findLarge(bytes: Buffer): Generator<void, LargeContainer | undefined> {
  // Entries are used again: most containers are small, and nothing is kept of them.
  const open: OpenContainer[] = [];
  let depth = 0;
  let pauseAt = stepBytes;
  for (let at = 0; at < bytes.length; at++) {
    if (at >= pauseAt) {
      pauseAt = at + stepBytes;
      yield;
    }
    switch (bytes[at]) {
      case quote:
        at = endOfString(bytes, at);
        break;
      case openBrace:
      case openBracket:
        openAt(open, depth++, at, bytes[at] === openBracket);
        break;
      case comma: {
        const container = open[depth - 1];
        if (!container) return undefined;
        if (container.runStart === noRun) container.runStart = at + 1;
        else if (at - container.runStart >= stepBytes) endRun(container, at);
        container.elementStart = at + 1;
        break;
      }
      case closeBrace:
      case closeBracket: {
        const container = open[--depth];
        if (!container) return undefined;
        if (container.parts === undefined && at - container.start < stepBytes) break;
        const large = closed(container, at);
        const outer = open[depth - 1];
        if (depth === 0 || !outer) return large;
        addLarge(outer, large);
      }
    }
  }
  return undefined;
}

function openAt(open: OpenContainer[], depth: number, at: number, isList: boolean): void {
  const entry = open[depth];
  if (!entry) {
    open.push({ start: at, isList, elementStart: at + 1, runStart: at + 1, parts: undefined });
    return;
  }
  entry.start = at;
  entry.isList = isList;
  entry.elementStart = at + 1;
  entry.runStart = at + 1;
  entry.parts = undefined;
}

/** Ends a run before the comma, or the end of the container, at `to`. */
function endRun(container: OpenContainer, to: number): void {
  container.parts ??= [];
  const { runStart } = container;
  if (runStart !== noRun && to > runStart) container.parts.push({ type: 'run', from: runStart, to });
  container.runStart = to + 1;
}

function closed(container: OpenContainer, at: number): LargeContainer {
  endRun(container, at);
  const { isList, start, parts = [] } = container;
  return { isList, start, parts };
}

/** Adds a large element that has ended, with what is before it. */
function addLarge(outer: OpenContainer, container: LargeContainer): void {
  if (outer.runStart !== noRun && outer.elementStart > outer.runStart) endRun(outer, outer.elementStart - 1);
  outer.parts ??= [];
  outer.parts.push({ type: 'large', from: outer.elementStart, container });
  outer.runStart = noRun;
}

function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1;
  for (; at < bytes.length && bytes[at] !== quote; at++) if (bytes[at] === backslash) at++;
  return at;
}

function* build(bytes: Buffer, { isList, parts }: LargeContainer): Generator<void, unknown> {
  const list: unknown[] = [];
  const record: Record<string, unknown> = {};
  for (const part of parts) {
    if (part.type === 'run') {
      const parsed = parseRun(bytes, part, isList);
      if (isList) for (const element of parsed as readonly unknown[]) list.push(element);
      else for (const name of Object.keys(Object(parsed))) setOwn(record, name, Object(parsed)[name]);
      yield;
      continue;
    }
    const value = yield* build(bytes, part.container);
    if (isList) list.push(value);
    else setOwn(record, nameAt(bytes, part), value);
  }
  return isList ? list : record;
}

function parseRun(
  bytes: Buffer,
  { from, to }: { readonly from: number; readonly to: number },
  isList: boolean,
): unknown {
  const [opening, closing] = isList ? brackets : braces;
  return parseStored(Buffer.concat([opening, bytes.subarray(from, to), closing]));
}

const brackets = [Buffer.from('['), Buffer.from(']')] as const;
const braces = [Buffer.from('{'), Buffer.from('}')] as const;

/** The name of the large field that begins there. */
function nameAt(bytes: Buffer, { from, container }: Part & { readonly type: 'large' }): string {
  const text = bytes.toString('utf8', from, container.start);
  const parsed = parseStored(Buffer.from(`{${text}0}`));
  return Object.keys(Object(parsed))[0] ?? '';
}
