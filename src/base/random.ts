import { randomBytes, randomUUID } from 'node:crypto';

/** Randomness, injected so that a seed replays a run. */
export interface Random {
  /** A version 4 UUID in lower case (RFC 9562 section 5.4). */
  uuid(): string;
  bytes(count: number): Uint8Array;
}

export const systemRandom: Random = {
  uuid: () => randomUUID(),
  bytes: (count) => randomBytes(count),
};
