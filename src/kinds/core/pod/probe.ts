import { type Infer, inline, int32, int64, optional, struct } from '../../../schema/schema.ts';
import { execAction, grpcAction, handlerUnion, httpGetAction, tcpSocketAction } from './handler.ts';

const probeHandler = struct('api.core.v1.ProbeHandler', 'How a check is made; exactly one way is set.', {
  exec: optional(1, execAction, 'Run a command; exit code 0 is success.', { presence: 'explicit' }),
  httpGet: optional(2, httpGetAction, 'Send an HTTP request; a status from 200 to 399 is success.', {
    presence: 'explicit',
  }),
  tcpSocket: optional(3, tcpSocketAction, 'Open a connection; getting one is success.', { presence: 'explicit' }),
  grpc: optional(4, grpcAction, 'Call the gRPC health service.', { presence: 'explicit' }),
});

export const probe = struct(
  'api.core.v1.Probe',
  'A check of a container, and how often and how strictly it is made.',
  {
    ...inline(1, probeHandler),
    initialDelaySeconds: optional(
      2,
      int32({ minimum: 0 }),
      'Seconds after the start of the container before the first check.',
    ),
    timeoutSeconds: optional(3, int32({ minimum: 0 }), 'Seconds after which a check counts as failed.', { default: 1 }),
    periodSeconds: optional(4, int32({ minimum: 0 }), 'Seconds between two checks.', { default: 10 }),
    successThreshold: optional(
      5,
      int32({ minimum: 0 }),
      'Successes in a row after which a failed check counts as passed again.',
      { default: 1 },
    ),
    failureThreshold: optional(6, int32({ minimum: 0 }), 'Failures in a row after which the check counts as failed.', {
      default: 3,
    }),
    terminationGracePeriodSeconds: optional(
      7,
      int64({ minimum: 1 }),
      'Grace period after a failed check, in place of that of the pod.',
      { presence: 'explicit' },
    ),
  },
  { union: handlerUnion('exec', 'httpGet', 'tcpSocket', 'grpc') },
);

export type Probe = Infer<typeof probe>;
