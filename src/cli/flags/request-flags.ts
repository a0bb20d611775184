import { limits } from '../../base/limits.ts';
import type { RequestsConfig } from '../../server/wiring/config.ts';
import { duration, type Flag, type FlagValues, integer } from './flags.ts';

/** A higher limit would never be reached: connections and streams run out first. */
const inFlightMax = 1_000_000;

const positive = (flag: Flag<number>): Flag<number> => ({
  ...flag,
  parse(text, before) {
    const value = flag.parse(text, before);
    if (value <= 0) throw new Error(`${JSON.stringify(text)} must be more than 0`);
    return value;
  },
});

/** Flags for concurrency and timeouts of requests. */
export const requestFlags = {
  'max-mutating-requests-inflight': integer({
    min: 0,
    max: inFlightMax,
    default: limits.writesInFlightMax,
    help: 'requests that write, worked on at once; 0: without a limit. As many reviews, which write nothing, have seats of their own',
  }),
  'max-requests-inflight': integer({
    min: 0,
    max: inFlightMax,
    default: limits.readsInFlightMax,
    help: 'requests that read, worked on at once; 0: without a limit',
  }),
  'min-request-timeout': integer({
    placeholder: 'SECONDS',
    min: 1,
    max: limits.watchTimeoutMsMax / 1000,
    default: limits.watchMsDefault / 1000,
    help: 'watches whose client names no time end at random between this and twice this',
  }),
  'request-timeout': positive(
    duration({
      default: limits.requestMsMax,
      defaultText: '1m0s',
      help: 'what a request may take; watches have times of their own',
    }),
  ),
} as const;

export const readRequests = (values: FlagValues<typeof requestFlags>): RequestsConfig => ({
  inFlightMax: { reads: values['max-requests-inflight'], writes: values['max-mutating-requests-inflight'] },
  timeoutMs: values['request-timeout'],
  watchMsMin: values['min-request-timeout'] * 1000,
});
