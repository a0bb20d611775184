import type { Dialect } from './dialect.ts';
import { nodeFields } from './node-fields.ts';

/** Names of the simulation of nodes: ours, and the same in both dialects, so that one manifest serves both. */
export const simulationNames = {
  /** Service account of the controller. */
  account: 'simulated-nodes',
  /** Label of simulated nodes. */
  node: 'simulation.orch.io/node',
  /** Annotations of pods, in seconds: until they run; how long they run; and until they are gone once they are deleted. */
  startSeconds: 'simulation.orch.io/start-seconds',
  runSeconds: 'simulation.orch.io/run-seconds',
  stopSeconds: 'simulation.orch.io/stop-seconds',
  /** Annotations of pods: what their containers end with, and whether these are ever ready. */
  exitCode: 'simulation.orch.io/exit-code',
  ready: 'simulation.orch.io/ready',
} as const;

/** Labels that nodes give themselves; taints of nodes that are closed to new pods, that are not ready, or that lack something. */
export const nodeNames = ({ domain }: Dialect) => ({
  hostname: `${domain}/hostname`,
  operatingSystem: `${domain}/os`,
  architecture: `${domain}/arch`,
  unschedulable: `node.${domain}/unschedulable`,
  notReady: `node.${domain}/not-ready`,
  unreachable: `node.${domain}/unreachable`,
  diskPressure: `node.${domain}/disk-pressure`,
  memoryPressure: `node.${domain}/memory-pressure`,
  processPressure: `node.${domain}/pid-pressure`,
  networkUnavailable: `node.${domain}/network-unavailable`,
  outOfService: `node.${domain}/out-of-service`,
  agentVersion: nodeFields.agentVersion,
});
