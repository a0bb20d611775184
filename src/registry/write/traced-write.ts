import { type Span, spanning } from '../../base/span.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { WriteOptions } from '../../store/store.ts';

/** What a span says of a write to the store. */
export interface TracedWrite {
  /** The operation that writes, if it is traced. */
  readonly span: Span | undefined;
  /** The published names: every change of a stored object is a `GuaranteedUpdate`. */
  readonly operation: 'Create' | 'GuaranteedUpdate' | 'Delete';
  readonly storeName: string | undefined;
  readonly served: ServedResource;
  readonly key: string;
}

/** Runs a write to the store, in a span of its own if it is traced. */
export function tracedWrite<T>(
  { span, operation, storeName = 'store', served, key }: TracedWrite,
  write: (options: WriteOptions) => Promise<T>,
): Promise<T> {
  if (!span) return write(untraced);
  const attributes = { key, type: served.kind.kind, resource: served.name.resource };
  const child = span.child(`${operation} ${storeName}`, attributes);
  return spanning(child, () => write({ span: child }));
}

const untraced: WriteOptions = {};
