import type { MessagePort } from 'node:worker_threads';
import type { MetricsState } from '../../base/metrics-state.ts';
import type { KeyStretch, SharedPlaces } from '../../cache/sharing/shared-entries.ts';
import type { ListenAddress } from '../wiring/config.ts';
import type { LogConfig } from '../wiring/environment.ts';

/** What a serving thread is given when it starts. */
export interface SeatData {
  /** Of all threads, from 0; a thread that replaces another has its number. */
  readonly number: number;
  /** Of all threads that ever were, from 1. */
  readonly incarnation: number;
  readonly threads: number;
  readonly leads: boolean;
  /** No thread serves yet. */
  readonly first: boolean;
  /** 0 for the thread that picks the port. */
  readonly port: number;
  /** The way to the data file; absent with another store. */
  readonly store?: MessagePort;
  /** Connections of each thread, as 32-bit integers. */
  readonly connections: SharedArrayBuffer;
  /** Heartbeats of each thread, as 32-bit integers. */
  readonly beats: SharedArrayBuffer;
}

/** A question to the other side. */
interface Call<Calls> {
  readonly type: 'call';
  readonly call: number;
  readonly name: keyof Calls;
  readonly input: unknown;
}

interface Answer {
  readonly type: 'answer';
  readonly call: number;
  readonly outcome: Outcome;
}

export type Outcome = { readonly value: unknown } | { readonly error: string };

/** From the main thread to a serving thread. */
export type ToThread = { readonly type: 'lead' } | { readonly type: 'stop' } | Call<ThreadCalls> | Answer;

/** From a serving thread to the main thread. */
export type FromThread =
  /** A line of the log. */
  | { readonly type: 'log'; readonly text: string }
  | { readonly type: 'ready'; readonly listening: ListenAddress }
  /** The thread could not start. `text` is for the user. */
  | { readonly type: 'failed'; readonly text: string }
  | Call<MainCalls>
  | Answer;

/** What a serving thread tells the main thread. */
export interface ThreadCalls {
  /** What it has counted. */
  readonly collect: () => Promise<MetricsState>;
  /** Where entries of its cache lie. */
  readonly locate: (stretch: KeyStretch) => Promise<SharedPlaces | undefined>;
}

/** What the main thread does for the others. */
export interface MainCalls {
  /** The listener has its port, and the server is about to be ready. */
  readonly listening: (at: ListenAddress) => Promise<void>;
  /** What other threads have counted, those included that have gone. Given what this one has, which is about to be shown. */
  readonly metrics: (own: MetricsState) => Promise<readonly MetricsState[]>;
  /** Opens a log file for all threads, or finds it open. Rejects if it cannot be written. */
  readonly openLog: (config: LogConfig) => Promise<number>;
  /** Appends whole lines. */
  readonly writeLog: (chunk: LogChunk) => Promise<void>;
  /** Where the thread that leads has entries. Undefined if none does, or it gives no answer. */
  readonly locate: (stretch: KeyStretch) => Promise<SharedPlaces | undefined>;
}

export interface LogChunk {
  readonly log: number;
  readonly lines: Uint8Array;
}
