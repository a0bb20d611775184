import { always, documentedEnum, int32, int64, intOrString, list, opt, ptr, string, struct } from '../../../../schema/schema.ts';

export const execAction = struct('api.core.v1.ExecAction', 'A command to run in the container.', {
  command: opt(1, list(string()), 'Program and arguments; no shell is started for them.'),
});

const httpHeader = struct('api.core.v1.HTTPHeader', 'A header of an HTTP request.', {
  name: always(1, string(), 'Name of the header.'),
  value: always(2, string(), 'Value of the header.'),
});

export const httpGetAction = struct('api.core.v1.HTTPGetAction', 'An HTTP request to the container.', {
  path: opt(1, string(), 'Path to ask for.', { default: '/' }),
  port: always(2, intOrString(), 'Port number or port name.', { documented: 'required' }),
  host: opt(3, string(), 'Host to connect to; the address of the pod where it is not set.'),
  scheme: opt(4, documentedEnum('HTTP', 'HTTPS'), 'Whether TLS is used.', { default: 'HTTP' }),
  httpHeaders: opt(5, list(httpHeader), 'Headers to send; a name may repeat.'),
});

export const tcpSocketAction = struct('api.core.v1.TCPSocketAction', 'A connection to the container.', {
  port: always(1, intOrString(), 'Port number or port name.', { documented: 'required' }),
  host: opt(2, string(), 'Host to connect to; the address of the pod where it is not set.'),
});

export const grpcAction = struct('api.core.v1.GRPCAction', 'A call of the gRPC health service of the container.', {
  port: always(1, int32(), 'Port number of the service.'),
  service: ptr(2, string(), 'Name of the service to ask about; empty stands for the whole server.', { default: '' }),
});

export const sleepAction = struct('api.core.v1.SleepAction', 'A pause of the container.', {
  seconds: always(1, int64(), 'Length of the pause.'),
});
