import type { Dialect } from '../../dialect/dialect.ts';
import { nodeNames, simulationNames } from '../../dialect/simulation-names.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { formatTime } from '../../meta/time.ts';

/** Capacity that nothing is counted against. */
const capacity = { cpu: '1k', memory: '1Ti', pods: '10k', 'ephemeral-storage': '1Ti' };

/** A node to register, with 65,536 addresses for pods from 10.128.0.0 on. */
export function nodeObject(index: number, dialect: Dialect): ApiObject {
  const name = `simulated-${index + 1}`;
  const { hostname, operatingSystem, architecture } = nodeNames(dialect);
  const podCIDR = `10.${128 + index}.0.0/16`;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        [simulationNames.node]: 'true',
        [hostname]: name,
        [operatingSystem]: 'linux',
        [architecture]: 'amd64',
      },
    },
    spec: { podCIDR, podCIDRs: [podCIDR] },
  };
}

/**
 * The address of a node, which its range of pods tells. It is one for documentation (RFC 5737), where nobody is: the server
 * refuses to connect to it.
 */
export function hostAddress(node: ApiObject): string {
  const { podCIDR = '' } = (node['spec'] ?? {}) as { readonly podCIDR?: string };
  const [, second = ''] = podCIDR.split('.');
  return `203.0.113.${(Number(second) - 127) & 255}`;
}

/** True for a node that was registered here, now or by a process before. */
export const isSimulated = ({ metadata }: ApiObject): boolean => metadata.labels?.[simulationNames.node] === 'true';

/** The status that a node reports. */
export function nodeStatus(node: ApiObject, dialect: Dialect, nowMs: number): object {
  const now = formatTime(nowMs);
  const { conditions = [] } = (node['status'] ?? {}) as { readonly conditions?: readonly Condition[] };
  const since = (type: string): string => conditions.find((each) => each.type === type)?.lastTransitionTime ?? now;
  const of = (type: string, status: string, reason: string, message: string) => ({
    ...{ type, status, reason, message },
    ...{ lastHeartbeatTime: now, lastTransitionTime: since(type) },
  });
  const address = hostAddress(node);
  return {
    // The same twice: a host name would be looked up, and may be somebody's.
    addresses: ['InternalIP', 'Hostname'].map((type) => ({ type, address })),
    capacity,
    allocatable: capacity,
    conditions: [
      of('MemoryPressure', 'False', 'Simulated', 'memory is simulated'),
      of('DiskPressure', 'False', 'Simulated', 'disks are simulated'),
      of('PIDPressure', 'False', 'Simulated', 'processes are simulated'),
      of('Ready', 'True', 'Simulated', 'the node is simulated'),
    ],
    nodeInfo: {
      ...{ machineID: '', systemUUID: '', bootID: '', kernelVersion: '', osImage: 'simulated' },
      containerRuntimeVersion: 'simulated://1',
      [nodeNames(dialect).agentVersion]: dialect.gitVersion,
      ...{ operatingSystem: 'linux', architecture: 'amd64' },
    },
  };
}

interface Condition {
  readonly type: string;
  readonly lastTransitionTime?: string;
}
