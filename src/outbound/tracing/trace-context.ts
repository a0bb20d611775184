/** A span of somebody else's (W3C Trace Context). */
export interface RemoteSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** The sender records the trace. */
  readonly sampled: boolean;
  /** The header `tracestate`, for whoever continues the trace. */
  readonly state?: string | undefined;
}

/** Header that names the span of the sender. */
export const parentHeader = 'traceparent';
export const stateHeader = 'tracestate';

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Reads the header `traceparent`. Undefined if it is invalid, which is treated as if it were absent (section 4.3). */
export function parseTraceParent(text: string): RemoteSpan | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] = form.exec(text) ?? [];
  // Later versions may say more after the flags; version ff is forbidden.
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}
