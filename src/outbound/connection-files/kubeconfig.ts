import type { Files } from '../../base/files.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { certificatesFromPem } from '../../pki/pem.ts';
import type { ConnectionConfig } from '../connection-config.ts';
import { ConnectionFile, type Fields } from './connection-file.ts';
import { readCredential, readImpersonation } from './kubeconfig-user.ts';

interface KubeconfigOptions {
  /** Takes a server without TLS, as kube-apiserver does of webhooks. Default: such a file is refused. */
  readonly allowsHttp?: boolean;
}

/**
 * Reads the current context of a kubeconfig and the files it refers to, relative to its directory. The dialect gives
 * the names for credential plugins. Throws ConnectionFileError.
 */
export function readKubeconfig(
  file: string,
  dialect: Dialect,
  files: Files,
  options: KubeconfigOptions = {},
): ConnectionConfig {
  const document = new ConnectionFile(file, files);
  const context = document.entry('contexts', 'context', document.text(document.root, 'current-context'));
  const cluster = document.entry('clusters', 'cluster', document.text(context, 'cluster'));
  const userName = document.text(context, 'user');
  const user = userName === undefined ? {} : document.entry('users', 'user', userName);
  const server = readServer(document, cluster, options);
  return {
    ...server,
    credential: readCredential({ document, user, dialect, cluster, authorities: server.authorities }),
    impersonation: readImpersonation(document, user),
  };
}

type Server = Pick<ConnectionConfig, 'server' | 'authorities' | 'serverName' | 'insecure'>;

function readServer(document: ConnectionFile, cluster: Fields, options: KubeconfigOptions): Server {
  const server = readUrl(document, cluster, options);
  if (document.text(cluster, 'proxy-url') !== undefined) throw document.error('proxy-url is not supported');
  const insecure = document.boolean(cluster, 'insecure-skip-tls-verify');
  const authorities = document.content(cluster, 'certificate-authority');
  if (authorities !== undefined) {
    if (insecure) throw document.error('insecure-skip-tls-verify and certificate-authority exclude each other');
    if (!hasCertificates(authorities)) throw document.error('certificate-authority: there is no certificate in it');
  }
  return { server, authorities, serverName: document.text(cluster, 'tls-server-name'), insecure };
}

function readUrl(document: ConnectionFile, cluster: Fields, { allowsHttp = false }: KubeconfigOptions): URL {
  const text = document.text(cluster, 'server');
  const url = text !== undefined && URL.canParse(text) ? new URL(text) : undefined;
  const isTaken = url?.protocol === 'https:' || (allowsHttp && url?.protocol === 'http:');
  if (isTaken && url.username === '' && url.password === '') return url;
  throw document.error(`the server is not of the form https://HOST:PORT${allowsHttp ? ' or http://HOST:PORT' : ''}`);
}

function hasCertificates(pem: string): boolean {
  try {
    return certificatesFromPem(pem).length > 0;
  } catch {
    // The PEM block is labelled as a certificate but is invalid.
    return false;
  }
}
