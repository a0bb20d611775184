import type { Union } from '../../../schema/markers.ts';
import { int32, int64, intOrString, list, optional, required, string, struct } from '../../../schema/schema.ts';

export const execAction = struct('api.core.v1.ExecAction', 'A command to run in the container.', {
  command: optional(1, list(string()), 'Program and arguments; no shell is started for them.'),
});

const httpHeader = struct('api.core.v1.HTTPHeader', 'A header of an HTTP request.', {
  name: required(1, string(), 'Name of the header.'),
  value: optional(2, string(), 'Value of the header.', { presence: 'always' }),
});

export const httpGetAction = struct('api.core.v1.HTTPGetAction', 'An HTTP request to the container.', {
  path: optional(1, string(), 'Path to ask for.', { default: '/' }),
  port: required(2, intOrString(), 'Port number or port name.'),
  host: optional(3, string(), 'Host to connect to; the address of the pod where it is not set.'),
  scheme: optional(4, string({ enum: ['HTTP', 'HTTPS'] }), 'Whether TLS is used.', { default: 'HTTP' }),
  httpHeaders: optional(5, list(httpHeader), 'Headers to send; a name may repeat.'),
});

export const tcpSocketAction = struct('api.core.v1.TCPSocketAction', 'A connection to the container.', {
  port: required(1, intOrString(), 'Port number or port name.'),
  host: optional(2, string(), 'Host to connect to; the address of the pod where it is not set.'),
});

export const grpcAction = struct('api.core.v1.GRPCAction', 'A call of the gRPC health service of the container.', {
  port: required(1, int32({ minimum: 1, maximum: 65535 }), 'Port number of the service.'),
  service: optional(2, string(), 'Name of the service to ask about; empty stands for the whole server.', {
    presence: 'explicit',
    default: '',
  }),
});

export const sleepAction = struct('api.core.v1.SleepAction', 'A pause of the container.', {
  seconds: optional(1, int64(), 'Length of the pause.', { presence: 'always' }),
});

/** Exactly one way to act; of several the first one counts. */
export const handlerUnion = (...fields: readonly string[]): Union => ({
  fields,
  title: 'handler',
  none: { type: 'required', detail: 'must specify a handler type' },
});
