import type { KeyPair } from '../../pki/key-pair-files.ts';

interface AdminAccess {
  /** `https://host:port`. */
  readonly server: string;
  /** PEM of the CAs that the serving certificate is verified against. */
  readonly authorities: string;
  /** Name in the serving certificate, if it differs from the host of `server`. */
  readonly serverName?: string;
  readonly client: Pick<KeyPair, 'certificatePem' | 'keyPem'>;
}

/** Name of the context, cluster and user. */
const name = 'orch';

/** A kubeconfig (YAML) with all data embedded, so that it can be copied. It is a credential with full access. */
export function adminKubeconfig({ server, authorities, serverName, client }: AdminAccess): string {
  const base64 = (pem: string): string => Buffer.from(pem).toString('base64');
  const lines = [
    'apiVersion: v1',
    'kind: Config',
    `current-context: ${name}`,
    'preferences: {}',
    'clusters:',
    `- name: ${name}`,
    '  cluster:',
    `    server: ${server}`,
    ...(serverName === undefined ? [] : [`    tls-server-name: ${serverName}`]),
    `    certificate-authority-data: ${base64(authorities)}`,
    'contexts:',
    `- name: ${name}`,
    '  context:',
    `    cluster: ${name}`,
    `    user: ${name}`,
    'users:',
    `- name: ${name}`,
    '  user:',
    `    client-certificate-data: ${base64(client.certificatePem)}`,
    `    client-key-data: ${base64(client.keyPem)}`,
  ];
  return `${lines.join('\n')}\n`;
}
