/** Node fields whose names contain component names. The same in both dialects because clients have them compiled in. */
export const nodeFields = {
  agentEndpoint: 'kubeletEndpoint',
  agentConfigKey: 'kubeletConfigKey',
  agentVersion: 'kubeletVersion',
  proxyVersion: 'kubeProxyVersion',
} as const;
