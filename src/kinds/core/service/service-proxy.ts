import { ipVersion } from '../../../base/ip-version.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { badRequest, notFound, serviceUnavailable } from '../../../meta/status-error.ts';
import type { ConnectContext, ConnectSubresource } from '../../kind.ts';
import { parseProxyName } from '../connections/proxy-name.ts';
import { proxyOptions, proxySubresource } from '../connections/proxy-options.ts';
import { asEndpoints, type EndpointsSubset } from '../endpoints.ts';
import { asPod } from '../pod/pod-schema.ts';
import { specOf } from './service-spec.ts';

/**
 * `services/{name}/proxy`: a port of a pod behind the service. Endpoints say which; of their addresses only those count that are
 * addresses of the pods that they name, so that nobody is sent elsewhere by endpoints that a user wrote.
 */
export const serviceProxy: ConnectSubresource = {
  ...proxySubresource,
  options: proxyOptions('ServiceProxyOptions'),
  locate: async (options, target, context) => {
    const parsed = parseProxyName(target.name);
    if (!parsed) throw badRequest(`invalid service request ${JSON.stringify(target.name)}`);
    const { name } = parsed;
    const port = /^\d+$/.test(parsed.port) ? portName(await target.read(name), Number(parsed.port), name) : parsed.port;
    const endpoints = await context.services.object('endpoints', target.namespace, name);
    if (!endpoints) throw notFound({ group: '', resource: 'endpoints' }, name);
    const subsets = asEndpoints(endpoints).subsets ?? [];
    if (subsets.length === 0) throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(name)}`);
    for (const subset of subsets) {
      const found = await placeIn(subset, port, target.namespace, context);
      if (found) return { scheme: parsed.scheme || 'http', ...found, path: String(options['path']), trust: 'anyone' };
    }
    throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(target.name)}`);
  },
};

/** The name of the port with a number. */
function portName(service: ApiObject, number: number, name: string): string {
  const found = (specOf(service).ports ?? []).find(({ port }) => port === number);
  if (!found) throw serviceUnavailable(`no service port ${number} found for service ${JSON.stringify(name)}`);
  return found.name ?? '';
}

async function placeIn(
  { addresses = [], ports = [] }: EndpointsSubset,
  name: string,
  namespace: string,
  { services }: ConnectContext,
): Promise<{ readonly host: string; readonly port: number } | undefined> {
  const port = ports.find((each) => (each.name ?? '') === name)?.port;
  if (port === undefined) return undefined;
  for (const { ip = '', targetRef } of addresses) {
    if (ipVersion(ip) === 0 || !targetRef || targetRef.namespace !== namespace) continue;
    const pod = await services.object('pods', namespace, targetRef.name ?? '');
    if (pod && (asPod(pod).status?.podIPs ?? []).some((each) => each.ip === ip)) return { host: ip, port };
  }
  return undefined;
}
