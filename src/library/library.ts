/**
 * The public API of the package: a server in the process of another program. Importing it has no other effects; a
 * server starts a thread, which ends with it. Everything else in the package may change at any time.
 */

export type { Closable } from '../base/disposable.ts';
export type { Files } from '../base/files.ts';
export { createLogger, type Logger, silentLogger } from '../base/logger.ts';
export { type Random, seededRandom, systemRandom } from '../base/random.ts';
export { type Clock, ManualClock, systemClock } from '../base/time/clock.ts';
export {
  ApiClient,
  ApiError,
  type ApiEvent,
  type ApiList,
  hasReason,
  type WatchOptions,
} from '../client/api-client.ts';
export type { ApiObject } from '../meta/api-object.ts';
export type {
  ConnectOptions,
  HttpsConnections,
  Network,
  OutgoingRequest,
  OutgoingResponse,
} from '../outbound/network.ts';
export type { ClientRequest, ClientResponse, Transport } from '../outbound/transport.ts';
export type { Environment } from '../server/wiring/environment.ts';
export type { KeyPairPem, StorageConfig } from '../server/wiring/storage-config.ts';
export type { Store } from '../store/store.ts';
export type { ListenOptions, ServerOptions, User } from './options.ts';
export { createServer, type Listening, type Server } from './server.ts';
