import { nodeFields } from '../../../dialect/node-fields.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { notFound, StatusError } from '../../../meta/status-error.ts';
import type { Infer } from '../../../schema/schema.ts';
import type { ConnectContext, Destination } from '../../kind.ts';
import type { AgentSettings } from '../../services.ts';
import type { nodeStatus } from '../node-status.ts';

type NodeStatus = Infer<typeof nodeStatus>;

/** Where the agent of a node listens. */
type AgentAddress = Pick<Destination, 'scheme' | 'host' | 'port'>;

/** The address of the agent of a node as its status has it. Throws if there is none of the preferred types. */
export function agentAddress(node: ApiObject, { addressTypes, port }: AgentSettings): AgentAddress {
  const { addresses = [], daemonEndpoints } = (node['status'] ?? {}) as NodeStatus;
  const reported = daemonEndpoints?.[nodeFields.agentEndpoint]?.Port ?? 0;
  for (const wanted of addressTypes) {
    const found = addresses.find(({ type }) => type === wanted);
    if (found) return { scheme: 'https', host: found.address ?? '', port: Number(reported) > 0 ? Number(reported) : port };
  }
  const known = addresses.map(({ type, address }) => `{${type} ${address}}`).join(' ');
  throw new StatusError('', `no preferred addresses found; known addresses: [${known}]`, { code: 500 });
}

/** The same for the node of that name. */
export async function agentOf(nodeName: string, { services }: ConnectContext): Promise<AgentAddress> {
  const node = await services.object('nodes', '', nodeName);
  if (!node) throw notFound({ group: '', resource: 'nodes' }, nodeName);
  return agentAddress(node, services.agents);
}
