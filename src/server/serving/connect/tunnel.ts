import type { Duplex } from 'node:stream';
import { limits } from '../../../base/limits.ts';
import type { Clock } from '../../../base/time/clock.ts';

interface TunnelOptions {
  readonly client: Duplex;
  readonly server: Duplex;
  readonly clock: Clock;
  /** Called with the bytes of each chunk that goes to the client. */
  readonly sent: (bytes: number) => void;
}

/**
 * Carries bytes between two connections until both sides have ended, as fast as the slower reads. A side that ends leaves the
 * other a while to say what it has to say; one that fails ends both at once. Resolves when both are closed.
 */
export function tunnel({ client, server, clock, sent }: TunnelOptions): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let open = 2;
  let isHalf = false;
  let silence = clock.after(limits.halfClosedMsMax, () => {});
  silence.close();
  const destroy = (): void => {
    client.destroy();
    server.destroy();
  };
  const moved = (): void => {
    if (!isHalf) return;
    silence.close();
    silence = clock.after(limits.halfClosedMsMax, destroy);
  };
  const carry = (from: Duplex, to: Duplex, seen: (bytes: number) => void): void => {
    from.on('data', (chunk: Buffer) => {
      seen(chunk.length);
      moved();
      if (to.write(chunk)) return;
      from.pause();
      to.once('drain', () => from.resume());
    });
    from.on('end', () => {
      isHalf = true;
      moved();
      to.end();
    });
    from.on('error', destroy);
    from.on('close', () => {
      // Closed without an end: cut off.
      if (!from.readableEnded) to.destroy();
      else if (!to.writableEnded) to.end();
      open -= 1;
      if (open > 0) return;
      silence.close();
      resolve();
    });
  };
  carry(client, server, () => {});
  carry(server, client, sent);
  // The connection of the client was paused until somebody listens.
  for (const side of [client, server]) side.resume();
  // The connection may have gone before anybody listened.
  for (const side of [client, server]) if (side.destroyed) destroy();
  return promise;
}
