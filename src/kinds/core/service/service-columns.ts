import type { ApiObject } from '../../../meta/api-object.ts';
import { ageColumn, column, nameColumn, none, unknown, wide } from '../../columns.ts';
import type { Column } from '../../kind.ts';
import { labelSelectorText } from '../../meta/label-selector.ts';
import { typed } from '../../typed.ts';
import { serviceSchema } from './service-schema.ts';
import { specOf } from './service-spec.ts';

function externalCell(object: ApiObject): string {
  const { type, externalIPs = [], externalName = '' } = specOf(object);
  switch (type) {
    case 'ClusterIP':
    case 'NodePort':
      return externalIPs.length > 0 ? externalIPs.join(',') : none;
    case 'LoadBalancer':
      return [...balancerPlaces(object), ...externalIPs].join(',') || '<pending>';
    case 'ExternalName':
      return externalName;
    default:
      return unknown;
  }
}

function balancerPlaces(object: ApiObject): readonly string[] {
  const places = typed(serviceSchema, object).status?.loadBalancer?.ingress ?? [];
  return [...new Set(places.map(({ ip, hostname }) => ip || hostname || '').filter((each) => each !== ''))].sort();
}

const portsCell = (object: ApiObject): string =>
  (specOf(object).ports ?? [])
    .map(({ port = 0, nodePort = 0, protocol }) => `${port}${nodePort > 0 ? `:${nodePort}` : ''}/${protocol}`)
    .join(',') || none;

export const serviceColumns: readonly Column[] = [
  nameColumn,
  column('Type', 'How the service is reached.', '.spec.type'),
  column('Cluster-IP', 'Address of the service in the cluster.', '.spec.clusterIPs[0]', { absent: none }),
  column('External-IP', 'Addresses of the service for clients outside.', externalCell),
  column('Port(s)', 'Ports of the service, and those of the nodes.', portsCell),
  ageColumn,
  column(
    'Selector',
    'Labels of the pods that take the traffic.',
    (object) => labelSelectorText({ matchLabels: specOf(object).selector ?? {} }) || none,
    wide,
  ),
];
