import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseTraceParent } from './trace-context.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const of = (sampled: boolean) => ({ traceId, spanId, sampled });

const rows: readonly (readonly [header: string, expected: object | undefined])[] = [
  [`00-${traceId}-${spanId}-00`, of(false)],
  [`00-${traceId}-${spanId}-01`, of(true)],
  // Flags that are not known say nothing.
  [`00-${traceId}-${spanId}-02`, of(false)],
  [`00-${traceId}-${spanId}-ff`, of(true)],
  // Later versions.
  [`01-${traceId}-${spanId}-01`, of(true)],
  [`fe-${traceId}-${spanId}-01-and-more`, of(true)],
  [`01-${traceId}-${spanId}-01more`, undefined],
  [`ff-${traceId}-${spanId}-01`, undefined],
  [`00-${traceId}-${spanId}-01-`, undefined],
  [`00-${'0'.repeat(32)}-${spanId}-01`, undefined],
  [`00-${traceId}-${'0'.repeat(16)}-01`, undefined],
  [`00-${traceId.toUpperCase()}-${spanId}-01`, undefined],
  [`00-${traceId}-${spanId}-1`, undefined],
  [`00-${traceId}0-${spanId}-01`, undefined],
  [` 00-${traceId}-${spanId}-01`, undefined],
  [`00-${traceId}-${spanId}-01\n`, undefined],
  ['', undefined],
];

describe('a traceparent', () => {
  for (const [header, expected] of rows) {
    it(JSON.stringify(header), () => assert.deepEqual(parseTraceParent(header), expected));
  }
});
