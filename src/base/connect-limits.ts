/** Limits of connections, and of those to nodes and pods: part of `limits`. */
export const connectLimits = {
  /** Idle time of any connection before TCP keep-alive probes start. */
  tcpKeepAliveMs: 60_000,
  /** Header of an answer. */
  backendHeaderBytesMax: 64 * 1024,
  /** What connecting to a pod, or another port of a node, may take; agents of nodes have a flag. */
  backendConnectMsMax: 30_000,
  /** What a server may take to answer a request for an upgrade. */
  upgradeAnswerMsMax: 30_000,
  /** An upgraded connection of which one side has ended: how long the other may be silent. */
  halfClosedMsMax: 10_000,
  /** Connections at once, shared fairly by tenants. */
  backendConnectionsMax: 4_000,
  /** Error text of an agent, as kube-apiserver reads it. */
  agentErrorBytesMax: 50_000,
} as const;
