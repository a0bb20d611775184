import { ipVersion } from '../../../base/ip-version.ts';
import { badRequest } from '../../../meta/status-error.ts';
import type { ConnectSubresource } from '../../kind.ts';
import { parseProxyName, portNumber } from '../connections/proxy-name.ts';
import { proxyOptions, proxySubresource } from '../connections/proxy-options.ts';
import { asPod } from './pod-schema.ts';

/** `pods/{name}/proxy`: a port of the pod's address. Default: the first port of its containers. */
export const podProxy: ConnectSubresource = {
  ...proxySubresource,
  options: proxyOptions('PodProxyOptions'),
  locate: async (options, target) => {
    const refused = badRequest(`invalid pod request ${JSON.stringify(target.name)}`);
    const parsed = parseProxyName(target.name);
    if (!parsed) throw refused;
    const { spec, status } = asPod(await target.read(parsed.name));
    const declared = spec?.containers?.flatMap(({ ports = [] }) => ports)[0]?.containerPort;
    const scheme = parsed.scheme || 'http';
    const wellKnown = scheme === 'http' ? 80 : 443;
    const port = parsed.port === '' ? Number(declared ?? wellKnown) : portNumber(parsed.port);
    if (port === undefined) throw refused;
    const host = status?.podIPs?.[0]?.ip ?? '';
    // A name would be looked up by this server, in a network that is not the pod's.
    if (ipVersion(host) === 0) throw badRequest('address not allowed');
    return { scheme, host, port, path: String(options['path']), trust: 'anyone' };
  },
};
