import { getCallSites } from 'node:util';
import { limits } from './limits.ts';
import { type LogEntry, type LogFields, type LogLevel, logLines } from './log-lines.ts';
import type { Clock } from './time/clock.ts';

/**
 * Structured log. Messages say what happened; fields carry the data. Callers never pass secrets: tokens, keys, request
 * bodies and the values of Secret objects are never logged at any level. Messages are constants, or have few values:
 * lines are counted by message.
 */
export interface Logger {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
}

/** Discards everything; for tests and tools. */
export const silentLogger: Logger = { error() {}, warn() {}, info() {}, debug() {} };

export interface LoggerOptions {
  /** The least important level that is written. */
  readonly level: LogLevel;
  /** The verbosity (`-v`) that lines of the level `info` stand for. Default: 0. */
  readonly verbosity?: number;
  /** `json`: one object per line, for machines. `text`: the form of klog. */
  readonly format: 'json' | 'text';
  readonly clock: Clock;
  /** Receives one line, including its line break. Returns false if it could not take the line, which is then lost. */
  readonly write: (line: string) => unknown;
  /** Lines with one message in a second; more are counted and left out. 0: no limit. Default: see `base/limits.ts`. */
  readonly sameLinesPerSecondMax?: number;
}

const order: readonly LogLevel[] = ['error', 'warn', 'info', 'debug'];

/** The verbosity that lines of the level `debug` stand for. */
export const debugVerbosity = 4;

/**
 * A logger that writes lines. Never throws because of its arguments: values that JSON cannot represent become text.
 * What is left out, because there is too much or because nobody reads it, is counted in a line of its own.
 */
export function createLogger(options: LoggerOptions): Logger {
  const { clock, verbosity = 0 } = options;
  const least = order.indexOf(options.level);
  const output = new Output(options);
  const at = (level: LogLevel): Logger['info'] => {
    if (order.indexOf(level) > least) return () => {};
    const v = { error: 0, warn: 0, info: verbosity, debug: debugVerbosity }[level];
    return (message, fields = {}) => {
      const time = clock.now();
      // The first frame is this function.
      if (output.admits(message, time)) output.write({ time, level, v, message, fields, caller: getCallSites(2)[1] });
    };
  };
  return { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') };
}

/** Lines that were left out of one second, by message. */
interface Second {
  readonly number: number;
  readonly counts: Map<string, number>;
}

class Output {
  readonly #line: (entry: LogEntry) => string;
  readonly #write: LoggerOptions['write'];
  readonly #sameMax: number;
  #second: Second = { number: 0, counts: new Map() };
  /** Lines that were not taken since the last that was. */
  #lost = 0;

  constructor({ format, write, sameLinesPerSecondMax }: LoggerOptions) {
    const line = logLines[format];
    this.#line = (entry) => `${line(entry)}\n`;
    this.#write = write;
    this.#sameMax = sameLinesPerSecondMax ?? limits.logSameLinesPerSecondMax;
  }

  /** False if there were too many such lines in this second. */
  admits(message: string, time: number): boolean {
    if (this.#sameMax === 0) return true;
    const number = Math.floor(time / 1000);
    if (number !== this.#second.number) this.#begin(number, time);
    const { counts } = this.#second;
    // Beyond the limit on messages, which are few, all others count as one.
    const key = counts.size < limits.logMessagesCountedMax || counts.has(message) ? message : '';
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count <= this.#sameMax;
  }

  #begin(number: number, time: number): void {
    const before = this.#second.counts;
    this.#second = { number, counts: new Map() };
    for (const [message, count] of before) {
      const lines = count - this.#sameMax;
      if (lines > 0) this.#warn(time, 'lines of the log were left out: too many of the same', { of: message, lines });
    }
  }

  write(entry: LogEntry): void {
    if (
      this.#lost > 0 &&
      !this.#warn(entry.time, 'lines of the log were lost: nobody reads it', { lines: this.#lost })
    ) {
      this.#lost += 1;
      return;
    }
    this.#lost = this.#write(this.#line(entry)) === false ? 1 : 0;
  }

  #warn(time: number, message: string, fields: LogFields): boolean {
    const entry: LogEntry = { time, level: 'warn', v: 0, message, fields, caller: undefined };
    return this.#write(this.#line(entry)) !== false;
  }
}
