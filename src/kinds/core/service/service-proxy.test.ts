import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../../../meta/api-object.ts';
import { notFound, type StatusError } from '../../../meta/status-error.ts';
import type { ConnectContext } from '../../kind.ts';
import type { Sent } from '../../strategy-fixture.ts';
import { serviceProxy } from './service-proxy.ts';

const object = (fields: Sent): ApiObject => ({ metadata: {}, ...fields }) as unknown as ApiObject;
const address = (ip: string, name: string, namespace = 'n'): Sent => ({
  ip,
  targetRef: { kind: 'Pod', name, namespace },
});
const pods = new Map([
  ['p', object({ status: { podIPs: [{ ip: '192.0.2.1' }, { ip: '2001:db8::1' }] } })],
  ['q', object({ status: { podIPs: [{ ip: '192.0.2.2' }] } })],
]);
const service = object({
  spec: {
    ports: [
      { name: 'web', port: 80 },
      { name: 'tls', port: 443 },
    ],
  },
});
const ports = [
  { name: 'web', port: 8080 },
  { name: 'tls', port: 8443 },
];
const usual: readonly Sent[] = [{ addresses: [address('192.0.2.1', 'p')], ports }];

async function located(name: string, subsets: readonly Sent[] | undefined): Promise<Sent | string> {
  const services = {
    object: async (resource: string, _namespace: string, wanted: string) =>
      resource === 'pods' ? pods.get(wanted) : subsets && object({ subsets }),
  };
  const read = async (wanted: string) => {
    if (wanted !== 's') throw notFound({ group: '', resource: 'services' }, wanted);
    return service;
  };
  const context = { services, features: new Set() } as unknown as ConnectContext;
  try {
    const found = await serviceProxy.locate(object({ path: '/x' }), { namespace: 'n', name, read }, context);
    return found ? { ...found } : 'nothing';
  } catch (error) {
    const { code, message } = error as StatusError;
    return `${code} ${message}`;
  }
}

const place = (host: string, port: number, scheme = 'http'): Sent => ({
  scheme,
  host,
  port,
  path: '/x',
  trust: 'anyone',
});

const rows: readonly (readonly [
  why: string,
  name: string,
  subsets: readonly Sent[] | undefined,
  result: Sent | string,
])[] = [
  ['the name of a port', 's:tls', usual, place('192.0.2.1', 8443)],
  ['the number of a port, with a scheme', 'https:s:443', usual, place('192.0.2.1', 8443, 'https')],
  [
    'the port without a name',
    's',
    [{ addresses: [address('192.0.2.1', 'p')], ports: [{ port: 8080 }] }],
    place('192.0.2.1', 8080),
  ],
  [
    'the second place, since the first is none of its pod',
    's:web',
    [{ addresses: [address('169.254.169.254', 'p'), address('192.0.2.2', 'q')], ports }],
    place('192.0.2.2', 8080),
  ],
  ['a second subset', 's:web', [{ addresses: [], ports }, ...usual], place('192.0.2.1', 8080)],
  [
    'a pod of another namespace',
    's:web',
    [{ addresses: [address('192.0.2.1', 'p', 'm')], ports }],
    '503 no endpoints available for service "s:web"',
  ],
  [
    'an address of no pod',
    's:web',
    [{ addresses: [{ ip: '192.0.2.1' }], ports }],
    '503 no endpoints available for service "s:web"',
  ],
  [
    'a pod that is gone',
    's:web',
    [{ addresses: [address('192.0.2.1', 'r')], ports }],
    '503 no endpoints available for service "s:web"',
  ],
  ['another port', 's:x', usual, '503 no endpoints available for service "s:x"'],
  ['a number that the service does not have', 's:81', usual, '503 no service port 81 found for service "s"'],
  ['no subsets', 's:web', [], '503 no endpoints available for service "s"'],
  ['no endpoints', 's:web', undefined, '404 endpoints "s" not found'],
  ['no service', 't:80', usual, '404 services "t" not found'],
  ['what is no name', 'a:b:c:d', usual, '400 invalid service request "a:b:c:d"'],
];

for (const [why, name, subsets, result] of rows) {
  test(`services/proxy: ${why}`, async () => assert.deepEqual(await located(name, subsets), result));
}
