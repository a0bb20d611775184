/**
 * Structured log. Messages say what happened; fields carry the data. Callers never pass secrets: tokens, keys,
 * request bodies and the values of Secret objects stay out of every level.
 */
export interface Logger {
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** Drops everything; for tests and tools. */
export const silentLogger: Logger = { error() {}, warn() {}, info() {}, debug() {} };
