import { always, list, opt, ptr, string, struct } from '../../../schema/schema.ts';

export const hostAlias = struct('api.core.v1.HostAlias', 'An address and the names that the hosts file maps to it.', {
  ip: always(1, string({ format: 'ip' }), 'IP address of the line.', { checkedEmpty: true }),
  hostnames: opt(2, list(string({ format: 'dnsSubdomain' })), 'Host names of the address.'),
});

const podDNSConfigOption = struct('api.core.v1.PodDNSConfigOption', 'An option of the resolver.', {
  name: opt(1, string(), 'Name of the option.'),
  value: ptr(2, string(), 'Value of the option, where it has one.'),
});

export const podDNSConfig = struct('api.core.v1.PodDNSConfig', 'DNS settings of a pod beyond its DNS policy.', {
  nameservers: opt(1, list(string({ format: 'ip' })), 'IP addresses of name servers, added to those of the policy.'),
  searches: opt(2, list(string()), 'Search domains for short names, added to those of the policy.'),
  options: opt(3, list(podDNSConfigOption), 'Resolver options, which replace those of the policy with the same name.'),
});
