import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { until } from '../../base/waits-fixture.ts';
import type { Exchange } from '../exchange.ts';
import { frameType } from './frames.ts';
import { rawField, rawFrame, rawHeaders, rawSettings, uint32 } from './raw-frames-fixture.ts';
import { get, post, sessions } from './session-fixture.ts';

/** Arbitrary client frames, valid and invalid, in any order. */

/** The stream that a frame belongs to, counted back from the newest. */
const back = fc.integer({ min: 0, max: 3 });
const flags = fc.oneof(fc.constantFrom(0, 1, 4, 5, 8, 0x20, 0x25), fc.integer({ min: 0, max: 255 }));
const bytes = fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array));
const number = fc.oneof(fc.constantFrom(1, 1, 1_000, 65_535, 0x7fffffff, 0), fc.nat()).map((value) => uint32(value));

const field = fc.oneof(
  fc.constantFrom(
    rawField('x', 'y', { form: 'indexed' }),
    rawField('content-length', '3'),
    rawField('expect', '100-continue'),
  ),
  fc
    .tuple(fc.string({ maxLength: 8 }), fc.string({ maxLength: 8 }))
    .map(([name, value]) => rawField(name, value, { huffman: true })),
);
const block = fc
  .tuple(fc.constantFrom(get, post), fc.array(field, { maxLength: 3 }))
  .map(([head, fields]) => Buffer.concat([head, ...fields]));

/** Builds a frame, given the number of the newest stream, and tells whether it opens another. */
interface Action {
  readonly opens?: boolean;
  frame(newest: number): Buffer;
}

const opening = fc
  .tuple(fc.constantFrom(0, 1), block, fc.constantFrom(4, 16_384))
  .map(([end, head, cut]): Action => ({ opens: true, frame: (newest) => rawHeaders(newest, end, head, cut) }));
const ofStream = fc
  .oneof(
    fc.tuple(fc.constant(frameType.data), fc.constantFrom(0, 0, 1), bytes),
    fc.tuple(fc.constant(frameType.windowUpdate), fc.constant(0), number),
    fc.tuple(fc.constant(frameType.reset), fc.constant(0), number),
    fc.tuple(fc.constant(frameType.headers), fc.constantFrom(5), fc.constant(rawField('x-trailer', 'y'))),
  )
  .chain(([type, flag, payload]) =>
    back.map(
      (count): Action => ({ frame: (newest) => rawFrame(type, flag, Math.max(1, newest - 2 * count), payload) }),
    ),
  );
const settings = fc
  .tuple(fc.integer({ min: 1, max: 6 }), fc.constantFrom(0, 1, 100, 16_384, 65_535))
  .map(([id, value]): Action => ({ frame: () => rawFrame(frameType.settings, 0, 0, rawSettings([id, value])) }));
const wild = fc
  .tuple(fc.integer({ min: 0, max: 12 }), flags, fc.integer({ min: 0, max: 9 }), bytes)
  .map(([type, flag, id, payload]): Action => ({ frame: () => rawFrame(type, flag, id, payload) }));
const action = fc.oneof(
  { weight: 8, arbitrary: opening },
  { weight: 8, arbitrary: ofStream },
  { weight: 2, arbitrary: settings },
  { weight: 1, arbitrary: wild },
);

function framesOf(actions: readonly Action[]): Buffer[] {
  let newest = -1;
  return actions.map((each) => {
    if (each.opens) newest += 2;
    return each.frame(Math.max(1, newest));
  });
}

test('for arbitrary frames, every exchange ends with its connection, others are served, and nothing fails internally', async () => {
  const failures: unknown[] = [];
  const logger = { error: (...all: unknown[]) => void failures.push(all), warn() {}, info() {}, debug() {} };
  let underWay = 0;
  let handled = 0;
  const serve = async (exchange: Exchange): Promise<void> => {
    handled += 1;
    underWay += 1;
    exchange.onEnd(() => {
      underWay -= 1;
    });
    const body = await exchange.body(30).catch(() => Buffer.from('refused'));
    await new Promise(setImmediate);
    const writer = exchange.stream(200, {});
    writer.write(Buffer.alloc(1_000));
    writer.end(body);
  };
  await using all = await sessions((exchange) => void serve(exchange), { logger });
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 25 }), async (actions) => {
      const client = await all.client();
      client.send(...framesOf(actions));
      await client.pinged().catch(() => {}); // the connection has ended, or waits for CONTINUATION
      client.socket.destroy();
    }),
    { numRuns: 1_000, interruptAfterTimeLimit: 20_000 },
  );
  await until(() => all.started.listener.connections === 0);
  assert.deepEqual([underWay, failures], [0, []]);
  assert.ok(handled > 100, `${handled} requests were handled`);
});
