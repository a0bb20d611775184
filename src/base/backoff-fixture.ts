import { type Random, systemRandom } from './random.ts';

/** Random with which pauses between attempts are exactly what their policy says. */
export const noJitter: Random = { ...systemRandom, bytes: (count) => new Uint8Array(count) };
