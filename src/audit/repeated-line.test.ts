import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LineQueue } from '../base/line-queue.ts';
import { orch } from '../dialect/orch.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { AuditEvent, ObjectReference } from './event.ts';
import { EventEncoder } from './event-encoder.ts';
import { auditEvent } from './event-fixture.ts';

const [jane, john]: UserInfo[] = ['jane', 'john'].map((username) => ({ username, uid: '', groups: [], extra: {} }));
const sourceIps = ['192.0.2.1'];
const ms = Date.UTC(2026, 0, 2, 3, 4, 5);
const reference: ObjectReference = {
  ...{ resource: 'pods', namespace: 'n1', name: 'p1', uid: '', apiGroup: 'g1', apiVersion: 'v1' },
  ...{ resourceVersion: '', subresource: 'log' },
};
const read = auditEvent({
  ...{ auditId: 'id-1', stage: 'ResponseComplete', requestUri: '/1', user: jane, sourceIps, userAgent: 'a1' },
  ...{ objectRef: reference, responseStatus: { code: 200 }, decision: { allowed: true, reason: 'r1' } },
  ...{ requestReceivedMs: ms, stageMs: ms + 1.5 },
});
const about = (more: Partial<ObjectReference>): Partial<AuditEvent> => ({ objectRef: { ...reference, ...more } });

/** Each field with another value, of the same length where it has one. */
const others: {
  readonly [K in Exclude<keyof AuditEvent, 'requestObject' | 'responseObject' | 'objectRef'>]: AuditEvent[K];
} = {
  level: 'Request',
  auditId: 'id-2',
  stage: 'Panic',
  requestUri: '/2',
  verb: 'put',
  user: john,
  impersonatedUser: john,
  sourceIps: ['192.0.2.2'],
  userAgent: 'a2',
  responseStatus: { code: 404 },
  requestReceivedMs: ms + 0.7,
  stageMs: ms + 2.25,
  decision: { allowed: true, reason: 'r2' },
  annotations: new Map([['a/b', 'c']]),
};
const otherReference: ObjectReference = {
  ...{ resource: 'pots', namespace: 'n2', name: 'p2', uid: 'u2', apiGroup: 'g2', apiVersion: 'v2' },
  ...{ resourceVersion: 'v2', subresource: 'lag' },
};

const variants: readonly (readonly [what: string, more: Partial<AuditEvent>])[] = [
  ...Object.entries(others).map(([key, value]) => [key, { [key]: value }] as const),
  ...Object.entries(otherReference).map(([key, value]) => [`objectRef.${key}`, about({ [key]: value })] as const),
  ['no user', { user: undefined }],
  ['no object', { objectRef: undefined }],
  ['no status', { responseStatus: undefined }],
  ...(['status', 'message', 'reason'] as const).map(
    (key) => [`the status' ${key}`, { responseStatus: { code: 200, [key]: 'x' } }] as const,
  ),
  ["the status' details", { responseStatus: { code: 200, details: { name: 'x' } } }],
  ['refused', { decision: { allowed: false, reason: 'r1' } }],
  ['not decided', { decision: undefined }],
  ...(['auditId', 'requestUri'] as const).flatMap((key) =>
    ['"', 'ü', '\\', '\n', 'longer than before', ''].map(
      (text) => [`${key} ${JSON.stringify(text)}`, { [key]: text.padStart(read[key].length, '/') }] as const,
    ),
  ),
  ...(['namespace', 'name'] as const).flatMap((key) =>
    ['a"', 'aü', 'aŁ', '\\b', '\n\n', 'longer than before', ''].map(
      (text) => [`${key} ${JSON.stringify(text)}`, about({ [key]: text })] as const,
    ),
  ),
  ['the next second', { requestReceivedMs: ms + 999.5, stageMs: ms + 1_000 }],
  ['the second before', { requestReceivedMs: ms - 1, stageMs: ms }],
];

/** Lines of a log that all events go to. */
async function written(events: readonly AuditEvent[], bytesMax?: number): Promise<readonly string[]> {
  let text = '';
  const queue = new LineQueue(async ({ buffers }) => {
    text += Buffer.concat(buffers).toString();
  }, bytesMax);
  const encoder = new EventEncoder(orch);
  const owner = { written() {}, lost: (_: number, error: unknown) => assert.fail(String(error)) };
  for (const event of events) queue.addText(encoder.encode(event), owner);
  await queue.idle();
  return text.split('\n').slice(0, -1);
}

/** The line of each event if it is the only one. */
const alone = async (events: readonly AuditEvent[]): Promise<readonly string[]> =>
  (await Promise.all(events.map((event) => written([event])))).flat();

describe('the line of an event like the one before', () => {
  for (const [what, more] of variants) {
    it(`is that of the event alone: ${what}`, async () => {
      const other = { ...read, ...more };
      const events = [read, other, read, other, other, read, { ...other, auditId: 'id-3' }, read];
      assert.deepEqual(await written(events), await alone(events));
    });
  }

  it('is that of the event alone, whatever the chunks and however many origins', async () => {
    const addresses = [sourceIps, ['192.0.2.7'], ['2001:db8::1']];
    const events = Array.from({ length: 400 }, (_, at) => ({
      ...read,
      ...variants[(at * 7) % variants.length]?.[1],
      auditId: `id-${at}`,
      sourceIps: addresses[at % 3] ?? [],
      requestReceivedMs: ms + at / 7,
      stageMs: ms + at / 5,
    }));
    const expected = await alone(events);
    for (const bytesMax of [1, 700, 2_000, undefined]) assert.deepEqual(await written(events, bytesMax), expected);
  });
});
