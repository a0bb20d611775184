import type { Exchange } from '../exchange.ts';
import { type Started, start } from '../listener-fixture.ts';
import { RawClient } from './raw-client-fixture.ts';
import { rawField, rawHeaders, rawIndex } from './raw-frames-fixture.ts';

/** A listener, and clients that send frames chosen by the test. */

export interface Sessions extends AsyncDisposable {
  readonly started: Started;
  /** A connection that has sent its preface and SETTINGS. */
  client(...settings: readonly (readonly [identifier: number, value: number])[]): Promise<RawClient>;
  /** A connection that has sent nothing and acknowledges nothing. */
  silent(): Promise<RawClient>;
}

export async function sessions(
  handle: (exchange: Exchange) => void,
  options: Parameters<typeof start>[1] = {},
): Promise<Sessions> {
  const started = await start(handle, options);
  const connect = async () => {
    const socket = await started.tls({ ALPNProtocols: ['h2'] });
    return new RawClient(socket.setNoDelay(true));
  };
  return {
    started,
    async silent() {
      const client = await connect();
      client.polite = false;
      return client;
    },
    client: async (...settings) => (await connect()).open(...settings),
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}

/** `:method` GET and POST, `:scheme` https, `:path` /. */
export const get: Buffer = Buffer.concat([rawIndex(2), rawIndex(7), rawIndex(4)]);
export const post: Buffer = Buffer.concat([rawIndex(3), rawIndex(7), rawIndex(4)]);

export const endStream = 1;

/** HEADERS of a GET with additional fields, ending the request. */
export const getFrame = (stream: number, ...fields: readonly Buffer[]): Buffer =>
  rawHeaders(stream, endStream, Buffer.concat([get, ...fields]));

/** HEADERS of a POST whose body follows. */
export const postFrame = (stream: number, ...fields: readonly Buffer[]): Buffer =>
  rawHeaders(stream, 0, Buffer.concat([post, ...fields]));

/** HEADERS of a GET of the given path. */
export const pathFrame = (stream: number, path: string, ...fields: readonly Buffer[]): Buffer =>
  rawHeaders(stream, endStream, Buffer.concat([rawIndex(2), rawIndex(7), rawField(':path', path), ...fields]));
