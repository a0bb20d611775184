import type { ClientHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { within } from '../base/waits-fixture.ts';

/** Resolves once the socket or stream has closed, for whatever reason. `received` describes it if it does not. */
export async function closed(socket: TLSSocket | ClientHttp2Stream, received = () => ''): Promise<void> {
  if (socket.closed) return;
  const closing = new Promise((resolve) => socket.once('close', resolve));
  await within(closing, () => `the connection does not close: ${received()}`);
}

/** What the socket receives from now on, as latin1, until it closes. */
export async function readToClose(socket: TLSSocket): Promise<string> {
  let all = '';
  socket.on('data', (chunk: Buffer) => {
    all += chunk.toString('latin1');
  });
  await closed(socket, () => all.slice(0, 1_000));
  return all;
}
