import { badRequest } from '../../meta/status-error.ts';
import type { ConnectSubresource } from '../kind.ts';
import { agentAddress } from './connections/agent-address.ts';
import { parseProxyName, portNumber } from './connections/proxy-name.ts';
import { proxyOptions, proxySubresource } from './connections/proxy-options.ts';

/** `nodes/{name}/proxy`: the agent of a node, or another port of the node. */
export const nodeProxy: ConnectSubresource = {
  ...proxySubresource,
  options: proxyOptions('NodeProxyOptions'),
  locate: async (options, target, { services }) => {
    const refused = badRequest(`invalid node request ${JSON.stringify(target.name)}`);
    const parsed = parseProxyName(target.name);
    if (!parsed) throw refused;
    const agent = agentAddress(await target.read(parsed.name), services.agents);
    const path = String(options['path']);
    if (parsed.port === '' || parsed.port === String(agent.port)) return { ...agent, path, trust: 'agent' };
    const port = portNumber(parsed.port);
    if (port === undefined) throw refused;
    return { scheme: parsed.scheme || 'http', host: agent.host, port, path, trust: 'anyone' };
  },
};
