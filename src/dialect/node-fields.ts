/**
 * Fields of Node whose names carry names of the product's own components. They are the same in both dialects, since
 * today's clients have them compiled in.
 */
export const nodeFields = {
  agentEndpoint: 'kubeletEndpoint',
  agentConfigKey: 'kubeletConfigKey',
  agentVersion: 'kubeletVersion',
  proxyVersion: 'kubeProxyVersion',
} as const;
