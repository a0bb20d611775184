import { type Infer, ptr, struct } from '../../../../schema/schema.ts';
import { execAction, httpGetAction, sleepAction, tcpSocketAction } from './handler.ts';

const lifecycleHandler = struct('api.core.v1.LifecycleHandler', 'What an action does; exactly one way is set.', {
  exec: ptr(1, execAction, 'Run a command in the container.'),
  httpGet: ptr(2, httpGetAction, 'Send an HTTP request to the container.'),
  tcpSocket: ptr(3, tcpSocketAction, 'Not supported for actions; kept for older clients.'),
  sleep: ptr(4, sleepAction, 'Let the container pause.'),
});

export const lifecycle = struct('api.core.v1.Lifecycle', 'Actions at the start and the end of a container.', {
  postStart: ptr(1, lifecycleHandler, 'Runs right after the container was created; when it fails, the container is stopped.'),
  preStop: ptr(2, lifecycleHandler, 'Runs before the container is stopped, within its grace period.'),
});

export type Lifecycle = Infer<typeof lifecycle>;
