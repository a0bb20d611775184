import type { Failure } from './failure.ts';

/**
 * What the main thread and the thread for heavy work tell each other. The main thread gives jobs; while a job runs, it may
 * call back for what only the main thread has. Bytes travel as Uint8Arrays that own all of their buffer (`ownBytes`).
 */
export type ToThread =
  | { readonly type: 'job'; readonly job: number; readonly name: string; readonly input: unknown }
  | { readonly type: 'answer'; readonly job: number; readonly call: number; readonly outcome: Outcome }
  /** Nobody waits for the job any more. */
  | { readonly type: 'abort'; readonly job: number };

export type FromThread =
  | {
      readonly type: 'call';
      readonly job: number;
      readonly call: number;
      readonly name: string;
      readonly input: unknown;
    }
  | {
      readonly type: 'done';
      readonly job: number;
      readonly outcome: Outcome;
      /** Texts of `Warning` headers, of a job that failed too. */
      readonly warnings: readonly string[];
      readonly annotations: readonly (readonly [key: string, value: string])[];
    };

export type Outcome = { readonly value: unknown } | { readonly failure: Failure };

/**
 * Bytes that can be moved to another thread: a copy. What is sent as a view takes all of its buffer along, which may be
 * megabytes of other objects.
 */
export const ownBytes = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);

/** The buffers of bytes that stand in an object itself, to be moved instead of copied. */
export function movable(value: unknown): ArrayBuffer[] {
  if (typeof value !== 'object' || value === null) return [];
  const parts = value instanceof Uint8Array ? [value] : Object.values(value);
  return parts
    .filter((part): part is Uint8Array<ArrayBuffer> => part instanceof Uint8Array)
    .filter(({ buffer, byteLength }) => buffer instanceof ArrayBuffer && buffer.byteLength === byteLength)
    .map(({ buffer }) => buffer);
}
