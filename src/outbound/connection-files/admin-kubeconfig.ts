import type { KeyPair } from '../../pki/key-pair-files.ts';
import { type ClusterAccess, clusterFields } from './cluster-kubeconfig.ts';

interface AdminAccess extends ClusterAccess {
  readonly client: Pick<KeyPair, 'certificatePem' | 'keyPem'>;
}

/** Name of the context, cluster and user. */
const name = 'orch';

/** A kubeconfig (YAML) with all data embedded, so that it can be copied. It is a credential with full access. */
export function adminKubeconfig({ client, ...cluster }: AdminAccess): string {
  const base64 = (pem: string): string => Buffer.from(pem).toString('base64');
  const lines = [
    'apiVersion: v1',
    'kind: Config',
    `current-context: ${name}`,
    'preferences: {}',
    'clusters:',
    `- name: ${name}`,
    '  cluster:',
    ...clusterFields(cluster).map((line) => `    ${line}`),
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
