import { type Infer, inline, int32, int64, opt, ptr, struct } from '../../../../schema/schema.ts';
import { execAction, grpcAction, httpGetAction, tcpSocketAction } from './handler.ts';

const probeHandler = struct('api.core.v1.ProbeHandler', 'How a check is made; exactly one way is set.', {
  exec: ptr(1, execAction, 'Run a command; exit code 0 is success.'),
  httpGet: ptr(2, httpGetAction, 'Send an HTTP request; a status from 200 to 399 is success.'),
  tcpSocket: ptr(3, tcpSocketAction, 'Open a connection; getting one is success.'),
  grpc: ptr(4, grpcAction, 'Call the gRPC health service.'),
});

export const probe = struct('api.core.v1.Probe', 'A check of a container, and how often and how strictly it is made.', {
  ...inline(1, probeHandler),
  initialDelaySeconds: opt(2, int32({ minimum: 0 }), 'Seconds after the start of the container before the first check.'),
  timeoutSeconds: opt(3, int32({ minimum: 0 }), 'Seconds after which a check counts as failed.', { default: 1 }),
  periodSeconds: opt(4, int32({ minimum: 0 }), 'Seconds between two checks.', { default: 10 }),
  successThreshold: opt(5, int32({ minimum: 0 }), 'Successes in a row after which a failed check counts as passed again.', { default: 1 }),
  failureThreshold: opt(6, int32({ minimum: 0 }), 'Failures in a row after which the check counts as failed.', { default: 3 }),
  terminationGracePeriodSeconds: ptr(7, int64(), 'Grace period after a failed check, in place of that of the pod.'),
});

export type Probe = Infer<typeof probe>;
