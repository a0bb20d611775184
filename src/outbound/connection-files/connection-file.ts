import { dirname, resolve } from 'node:path';
import type { Files } from '../../base/files.ts';
import { parseYaml } from '../../codec/yaml.ts';
import { getOwn, isRecord } from '../../schema/own-property.ts';

/** A kubeconfig is invalid. The message names the file and the problem, never a secret. */
export class ConnectionFileError extends Error {
  /** Without the name of the file. */
  readonly problem: string;

  constructor(file: string, problem: string, options?: ErrorOptions) {
    super(`${file}: ${problem}`, options);
    this.name = 'ConnectionFileError';
    this.problem = problem;
  }
}

export type Fields = Readonly<Record<string, unknown>>;

/** Typed access to the fields of a kubeconfig. Throws ConnectionFileError for a field of the wrong type. */
export class ConnectionFile {
  readonly root: Fields;
  readonly #file: string;
  readonly #files: Files;

  constructor(file: string, files: Files) {
    this.#file = file;
    this.#files = files;
    try {
      const { value } = parseYaml(files.read(file));
      this.root = this.fields(value, 'it');
    } catch (error) {
      if (error instanceof ConnectionFileError) throw error;
      throw this.error(`cannot be read: ${error instanceof Error ? error.message : error}`, error);
    }
  }

  error(problem: string, cause?: unknown): ConnectionFileError {
    return new ConnectionFileError(this.#file, problem, cause === undefined ? undefined : { cause });
  }

  fields(value: unknown, what: string): Fields {
    if (isRecord(value)) return value;
    throw this.error(`${what} is no object`);
  }

  /** A string field; undefined if absent or empty. */
  text(fields: Fields, name: string): string | undefined {
    const value = getOwn(fields, name) ?? '';
    return value === '' ? undefined : this.#checkText(value, name);
  }

  #checkText(value: unknown, name: string): string {
    if (typeof value !== 'string') throw this.error(`${name} is no text`);
    // Neither headers nor arguments can contain it.
    if (value.includes('\0')) throw this.error(`${name} has a zero byte in it`);
    return value;
  }

  boolean(fields: Fields, name: string): boolean {
    const value = getOwn(fields, name) ?? false;
    if (typeof value === 'boolean') return value;
    throw this.error(`${name} is neither true nor false`);
  }

  /** A list; [] if absent. */
  list(fields: Fields, name: string): readonly unknown[] {
    const value = getOwn(fields, name) ?? [];
    if (Array.isArray(value)) return value;
    throw this.error(`${name} is no list`);
  }

  /** A list of strings, possibly empty ones; [] if absent. */
  texts(fields: Fields, name: string): readonly string[] {
    return this.list(fields, name).map((item) => this.#checkText(item, `an item of ${name}`));
  }

  /** A list of objects; [] if absent. */
  objects(fields: Fields, name: string): readonly Fields[] {
    return this.list(fields, name).map((item) => this.fields(item, `an item of ${name}`));
  }

  /** The named entry of a list. */
  entry(listName: string, kind: string, name: string | undefined): Fields {
    if (name === undefined) throw this.error(`it does not say which ${kind} is meant`);
    const found = this.objects(this.root, listName).find((item) => item['name'] === name);
    if (!found) throw this.error(`there is no ${kind} ${JSON.stringify(name)}`);
    return this.fields(found[kind] ?? {}, `the ${kind} ${JSON.stringify(name)}`);
  }

  /** The content of `<name>-data` (base64) or of the file `<name>`; the data takes precedence. */
  content(fields: Fields, name: string): string | undefined {
    const data = this.text(fields, `${name}-data`);
    if (data !== undefined) return this.#decode(data, `${name}-data`);
    const file = this.text(fields, name);
    return file === undefined ? undefined : this.#read(this.path(file), name);
  }

  #decode(data: string, name: string): string {
    const bare = data.replace(/[\r\n]/g, '');
    if (base64.test(bare)) return Buffer.from(bare, 'base64').toString();
    throw this.error(`${name} is not base64`);
  }

  /** Resolves a path relative to the kubeconfig's directory. */
  path(file: string): string {
    return resolve(dirname(this.#file), file);
  }

  #read(file: string, name: string): string {
    try {
      return this.#files.read(file).toString();
    } catch (error) {
      throw this.error(`${name}: ${file} cannot be read`, error);
    }
  }
}

/** RFC 4648 section 4. */
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
