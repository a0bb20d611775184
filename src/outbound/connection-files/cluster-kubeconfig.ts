/** How clients reach and verify a server. */
export interface ClusterAccess {
  /** `https://host:port`. */
  readonly server: string;
  /** PEM of the CAs that the serving certificate is verified against. */
  readonly authorities: string;
  /** Name in the serving certificate, if it differs from the host of `server`. */
  readonly serverName?: string;
}

/** The fields of `clusters[].cluster` of a kubeconfig, as YAML lines without indentation. */
export const clusterFields = ({ server, authorities, serverName }: ClusterAccess): readonly string[] => [
  `server: ${server}`,
  ...(serverName === undefined ? [] : [`tls-server-name: ${serverName}`]),
  `certificate-authority-data: ${Buffer.from(authorities).toString('base64')}`,
];

/**
 * A kubeconfig (YAML) of a cluster alone, without a user: public data. The cluster has no name and there is no context,
 * which is the form that joining nodes look for.
 */
export function clusterKubeconfig(access: ClusterAccess): string {
  const lines = [
    'apiVersion: v1',
    'kind: Config',
    "current-context: ''",
    'preferences: {}',
    'clusters:',
    "- name: ''",
    '  cluster:',
    ...clusterFields(access).map((line) => `    ${line}`),
    'contexts: []',
    'users: []',
  ];
  return `${lines.join('\n')}\n`;
}
