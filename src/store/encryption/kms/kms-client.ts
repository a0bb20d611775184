import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import { limits } from '../../../base/limits.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { KmsCallError, type KmsConnection, type KmsEndpoint } from './kms-connection.ts';

/** Calls over the plugin's socket, which is connected with the first of them and again whenever it was lost. */
export function connectKms({ socket, timeoutMs }: KmsEndpoint, clock: Pick<Clock, 'now'>): KmsConnection {
  const target = socket.startsWith('@') ? `unix:\0${socket.slice(1)}` : `unix:${socket}`;
  const client = new Client(target, credentials.createInsecure(), {
    'grpc.default_authority': 'localhost',
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': limits.kmsPollFailingMs,
    'grpc.max_receive_message_length': messageBytesMax,
    'grpc.service_config_disable_resolution': 1,
    'grpc.enable_http_proxy': 0,
    'grpc.use_local_subchannel_pool': 1,
  });
  return {
    call: ({ path, encode, decode }, request) =>
      new Promise((resolve, reject) => {
        const message = encode(request);
        const metadata = new Metadata({ waitForReady: true });
        const deadline = clock.now() + timeoutMs;
        client.makeUnaryRequest(path, asItIs, decode, message, metadata, { deadline }, (error, response) => {
          if (error) reject(new KmsCallError(nameOf(error.code), error.details));
          else if (response === undefined) reject(new KmsCallError('Unknown', `no answer to ${path}`));
          else resolve(response);
        });
      }),
    close: () => client.close(),
  };
}

/** Of an answer, which holds a seed, a key id and annotations. */
const messageBytesMax = 1024 * 1024;

const asItIs = (message: Buffer): Buffer => message;

/** As Go names a status: `DeadlineExceeded`. */
function nameOf(code: number): string {
  if (code === status.CANCELLED) return 'Canceled';
  const words = (status[code] ?? 'UNKNOWN').toLowerCase().split('_');
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}
