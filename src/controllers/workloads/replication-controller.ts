import type { Closable } from '../../base/disposable.ts';
import { asReplicationController } from '../../kinds/core/replication-controller.ts';
import type { InformedContext } from '../controller.ts';
import { selectorOfLabels } from './read-selector.ts';
import { startReplicas } from './replicas.ts';

export const startReplicationControllers = (context: InformedContext): Closable =>
  startReplicas(context, {
    kind: { apiVersion: 'v1', kind: 'ReplicationController', resource: 'replicationcontrollers' },
    queue: 'replicationmanager',
    read(object) {
      const { spec = {}, status = {} } = asReplicationController(object);
      const { replicas = 0, minReadySeconds = 0, template = {}, selector } = spec;
      return { replicas, minReadySeconds, template, status, selector: selectorOfLabels(selector) };
    },
  });
