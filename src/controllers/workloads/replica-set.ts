import type { Closable } from '../../base/disposable.ts';
import { asReplicaSet } from '../../kinds/apps/replica-set.ts';
import type { InformedContext } from '../controller.ts';
import { selectorIn } from './read-selector.ts';
import { startReplicas } from './replicas.ts';

export const startReplicaSets = (context: InformedContext): Closable =>
  startReplicas(context, {
    kind: { apiVersion: `${context.dialect.group('apps')}/v1`, kind: 'ReplicaSet', resource: 'replicasets' },
    queue: 'replicaset',
    read(object) {
      const { spec, status = {} } = asReplicaSet(object);
      const { replicas = 0, minReadySeconds = 0, template = {} } = spec ?? {};
      return { replicas, minReadySeconds, template, status, selector: selectorIn(spec?.selector) };
    },
  });
