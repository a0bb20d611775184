import { type CallPlace, sourcePlace } from './log-places.ts';

export type LogLevel = 'error' | 'warn' | 'info' | 'debug';
export type LogFields = Readonly<Record<string, unknown>>;

/** What one line of the log says. */
export interface LogEntry {
  /** Milliseconds since the Unix epoch. */
  readonly time: number;
  readonly level: LogLevel;
  /** The verbosity that shows it. */
  readonly v: number;
  readonly message: string;
  readonly fields: LogFields;
  /** Where it was written; undefined if that is not known. */
  readonly caller: CallPlace | undefined;
}

/** Lines by format, without their line break. No value can start a line of its own or control a terminal. */
export const logLines: Readonly<Record<'json' | 'text', (entry: LogEntry) => string>> = {
  json: jsonLine,
  text: textLine,
};

/** The keys of kube-apiserver's JSON lines, and the level. */
function jsonLine({ time, level, v, message, fields, caller }: LogEntry): string {
  const own = { ts: time, level, ...(caller && { caller: sourcePlace(caller) }), msg: message };
  const verbosity = level === 'error' ? {} : { v };
  // Twice: the first sets the order, the second wins over fields of the same names.
  const line = (more: LogFields) => JSON.stringify({ ...own, ...verbosity, ...more, ...own, ...verbosity }, plain);
  const shown = published(level, fields);
  try {
    return inert(line(shown));
  } catch {
    return inert(
      line(Object.fromEntries(Object.entries(shown).map(([key, value]) => [key, JSON.parse(toJson(value))]))),
    );
  }
}

/** Padded to seven characters, as the thread's id in klog. */
const processId = String(process.pid).padStart(7);
const severities: Readonly<Record<LogLevel, string>> = { error: 'E', warn: 'W', info: 'I', debug: 'I' };

/** The form of klog: `I1122 18:10:06.123456    1234 file.ts:10] "msg" key="value"`, in local time. */
function textLine({ time, level, message, fields, caller }: LogEntry): string {
  const pairs = Object.entries(published(level, fields)).map(([key, value]) => ` ${textKey(key)}=${toJson(value)}`);
  const place = caller ? sourcePlace(caller) : 'logger:0';
  const header = `${severities[level]}${stamp(time)} ${processId} ${place}]`;
  return inert(`${header} ${JSON.stringify(message)}${pairs.join('')}`);
}

/** Month, day and time to the microsecond, as the form wants it; the clock counts milliseconds. */
function stamp(time: number): string {
  const at = new Date(time);
  const two = (value: number): string => String(value).padStart(2, '0');
  const date = `${two(at.getMonth() + 1)}${two(at.getDate())}`;
  const micros = `${String(at.getMilliseconds()).padStart(3, '0')}000`;
  return `${date} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${micros}`;
}

/** The field `error` under its published name, as text; with its stack where it is reported as an error of ours. */
function published(level: LogLevel, fields: LogFields): LogFields {
  const { error } = fields;
  if (!(error instanceof Error)) return fields;
  const { error: _, ...rest } = fields;
  return { ...rest, err: textOf(error), ...(level === 'error' && { stacktrace: error.stack }) };
}

/** The longest chain of causes that is written. */
const causesMax = 8;

/** Code and message of the error and of its causes. */
function textOf(error: Error): string {
  const parts: string[] = [];
  for (let each: unknown = error; each !== undefined && parts.length < causesMax; ) {
    if (!(each instanceof Error)) {
      parts.push(String(each));
      break;
    }
    parts.push('code' in each && typeof each.code === 'string' ? `${each.message} (${each.code})` : each.message);
    each = each.cause;
  }
  return parts.join(': ');
}

const textKey = (key: string): string => (/^[\w.-]+$/.test(key) ? key : JSON.stringify(key));

/** What JSON leaves as it is, but a terminal or a reader of lines may act on: C1 controls, separators, directions. */
const active = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Strings and keys of text are quoted as in JSON, so that an escape is read alike in both formats. */
const inert = (line: string): string =>
  line.replace(active, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

function toJson(value: unknown): string {
  try {
    return JSON.stringify(value, plain) ?? 'null';
  } catch {
    // A cycle, or a getter that throws: the line must be written all the same.
    return JSON.stringify(String(value));
  }
}

function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  return value instanceof Error ? textOf(value) : value;
}
