import type { AnnotationLevel } from '../../../request/audit-annotations.ts';
import type { Failure } from './failure.ts';

/**
 * Messages between the main thread and the heavy-work thread. The main thread sends jobs; a running job may call back
 * for what only the main thread has. Bytes are Uint8Arrays that own their whole buffer (`ownBytes`).
 */
export type ToThread =
  | { readonly type: 'job'; readonly job: number; readonly name: string; readonly input: unknown }
  | { readonly type: 'answer'; readonly job: number; readonly call: number; readonly outcome: Outcome }
  /** Nobody waits for the job any more. */
  | { readonly type: 'abort'; readonly job: number };

export type FromThread =
  /** It has loaded its code, and takes jobs. */
  | { readonly type: 'ready' }
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
      /** Texts of `Warning` headers, also of failed jobs. */
      readonly warnings: readonly string[];
      readonly annotations: readonly JobAnnotation[];
    };

/** Arguments of `annotate`. */
export type JobAnnotation = readonly [key: string, value: string, from?: AnnotationLevel];

export type Outcome = { readonly value: unknown } | { readonly failure: Failure };

/**
 * A copy of bytes that can be transferred to another thread. Sending a view would clone its whole buffer, which may
 * hold megabytes of other objects.
 */
export const ownBytes = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);

/** The buffers of an object's own byte properties, to be transferred instead of cloned. */
export function movable(value: unknown): ArrayBuffer[] {
  if (typeof value !== 'object' || value === null) return [];
  const parts = value instanceof Uint8Array ? [value] : Object.values(value);
  return parts
    .filter((part): part is Uint8Array<ArrayBuffer> => part instanceof Uint8Array)
    .filter(({ buffer, byteLength }) => buffer instanceof ArrayBuffer && buffer.byteLength === byteLength)
    .map(({ buffer }) => buffer);
}
