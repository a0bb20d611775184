import { join } from 'node:path';
import type { Files } from '../../base/files.ts';
import { isIpv6 } from '../../base/ip-version.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ConnectionConfig } from '../connection-config.ts';

/**
 * The in-cluster configuration of a pod: two environment variables, and a directory with the CA and a token that is
 * renewed there. Throws if the process is not in a pod. Without a CA file, the CAs of the operating system are used.
 */
export function inClusterConnection(
  dialect: Dialect,
  { variables, files }: { readonly variables: Readonly<Record<string, string | undefined>>; readonly files: Files },
  folder = `/var/run/secrets/${dialect.domain}/serviceaccount`,
): ConnectionConfig {
  const [hostVariable, portVariable] = ['HOST', 'PORT'].map((part) => `${dialect.name.toUpperCase()}_SERVICE_${part}`);
  const [host, port] = [variables[hostVariable ?? ''] ?? '', variables[portVariable ?? ''] ?? ''];
  const server = `https://${isIpv6(host) ? `[${host}]` : host}:${port}`;
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
