import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import type { Files } from '../../base/files.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { Connection } from '../connection.ts';

/**
 * How a program in a pod reaches the API server, by what every pod is given: two variables of its environment, and a
 * folder with a token that is renewed there, and authorities. Throws where we are in no pod. Without authorities the
 * server is verified by what the system trusts.
 */
export function inClusterConnection(
  dialect: Dialect,
  { variables, files }: { readonly variables: Readonly<Record<string, string | undefined>>; readonly files: Files },
  folder = `/var/run/secrets/${dialect.domain}/serviceaccount`,
): Connection {
  const [hostVariable, portVariable] = ['HOST', 'PORT'].map((part) => `${dialect.name.toUpperCase()}_SERVICE_${part}`);
  const [host, port] = [variables[hostVariable ?? ''] ?? '', variables[portVariable ?? ''] ?? ''];
  const server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  if (host === '' || port === '' || !URL.canParse(server)) {
    throw new Error(`not in a pod: ${hostVariable} and ${portVariable} do not say where the API server is`);
  }
  const tokenFile = join(folder, 'token');
  const token = files.read(tokenFile).toString().trim();
  return {
    server: new URL(server),
    authorities: readOptional(join(folder, 'ca.crt'), files),
    serverName: undefined,
    insecure: false,
    credential: { type: 'stored', authorization: { type: 'tokenFile', file: tokenFile, token } },
    impersonation: undefined,
  };
}

function readOptional(file: string, files: Files): string | undefined {
  try {
    return files.read(file).toString();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
