import { parseStored } from '../codec/json.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { ApiEvent } from './api-client.ts';

/** Shorter events are parsed whole: scanning them would not be faster. */
const shortBytesMax = 16 * 1024;

/**
 * Parses only the metadata of a large watch event's object, without managedFields, and skips the rest; the object then has no
 * other fields. Events not in this server's format are parsed whole.
 */
export function readMetadataEvent(line: Buffer): ApiEvent {
  const head = line.subarray(0, headLength);
  const readable = line.length > shortBytesMax && head.includes('{"type":"') && !head.includes(errorType);
  const metadata = readable && metadataOf(line);
  if (!metadata) return parseStored(line) as ApiEvent;
  const { type } = JSON.parse(`${line.subarray(0, line.indexOf(0x2c)).toString()}}`) as Pick<ApiEvent, 'type'>;
  return { type, object: { apiVersion: '', kind: '', metadata } } as ApiEvent;
}

/** Like `readMetadataEvent`, for an object. */
export function readMetadata(bytes: Buffer): ApiObject {
  const metadata = bytes.length > shortBytesMax && metadataOf(bytes);
  return metadata ? { apiVersion: '', kind: '', metadata } : (parseStored(bytes) as ApiObject);
}

const headLength = 32;
const errorType = '"ERROR"';
const marker = Buffer.from('"metadata":{');
const managedFields = Buffer.from('"managedFields"');

/** Bytes searched for metadata: `kind` and `apiVersion`, which precede it, are short. */
const markerWithin = 1_024;

function metadataOf(line: Buffer): ApiObject['metadata'] | undefined {
  const found = line.subarray(0, markerWithin).indexOf(marker);
  if (found === -1) return undefined;
  const start = found + marker.length - 1;
  const parts: Buffer[] = [];
  let [depth, from] = [0, start];
  for (let at = start; at < line.length; at++) {
    const byte = line[at];
    if (byte === quote) {
      const end = endOfString(line, at);
      if (depth === 1 && end - at === managedFields.length - 1 && line.subarray(at, end + 1).equals(managedFields)) {
        // Replaces the value with an empty list.
        const value = line.indexOf(openBracket, end);
        const valueEnd = endOfContainer(line, value);
        parts.push(line.subarray(from, value), emptyList);
        from = valueEnd + 1;
        at = valueEnd;
      } else at = end;
    } else if (byte === openBrace || byte === openBracket) depth++;
    else if ((byte === closeBrace || byte === closeBracket) && --depth === 0) {
      parts.push(line.subarray(from, at + 1));
      return parseStored(Buffer.concat(parts)) as ApiObject['metadata'];
    }
  }
  return undefined;
}

const quote = 0x22;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const emptyList = Buffer.from('[]');

/** Position of the quote that ends the string starting at `start`. */
function endOfString(line: Buffer, start: number): number {
  let end = start + 1;
  while (end < line.length && line[end] !== quote) end += line[end] === backslash ? 2 : 1;
  return end;
}

/** Position of the bracket that ends the list or object starting at `start`. */
function endOfContainer(line: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < line.length; at++) {
    const byte = line[at];
    if (byte === quote) at = endOfString(line, at);
    else if (byte === openBrace || byte === openBracket) depth++;
    else if ((byte === closeBrace || byte === closeBracket) && --depth === 0) return at;
  }
  return line.length;
}
