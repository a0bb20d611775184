import { limits } from '../../base/limits.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { duplicate, errorsOfEach, type FieldError, invalid, notSupported, required, tooMany } from '../../meta/field-error.ts';
import { isDnsLabel, isDnsSubdomain, isLabelValue, isQualifiedName } from '../../meta/formats.ts';
import { parseIpAddress, specialAddressProblems } from '../../meta/ip-address.ts';
import { always, bool, documentedEnum, enumOf, type Infer, int32, list, map, opt, ptr, string, struct } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn } from '../columns.ts';
import { failing } from '../core/pod/validation/field-checks.ts';
import { objectReference } from '../core/references.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';

const endpointConditions = struct('api.discovery.v1.EndpointConditions', 'State of an endpoint.', {
  ready: ptr(1, bool(), 'Takes traffic; not while it terminates. Absent: unknown, to be read as true.'),
  serving: ptr(2, bool(), 'Takes traffic, even while it terminates. Absent: as `ready`.'),
  terminating: ptr(3, bool(), 'Is going. Absent: unknown, to be read as false.'),
});

const forZone = struct('api.discovery.v1.ForZone', 'A zone that should use an endpoint.', {
  name: always(1, string(), 'Name of the zone.'),
});

const endpointHints = struct('api.discovery.v1.EndpointHints', 'Who should use an endpoint.', {
  forZones: opt(1, list(forZone), 'Zones that should use it, so that traffic stays near; at most 8.'),
});

const endpoint = struct('api.discovery.v1.Endpoint', 'A place that traffic goes to.', {
  addresses: always(1, list(string(), { listType: 'set', duplicatesAllowed: true }), 'Addresses of the type of the slice, 1 to 100. Consumers may use any one of them.', { documented: 'required' }),
  conditions: always(2, endpointConditions, 'Its state.'),
  hostname: ptr(3, string(), 'Name within the service, for its DNS record.'),
  targetRef: ptr(4, objectReference, 'The object behind it, such as a pod.'),
  deprecatedTopology: opt(5, map(string()), 'Topology of an earlier version; dropped from what is written.'),
  nodeName: ptr(6, string(), 'Node that it is on.'),
  zone: ptr(7, string(), 'Zone that it is in.'),
  hints: ptr(8, endpointHints, 'Who should use it.'),
});

const endpointPort = struct(
  'api.discovery.v1.EndpointPort',
  'A port of all endpoints of a slice.',
  {
    name: ptr(1, string(), 'Name of the port, unique in the slice; may be empty.', { default: '' }),
    protocol: ptr(2, enumOf('TCP', 'UDP', 'SCTP'), 'Transport protocol.', { default: 'TCP' }),
    port: ptr(3, int32(), 'Number of the port; absent for all ports.'),
    appProtocol: ptr(4, string(), 'Application protocol: an IANA service name, or a name with a domain.'),
  },
  { structType: 'atomic' },
);

const schema = kindSchema(
  'api.discovery.v1.EndpointSlice',
  'Some of the endpoints of a service. The label of the service says whose they are.',
  {
    addressType: always(4, documentedEnum('FQDN', 'IPv4', 'IPv6'), '`IPv4`, `IPv6` or `FQDN`. Cannot change.', { immutable: 'always' }),
    endpoints: always(2, list(endpoint), 'The endpoints, at most 1000.', { documented: 'required' }),
    ports: always(3, list(endpointPort), 'Ports of every endpoint; none means that there are no ports.'),
  },
  { checkedFirst: ['metadata', 'addressType'] },
);

type Endpoint = Infer<typeof endpoint>;
type EndpointPort = Infer<typeof endpointPort>;

const addressTypes = ['FQDN', 'IPv4', 'IPv6'];

function validate(object: ApiObject): FieldError[] {
  const { addressType = '', endpoints, ports } = typed(schema, object);
  const unsupported = addressType === '' ? [required('addressType')] : addressTypes.includes(addressType) ? [] : [notSupported('addressType', addressType, addressTypes)];
  return [...unsupported, ...endpointsErrors(endpoints ?? [], addressType), ...portsErrors(ports ?? [])];
}

function endpointsErrors(endpoints: readonly Endpoint[], addressType: string): FieldError[] {
  if (endpoints.length > limits.sliceEndpointsMax) return [tooMany('endpoints', endpoints.length, limits.sliceEndpointsMax)];
  return errorsOfEach(endpoints, ({ addresses, nodeName, hostname, hints }, index) => {
    const path = `endpoints[${index}]`;
    return [
      ...addressesErrors(addresses ?? [], addressType, `${path}.addresses`),
      ...(nodeName === undefined ? [] : failing(isDnsSubdomain, `${path}.nodeName`, nodeName)),
      ...(hostname === undefined ? [] : failing(isDnsLabel, `${path}.hostname`, hostname)),
      ...(hints ? hintsErrors(hints, `${path}.hints.forZones`) : []),
    ];
  });
}

