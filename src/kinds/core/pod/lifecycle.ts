import { type Infer, optional, struct } from '../../../schema/schema.ts';
import { execAction, handlerUnion, httpGetAction, sleepAction, tcpSocketAction } from './handler.ts';

const lifecycleHandler = struct(
  'api.core.v1.LifecycleHandler',
  'What an action does; exactly one way is set.',
  {
    exec: optional(1, execAction, 'Run a command in the container.', { presence: 'explicit' }),
    httpGet: optional(2, httpGetAction, 'Send an HTTP request to the container.', { presence: 'explicit' }),
    tcpSocket: optional(3, tcpSocketAction, 'Not supported for actions; kept for older clients.', {
      presence: 'explicit',
    }),
    sleep: optional(4, sleepAction, 'Let the container pause.', { presence: 'explicit' }),
  },
  { union: handlerUnion('exec', 'httpGet', 'tcpSocket', 'sleep') },
);

export const lifecycle = struct('api.core.v1.Lifecycle', 'Actions at the start and the end of a container.', {
  postStart: optional(
    1,
    lifecycleHandler,
    'Runs right after the container was created; when it fails, the container is stopped.',
    { presence: 'explicit' },
  ),
  preStop: optional(2, lifecycleHandler, 'Runs before the container is stopped, within its grace period.', {
    presence: 'explicit',
  }),
});

export type Lifecycle = Infer<typeof lifecycle>;
