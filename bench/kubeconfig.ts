import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import type { ConnectOptions } from './http2-client.ts';

type Named<K extends string, T> = { readonly name: string } & Readonly<Record<K, T>>;

interface Kubeconfig {
  readonly 'current-context'?: string;
  readonly contexts?: readonly Named<'context', { readonly cluster: string; readonly user: string }>[];
  readonly clusters?: readonly Named<'cluster', Readonly<Record<string, unknown>>>[];
  readonly users?: readonly Named<'user', Readonly<Record<string, unknown>>>[];
}

/**
 * How to reach the server of a connection file, as its current context says. Certificates and tokens, in the file or in
 * files that it names; programs that give credentials are not run. Throws an Error that names the file and the field.
 */
export function readKubeconfig(path: string): ConnectOptions {
  const file: Kubeconfig = parse(readFileSync(path, 'utf8')) ?? {};
  const wrong = (what: string): Error => new Error(`${path}: ${what}`);
  const one = <T extends { readonly name: string }>(
    list: readonly T[] = [],
    name: string | undefined,
    what: string,
  ): T => {
    const found = name === undefined && list.length === 1 ? list[0] : list.find((each) => each.name === name);
    if (!found) throw wrong(`no ${what} ${name ?? ''}`);
    return found;
  };
  const { context } = one(file.contexts, file['current-context'], 'context');
  const { cluster } = one(file.clusters, context.cluster, 'cluster');
  const { user } = one(file.users, context.user, 'user');
  const text = (from: Readonly<Record<string, unknown>>, field: string): string | undefined => {
    const value = from[field];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const bytes = (from: Readonly<Record<string, unknown>>, field: string): Buffer | undefined => {
    const data = text(from, `${field}-data`);
    if (data !== undefined) return Buffer.from(data, 'base64');
    const named = text(from, field);
    return named === undefined ? undefined : readFileSync(resolve(dirname(path), named));
  };
  const server = URL.parse(text(cluster, 'server') ?? '');
  if (server?.protocol !== 'https:') throw wrong('clusters[].cluster.server: not an https URL');
  if (server.pathname !== '/') throw wrong('clusters[].cluster.server: a URL with a path is not measured');
  const ca = bytes(cluster, 'certificate-authority');
  if (!ca) throw wrong('clusters[].cluster: certificate-authority or its data is needed');
  const [cert, key, token] = [bytes(user, 'client-certificate'), bytes(user, 'client-key'), text(user, 'token')];
  if (!(cert && key) && token === undefined) throw wrong('users[].user: a client certificate or a token is needed');
  return {
    host: server.hostname.replace(/^\[|\]$/g, ''),
    port: Number(server.port || 443),
    ca,
    ...(cert && key && { cert, key }),
    ...(token !== undefined && { token }),
  };
}
