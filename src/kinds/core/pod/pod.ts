import type { Dialect } from '../../../dialect/dialect.ts';
import type { Kind } from '../../kind.ts';
import { podBinding } from './pod-binding.ts';
import { podColumns } from './pod-columns.ts';
import { podEviction } from './pod-eviction.ts';
import { asPod, podSchema } from './pod-schema.ts';
import { podStrategy } from './pod-strategy.ts';
import { podEphemeralContainersView, podStatusView } from './pod-views.ts';

/** Pod, as published for 1.32. No node runs it here: who writes its status, and ends its deletion, is a client. */
export const pod = (dialect: Dialect): Kind => ({
  group: '',
  version: 'v1',
  kind: 'Pod',
  listKind: 'PodList',
  resource: 'pods',
  singular: 'pod',
  shortNames: ['po'],
  categories: ['all'],
  scope: 'Namespaced',
  schema: podSchema,
  nameFormat: 'dnsSubdomain',
  selectableFields: {
    'spec.nodeName': (object) => asPod(object).spec?.nodeName ?? '',
    'spec.restartPolicy': (object) => asPod(object).spec?.restartPolicy ?? '',
    'spec.schedulerName': (object) => asPod(object).spec?.schedulerName ?? '',
    'spec.serviceAccountName': (object) => asPod(object).spec?.serviceAccountName ?? '',
    'spec.hostNetwork': (object) => String(asPod(object).spec?.hostNetwork ?? false),
    'status.phase': (object) => asPod(object).status?.phase ?? '',
    'status.podIP': (object) => asPod(object).status?.podIPs?.[0]?.ip ?? '',
    'status.nominatedNodeName': (object) => asPod(object).status?.nominatedNodeName ?? '',
  },
  columns: podColumns,
  strategy: podStrategy,
  subresources: [podStatusView, podEphemeralContainersView, podBinding, podEviction(dialect)],
  createOnUpdate: false,
  unconditionalUpdate: true,
  deleteReturnsObject: true,
  generation: false,
});
