import { type Random, systemRandom } from '../random.ts';

/** Random source without jitter: back-off delays are exactly those of the policy. */
export const noJitter: Random = { ...systemRandom, bytes: (count) => new Uint8Array(count) };
