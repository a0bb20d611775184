import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { errorsOfEach, type FieldError, required } from '../../meta/field-error.ts';
import { isDnsLabel, isDnsSubdomain, isIpAddress, isQualifiedName } from '../../meta/formats.ts';
import { specialAddressProblems } from '../../meta/ip-address.ts';
import { always, enumOf, type Infer, int32, list, opt, ptr, string, struct } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn, none } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';
import { failing, validatePort } from './pod/validation/field-checks.ts';
import { objectReference } from './references.ts';

const endpointAddress = struct(
  'api.core.v1.EndpointAddress',
  'An address that traffic goes to.',
  {
    ip: always(1, string(), 'The address. Not a loopback or link-local one.'),
    targetRef: ptr(2, objectReference, 'The object behind it, such as a pod.'),
    hostname: opt(3, string(), 'Name within the service, for its DNS record.'),
    nodeName: ptr(4, string(), 'Node that it is on.'),
  },
  { structType: 'atomic' },
);

const endpointPort = struct(
  'api.core.v1.EndpointPort',
  'A port of the addresses.',
  {
    name: opt(1, string(), 'Name of the port. Required if there are several.'),
    port: always(2, int32(), 'Number of the port.'),
    protocol: opt(3, enumOf('TCP', 'UDP', 'SCTP'), 'Transport protocol.', { default: 'TCP' }),
    appProtocol: ptr(4, string(), 'Application protocol: an IANA service name, or a name with a domain.'),
  },
  { structType: 'atomic' },
);

const endpointSubset = struct('api.core.v1.EndpointSubset', 'Addresses with the same ports: every address has every port.', {
  addresses: opt(1, list(endpointAddress), 'Addresses that take traffic.'),
  notReadyAddresses: opt(2, list(endpointAddress), 'Addresses that do not take traffic now.'),
  ports: opt(3, list(endpointPort), 'Ports of the addresses.'),
});

const schema = kindSchema('api.core.v1.Endpoints', 'Where the traffic of a service of the same name goes. Endpoint slices are the newer form.', {
  subsets: opt(2, list(endpointSubset), 'Groups of addresses with the same ports.'),
});

export type EndpointsSubset = Infer<typeof endpointSubset>;
type Address = Infer<typeof endpointAddress>;
type Port = Infer<typeof endpointPort>;

export const asEndpoints = (object: ApiObject): Infer<typeof schema> => typed(schema, object);

const subsetsOf = (object: ApiObject): readonly EndpointsSubset[] => asEndpoints(object).subsets ?? [];

const validate = (object: ApiObject): FieldError[] =>
  errorsOfEach(subsetsOf(object), ({ addresses = [], notReadyAddresses = [], ports = [] }, index) => {
    const path = `subsets[${index}]`;
    return [
      ...(addresses.length + notReadyAddresses.length === 0 ? [required(path, 'must specify `addresses` or `notReadyAddresses`')] : []),
      ...errorsOfEach(addresses, (address, at) => addressErrors(address, `${path}.addresses[${at}]`)),
      ...errorsOfEach(notReadyAddresses, (address, at) => addressErrors(address, `${path}.notReadyAddresses[${at}]`)),
      ...errorsOfEach(ports, (port, at) => portErrors(port, { path: `${path}.ports[${at}]`, needsName: ports.length > 1 })),
    ];
  });

const addressErrors = ({ ip = '', hostname = '', nodeName }: Address, path: string): FieldError[] => [
  ...failing(isIpAddress, `${path}.ip`, ip),
  ...(hostname === '' ? [] : failing(isDnsLabel, `${path}.hostname`, hostname)),
  ...(nodeName === undefined ? [] : failing(isDnsSubdomain, `${path}.nodeName`, nodeName)),
  ...failing(specialAddressProblems, `${path}.ip`, ip),
];

function portErrors({ name = '', port = 0, protocol, appProtocol }: Port, { path, needsName }: { readonly path: string; readonly needsName: boolean }): FieldError[] {
  return [
    ...(name !== '' ? failing(isDnsLabel, `${path}.name`, name) : needsName ? [required(`${path}.name`)] : []),
    ...validatePort(port, `${path}.port`),
    ...(protocol === undefined ? [required(`${path}.protocol`)] : []),
    ...(appProtocol === undefined ? [] : failing(isQualifiedName, `${path}.appProtocol`, appProtocol)),
  ];
}

const shownMax = 3;

function endpointsCell(object: ApiObject): string {
  const subsets = subsetsOf(object);
  if (subsets.length === 0) return none;
  const shown: string[] = [];
  let count = 0;
  for (const { addresses = [], ports = [] } of subsets) {
    for (const port of ports.length === 0 ? [undefined] : ports) {
      count += addresses.length;
      for (const { ip = '' } of addresses.slice(0, shownMax - shown.length)) shown.push(port ? withPort(ip, port.port ?? 0) : ip);
    }
  }
  return count > shownMax ? `${shown.join(',')} + ${count - shownMax} more...` : shown.join(',');
}

const withPort = (ip: string, port: number): string => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`);

export const endpoints = (_dialect: Dialect): Kind =>
  defineKind({
    kind: 'Endpoints',
    resource: 'endpoints',
    shortNames: ['ep'],
    schema,
    columns: [nameColumn, column('Endpoints', 'Addresses and ports that traffic goes to.', endpointsCell), ageColumn],
    strategy: { validateCreate: validate, validateUpdate: validate },
    createOnUpdate: true,
  });
