import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseYaml } from '../codec/yaml.ts';

/** How to reach a server and as whom, as a connection file says. PEM texts are whole. */
export interface Connection {
  /** `https://host:port`, and a path where the API does not begin at the root. */
  readonly server: URL;
  /** PEM of what the server's certificate is verified against; undefined: what the system trusts. */
  readonly authorities: string | undefined;
  /** The name that the server's certificate has, where it is not the host of `server`. */
  readonly serverName: string | undefined;
  /** The server's certificate is not verified: anybody can be the server. */
  readonly insecure: boolean;
  readonly credential: Credential;
}

export type Credential =
  | { readonly type: 'certificate'; readonly certificate: string; readonly key: string }
  | { readonly type: 'token'; readonly token: string }
  /** Read again from time to time: others renew it. */
  | { readonly type: 'tokenFile'; readonly file: string }
  | { readonly type: 'none' };

/** A connection file that cannot be used. The message names the file and what is wrong, never what a secret is. */
export class ConnectionFileError extends Error {
  constructor(file: string, problem: string, options?: ErrorOptions) {
    super(`${file}: ${problem}`, options);
    this.name = 'ConnectionFileError';
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** Reads the current context of a connection file, and the files that it names, relative to its own place. */
export function readKubeconfig(file: string): Connection {
  const document = new ConnectionFile(file);
  const context = document.entry('contexts', 'context', document.text(document.root, 'current-context'));
  const cluster = document.entry('clusters', 'cluster', document.text(context, 'cluster'));
  const user = document.text(context, 'user');
  return {
    server: document.server(cluster),
    authorities: document.content(cluster, 'certificate-authority'),
    serverName: document.text(cluster, 'tls-server-name'),
    insecure: cluster['insecure-skip-tls-verify'] === true,
    credential: user === undefined ? { type: 'none' } : document.credential(document.entry('users', 'user', user)),
  };
}

class ConnectionFile {
  readonly root: Fields;
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
    try {
      const { value } = parseYaml(readFileSync(file));
      this.root = this.#fields(value, 'it');
    } catch (error) {
      if (error instanceof ConnectionFileError) throw error;
      throw this.#error(`cannot be read: ${error instanceof Error ? error.message : error}`, error);
    }
  }

  #error(problem: string, cause?: unknown): ConnectionFileError {
    return new ConnectionFileError(this.#file, problem, cause === undefined ? undefined : { cause });
  }

  #fields(value: unknown, what: string): Fields {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
    throw this.#error(`${what} is no object`);
  }

  /** A text that is set; undefined where it is absent or empty. */
  text(fields: Fields, name: string): string | undefined {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (value === undefined || value === null || value === '') return undefined;
    if (typeof value === 'string') return value;
    throw this.#error(`${name} is no text`);
  }

  /** The one of that name in a list of named objects. */
  entry(listName: string, kind: string, name: string | undefined): Fields {
    if (name === undefined) throw this.#error(`it does not say which ${kind} is meant`);
    const items = this.root[listName];
    const found = (Array.isArray(items) ? items : [])
      .map((item) => this.#fields(item, `an item of ${listName}`))
      .find((item) => item['name'] === name);
    if (!found) throw this.#error(`there is no ${kind} ${JSON.stringify(name)}`);
    return this.#fields(found[kind] ?? {}, `the ${kind} ${JSON.stringify(name)}`);
  }

  server(cluster: Fields): URL {
    const text = this.text(cluster, 'server');
    const url = text !== undefined && URL.canParse(text) ? new URL(text) : undefined;
    if (url?.protocol !== 'https:' || url.username !== '' || url.search !== '') {
      throw this.#error('the server is not of the form https://HOST:PORT');
    }
    if (this.text(cluster, 'proxy-url') !== undefined) throw this.#error('proxy-url is not supported');
    return url;
  }

  /** What `<name>-data` holds in base64, or the file `<name>`; the data counts where both are there. */
  content(fields: Fields, name: string): string | undefined {
    const data = this.text(fields, `${name}-data`);
    if (data !== undefined) return Buffer.from(data, 'base64').toString();
    const file = this.text(fields, name);
    return file === undefined ? undefined : this.#read(this.#path(file), name);
  }

  #path(file: string): string {
    return resolve(dirname(this.#file), file);
  }

  #read(file: string, name: string): string {
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      throw this.#error(`${name}: ${file} cannot be read`, error);
    }
  }

  credential(user: Fields): Credential {
    for (const name of ['exec', 'auth-provider', 'username', 'as']) {
      if (user[name] !== undefined) throw this.#error(`the user's ${name} is not supported`);
    }
    const [certificate, key] = [this.content(user, 'client-certificate'), this.content(user, 'client-key')];
    if (certificate !== undefined && key !== undefined) return { type: 'certificate', certificate, key };
    if (certificate !== undefined || key !== undefined) {
      throw this.#error('client-certificate and client-key go together');
    }
    const [token, file] = [this.text(user, 'token'), this.text(user, 'tokenFile')];
    if (file !== undefined) return { type: 'tokenFile', file: this.#path(file) };
    return token === undefined ? { type: 'none' } : { type: 'token', token };
  }
}
