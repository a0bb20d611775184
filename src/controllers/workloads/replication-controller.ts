import type { Closable } from '../../base/disposable.ts';
import { asReplicationController } from '../../kinds/core/replication-controller.ts';
import type { InformedContext } from '../controller.ts';
import { startReplicas } from './replicas.ts';
import { selectorIn } from './workload-controller.ts';

export const startReplicationControllers = (context: InformedContext): Closable =>
  startReplicas(context, {
    kind: { apiVersion: 'v1', kind: 'ReplicationController', resource: 'replicationcontrollers' },
    queue: 'replicationmanager',
    read(object) {
      const { spec = {}, status = {} } = asReplicationController(object);
      const { replicas = 0, minReadySeconds = 0, template = {}, selector: matchLabels = {} } = spec;
      return { replicas, minReadySeconds, template, status, selector: selectorIn({ matchLabels }) };
    },
  });
