import type { Files } from '../../base/files.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { getOwn } from '../../schema/own-property.ts';
import type { ConnectionConfig, CredentialSource } from '../connection-config.ts';
import { ConnectionFile, ConnectionFileError, type Fields } from './connection-file.ts';
import { readCredential, readImpersonation } from './kubeconfig-user.ts';

/** The users of a kubeconfig whose names say which servers they are for, as those of admission webhooks do. */
export interface KubeconfigUsers {
  /** By name, in lower case as hosts are. */
  readonly users: ReadonlyMap<string, KubeconfigUser>;
  /** User of the current context, for servers that no name fits. */
  readonly current: KubeconfigUser | undefined;
}

export interface KubeconfigUser extends Pick<ConnectionConfig, 'credential' | 'impersonation'> {
  /** Distinguishes it from the users of all files; without secrets. */
  readonly id: string;
}

/** A server that users may be named after. */
interface NamedServer {
  /** In lower case; an IPv6 address in brackets. */
  readonly host: string;
  readonly port: number;
}

/**
 * Reads all users of a kubeconfig and the files that they refer to, relative to its directory. Clusters are not looked
 * at. Throws a ConnectionFileError that names the user.
 */
export function readKubeconfigUsers(file: string, dialect: Dialect, files: Files): KubeconfigUsers {
  const document = new ConnectionFile(file, files);
  const users = new Map<string, KubeconfigUser>();
  for (const [at, item] of document.objects(document.root, 'users').entries()) {
    const name = document.text(item, 'name');
    if (name === undefined) throw document.error(`users[${at}] has no name`);
    if (users.has(name.toLowerCase())) throw document.error(`there are two users ${JSON.stringify(name)}`);
    users.set(name.toLowerCase(), readUser(document, item, name, { file, dialect }));
  }
  const context = document.text(document.root, 'current-context');
  if (context === undefined) return { users, current: undefined };
  const name = document.text(document.entry('contexts', 'context', context), 'user');
  const current = name === undefined ? undefined : users.get(name.toLowerCase());
  if (name !== undefined && !current) throw document.error(`there is no user ${JSON.stringify(name)}`);
  return { users, current };
}

function readUser(
  document: ConnectionFile,
  item: Fields,
  name: string,
  { file, dialect }: { readonly file: string; readonly dialect: Dialect },
): KubeconfigUser {
  const title = `the user ${JSON.stringify(name)}`;
  const user = document.fields(getOwn(item, 'user') ?? {}, title);
  try {
    return {
      id: JSON.stringify([file, name]),
      credential: readCredential({ document, user, dialect, cluster: {}, authorities: undefined }),
      impersonation: readImpersonation(document, user),
    };
  } catch (error) {
    throw error instanceof ConnectionFileError ? document.error(`${title}: ${error.problem}`, error) : error;
  }
}

/**
 * The user for a server, in kube-apiserver's order: named `host:port`, `*.suffix:port` from the longest suffix on; for
 * port 443 `host` and `*.suffix`; `*`; the user of the current context. Undefined: the server is called anonymously.
 */
export function userForServer({ users, current }: KubeconfigUsers, { host, port }: NamedServer) {
  const withPort = namesFor(`${host}:${port}`);
  const withoutPort = port === 443 ? namesFor(host.replace(/^\[|\]$/g, '')) : [];
  const name = [...withPort, ...withoutPort, '*'].find((each) => users.has(each));
  return name === undefined ? current : users.get(name);
}

function namesFor(server: string): readonly string[] {
  const labels = server.split('.');
  return [server, ...labels.slice(1).map((_, at) => `*.${labels.slice(at + 1).join('.')}`)];
}

/** A credential whose plugin, if it asks for the cluster, hears of the server that the credential is for. */
export function credentialFor(
  source: CredentialSource,
  { server, authorities }: Pick<ConnectionConfig, 'server' | 'authorities'>,
): CredentialSource {
  if (source.type !== 'plugin' || !source.plugin.cluster) return source;
  const data = authorities && { 'certificate-authority-data': Buffer.from(authorities).toString('base64') };
  return {
    type: 'plugin',
    plugin: { ...source.plugin, cluster: { ...source.plugin.cluster, server: server.origin, ...data } },
  };
}
