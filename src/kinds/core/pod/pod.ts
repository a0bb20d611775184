import type { Dialect } from '../../../dialect/dialect.ts';
import { selectable } from '../../../meta/selectable-field.ts';
import { defineKind } from '../../define-kind.ts';
import type { Kind } from '../../kind.ts';
import { podBinding } from './pod-binding.ts';
import { podColumns, podRowConditions } from './pod-columns.ts';
import { podEviction } from './pod-eviction.ts';
import { podLog } from './pod-log.ts';
import { podProxy } from './pod-proxy.ts';
import { podSchema } from './pod-schema.ts';
import { podStrategy } from './pod-strategy.ts';
import { podStreams } from './pod-streams.ts';
import { podEphemeralContainersView, podStatusView } from './pod-views.ts';

/** The Pod of Kubernetes 1.32. A client (the kubelet) writes its status and completes its deletion. */
export const pod = (dialect: Dialect): Kind =>
  defineKind({
    kind: 'Pod',
    shortNames: ['po'],
    categories: ['all'],
    schema: podSchema,
    selectableFields: [
      selectable('spec.nodeName', { indexed: true }),
      selectable('spec.restartPolicy'),
      selectable('spec.schedulerName'),
      selectable('spec.serviceAccountName'),
      selectable('spec.hostNetwork', { absent: 'false' }),
      selectable('status.phase'),
      selectable('status.podIP', { at: ['status.podIPs[0].ip'] }),
      selectable('status.nominatedNodeName'),
    ],
    columns: podColumns,
    rowConditions: podRowConditions,
    strategy: podStrategy(dialect),
    subresources: [...[podStatusView, podEphemeralContainersView, podBinding, podEviction(dialect)], ...[podLog, ...podStreams, podProxy]],
    deleteReturnsObject: true,
  });
