import type { Clock } from './time/clock.ts';

/**
 * Structured log. Messages say what happened; fields carry the data. Callers never pass secrets: tokens, keys, request
 * bodies and the values of Secret objects are never logged at any level.
 */
export interface Logger {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
}

export type LogFields = Readonly<Record<string, unknown>>;
export type LogLevel = keyof Logger;

/** Discards everything; for tests and tools. */
export const silentLogger: Logger = { error() {}, warn() {}, info() {}, debug() {} };

export interface LoggerOptions {
  /** The least important level that is written. */
  readonly level: LogLevel;
  /** `json`: one object per line, for machines. `text`: for people at a terminal. */
  readonly format: 'json' | 'text';
  readonly clock: Clock;
  /** Receives one line, including its line break. */
  readonly write: (line: string) => void;
}

const order: readonly LogLevel[] = ['error', 'warn', 'info', 'debug'];

/** A logger that writes lines. Never throws because of its arguments: values that JSON cannot represent become text. */
export function createLogger(options: LoggerOptions): Logger {
  const format = options.format === 'json' ? jsonLine : textLine;
  const at = (level: LogLevel): Logger['info'] =>
    order.indexOf(level) > order.indexOf(options.level)
      ? () => {}
      : (message, fields) => {
          const time = new Date(options.clock.now()).toISOString();
          options.write(`${format(time, level, message, fields)}\n`);
        };
  return { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') };
}

function jsonLine(time: string, level: LogLevel, message: string, fields: LogFields | undefined): string {
  const own = { time, level, message };
  // Spread twice: the first sets the order, the second wins over fields of the same names.
  return toJson({ ...own, ...fields, ...own });
}

function textLine(time: string, level: LogLevel, message: string, fields: LogFields | undefined): string {
  const pairs = Object.entries(fields ?? {}).map(([key, value]) => ` ${key}=${textValue(value)}`);
  return `${time} ${level.padEnd(5)} ${oneLine(message)}${pairs.join('')}`;
}

function textValue(value: unknown): string {
  if (value instanceof Error) return oneLine(value.stack ?? String(value));
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? oneLine(value) : toJson(value);
}

/** External input must not be able to start a new line or to control a terminal. */
const oneLine = (text: string): string =>
  text.replace(/\p{Cc}/gu, (character) => (character === '\n' ? ' | ' : JSON.stringify(character).slice(1, -1)));

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
  if (!(value instanceof Error)) return value;
  const { name, message, stack, cause } = value;
  return { name, message, ...('code' in value && { code: value.code }), stack, ...(cause !== undefined && { cause }) };
}