function addressesErrors(addresses: readonly string[], type: string, path: string): FieldError[] {
  const { length } = addresses;
  const count = length === 0 ? [required(path, 'must contain at least 1 address')] : length > limits.endpointAddressesMax ? [tooMany(path, length, limits.endpointAddressesMax)] : [];
  return [...count, ...errorsOfEach(addresses, (address, index) => addressErrors(address, type, `${path}[${index}]`))];
}

function addressErrors(address: string, type: string, path: string): FieldError[] {
  switch (type) {
    case 'IPv4':
    case 'IPv6':
      return [...(parseIpAddress(address)?.family === type.toLowerCase() ? [] : [invalid(path, address, `must be a valid ${type} address`)]), ...failing(specialAddressProblems, path, address)];
    case 'FQDN':
      return domainErrors(address, path);
    default:
      return [];
  }
}

/** A domain name of two labels or more, with or without a dot at the end. */
function domainErrors(address: string, path: string): FieldError[] {
  if (address === '') return [required(path)];
  const name = address.replace(/\.$/, '');
  const problems = isDnsSubdomain(name);
  if (problems.length > 0) return [invalid(path, name, problems.join(','))];
  const labels = name.split('.');
  if (labels.length < 2) return [invalid(path, name, 'should be a domain with at least two segments separated by dots')];
  const long = labels.find((label) => isDnsLabel(label).length > 0);
  return long === undefined ? [] : [invalid(path, long, isDnsLabel(long).join(','))];
}

function hintsErrors({ forZones = [] }: Infer<typeof endpointHints>, path: string): FieldError[] {
  if (forZones.length > limits.endpointZoneHintsMax) return [tooMany(path, forZones.length, limits.endpointZoneHintsMax)];
  const seen = new Set<string>();
  return errorsOfEach(forZones, ({ name = '' }, index) => {
    const at = `${path}[${index}].name`;
    const again = seen.has(name) ? [duplicate(at, name)] : [];
    seen.add(name);
    return [...again, ...failing(isLabelValue, at, name)];
  });
}

function portsErrors(ports: readonly EndpointPort[]): FieldError[] {
  if (ports.length > limits.slicePortsMax) return [tooMany('ports', ports.length, limits.slicePortsMax)];
  const seen = new Set<string>();
  return errorsOfEach(ports, ({ name = '', protocol, appProtocol }, index) => {
    const path = `ports[${index}]`;
    const again = seen.has(name) ? [duplicate(`${path}.name`, name)] : [];
    seen.add(name);
    return [
      ...(name === '' ? [] : failing(isDnsLabel, `${path}.name`, name)),
      ...again,
      ...(protocol === undefined ? [required(`${path}.protocol`)] : []),
      ...(appProtocol === undefined ? [] : failing(isQualifiedName, `${path}.appProtocol`, appProtocol)),
    ];
  });
}

function dropTopology(object: ApiObject): void {
  for (const each of typed(schema, object).endpoints ?? []) delete each.deprecatedTopology;
}

const shownMax = 3;

/** The first values, and how many more there are. */
function listed(values: readonly string[]): string {
  if (values.length === 0) return '<unset>';
  const shown = values.slice(0, shownMax).join(',');
  return values.length > shownMax ? `${shown} + ${values.length - shownMax} more...` : shown;
}

const portsCell = (object: ApiObject): string => listed((typed(schema, object).ports ?? []).map(({ name = '*', port }) => `${port ?? name}`));
const endpointsCell = (object: ApiObject): string => listed((typed(schema, object).endpoints ?? []).flatMap(({ addresses }) => addresses ?? []));

export const endpointSlice = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('discovery'),
    kind: 'EndpointSlice',
    schema,
    columns: [
      nameColumn,
      column('AddressType', 'Type of the addresses.', '.addressType'),
      column('Ports', 'Ports of the endpoints.', portsCell),
      column('Endpoints', 'Addresses of the endpoints.', endpointsCell),
      ageColumn,
    ],
    strategy: {
      ...{ prepareForCreate: dropTopology, prepareForUpdate: dropTopology, validateCreate: validate, validateUpdate: validate },
      warnings: (object, old) => (old === undefined && typed(schema, object).addressType === 'FQDN' ? ['spec.addressType: FQDN endpoints are deprecated'] : []),
    },
    generation: true,
    generationCounts: 'labels',
  });
