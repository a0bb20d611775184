import assert from 'node:assert/strict';
import { request as requestHttps } from 'node:https';
import { after, before, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { type ByteSpan, spanOf } from '../base/collections/byte-span.ts';
import { once, until, within } from '../base/waits-fixture.ts';
import { SlabSequence } from '../cache/entries/slab.ts';
import { StatusError } from '../meta/status-error.ts';
import type { Exchange } from './exchange.ts';
import { gatherEvents, gatherList, smallChunkBytes } from './gather.ts';
import { sendList, sendPieces } from './list-stream.ts';
import { ca, fetch2, type Received, readAll, type Started, start } from './listener-fixture.ts';

let handle: (exchange: Exchange) => void = () => {};
let started: Started;
before(async () => {
  started = await start((exchange) => handle(exchange));
});
after(() => started[Symbol.asyncDispose]());

const head = '{"items":[';
const tail = ']}';
const options = { status: 200, contentType: 'application/json', compress: true };
const item = (text: string): ByteSpan => spanOf(Buffer.from(JSON.stringify(text)));
const joined = (items: readonly ByteSpan[]) =>
  `${head}${items.map(({ memory, start, end }) => memory.subarray(start, end)).join(',')}${tail}`;

/** Sizes around the limits of chunks and of items that are sent in place. */
const shapes: Readonly<Record<string, readonly number[]>> = {
  none: [],
  one: [10],
  'a few': [1, 2, 3],
  'some thousand': Array.from({ length: 5_000 }, (_, i) => i % 700),
  'one that is large': [1_000_000],
  'large ones': [10, 200_000, 10, 300_000, 400_000, 10],
  'ones that just fill chunks': [262_144 - head.length - 2, 5, 262_144 - 2, 262_144 - 3, 1, 131_072, 131_071],
  'ones that leave no room for the end': [262_144 - head.length - 3],
};

describe('a list', () => {
  for (const [name, sizes] of Object.entries(shapes)) {
    const items = sizes.map((size, at) => item(String.fromCharCode(97 + (at % 26)).repeat(size)));
    const expected = joined(items);

    it(`of ${name} equals the joined text`, () => {
      let text = '';
      for (const { bytes, sent } of gatherList({ head, separator: ',', tail }, items)) {
        assert.ok(bytes.length > 0);
        text += Buffer.from(bytes).toString();
        sent?.();
      }
      assert.ok(text === expected);
    });

    it(`of ${name} is sent over both protocols, plain and compressed`, async () => {
      handle = (exchange) => void sendList(exchange, { head, items, tail }, options);
      for (const encoding of ['identity', 'gzip']) {
        for (const received of [await over2(encoding), await over1(encoding)]) {
          assert.equal(received.status, 200);
          assert.equal(received.headers['content-encoding'], encoding === 'gzip' ? 'gzip' : undefined);
          assert.equal(received.headers['content-type'], 'application/json');
          const body = encoding === 'gzip' ? gunzipSync(received.body) : received.body;
          assert.ok(body.toString() === expected);
          if (expected.length < 10_000) assert.equal(received.headers['content-length'], String(received.body.length));
        }
      }
    });
  }

  it('that is long is compressed only where there is a compressor, a short one always', async () => {
    let asked = 0;
    const takeCompressor = (): boolean => {
      asked += 1;
      return false;
    };
    for (const length of [10, 500_000]) {
      const items = [item('a'.repeat(length))];
      handle = (exchange) => void sendList(exchange, { head, items, tail }, { ...options, takeCompressor });
      const received = await over2('gzip');
      const isShort = length === 10;
      assert.equal(received.headers['content-encoding'], isShort ? 'gzip' : undefined);
      const body = isShort ? gunzipSync(received.body) : received.body;
      assert.ok(body.toString() === joined(items));
    }
    assert.equal(asked, 1);
  });

  it('does not mix with lists sent concurrently', async () => {
    handle = (exchange) => {
      const letter = exchange.target.slice(1);
      const items = Array.from({ length: 3_000 }, () => item(letter.repeat(500)));
      void sendList(exchange, { head, items, tail }, options);
    };
    const session = await started.http2();
    const letters = [...'abcdefghij'];
    const all = await Promise.all(letters.map((letter) => fetch2(session, `/${letter}`)));
    for (const [at, { body }] of all.entries()) {
      assert.ok(body.toString() === joined(Array.from({ length: 3_000 }, () => item((letters[at] ?? '').repeat(500)))));
    }
    session.destroy();
  });

  it('of adjacent items equals the joined text, and long runs are not copied', () => {
    const sizes = fc.oneof(
      { weight: 20, arbitrary: fc.integer({ min: 1, max: 3_000 }) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 300_000 }) },
    );
    const places = fc.constantFrom('slab', 'slab', 'slab', 'slab', 'slab', 'slab', 'slab', 'slab', 'alone', 'skipped');
    fc.assert(
      fc.property(
        fc.array(fc.tuple(sizes, places), { maxLength: 400 }),
        fc.constantFrom(',', ', '),
        (rows, separator) => {
          const slabs = new SlabSequence(rows.reduce((sum, [size]) => sum + size + 1, 0));
          const items = rows.flatMap(([size, where], index): ByteSpan[] => {
            const span = where === 'alone' ? spanOf(Buffer.alloc(size)) : slabs.place(size);
            span.memory.fill(97 + (index % 26), span.start, span.end);
            return where === 'skipped' ? [] : [span];
          });
          const memories = new Set(items.map(({ memory }) => memory.buffer));
          let copied = 0;
          const parts: Buffer[] = [];
          for (const { bytes, sent } of gatherList({ head, separator, tail }, items)) {
            assert.ok(bytes.length > 0);
            if (!memories.has(bytes.buffer as ArrayBuffer)) copied += bytes.length;
            parts.push(Buffer.from(bytes));
            sent?.();
          }
          const texts = items.map(({ memory, start, end }) => memory.subarray(start, end));
          assert.ok(Buffer.concat(parts).toString() === `${head}${texts.join(separator)}${tail}`);
          if (separator === ',' && rows.length > 50 && rows.every(([, where]) => where === 'slab')) {
            assert.ok(copied < 64 * 1024, `${copied} bytes were copied`);
          }
        },
      ),
      { numRuns: 300 },
    );
    const slabs = new SlabSequence(1_000 * 1_001);
    const items = Array.from({ length: 1_000 }, () => slabs.place(1_000));
    const chunks = [...gatherList({ head, separator: ',', tail }, items)];
    assert.ok(chunks.filter(({ sent }) => sent).length <= 3, 'head and tail are all that is copied');
  });

  it('is not encoded for HEAD', async () => {
    let taken = 0;
    function* counted() {
      for (; taken < 100_000; taken += 1) yield item('x'.repeat(1_000));
    }
    handle = (exchange) => void sendList(exchange, { head, items: counted(), tail }, options);
    const session = await started.http2();
    const { status, body } = await fetch2(session, '/', { method: 'HEAD', headers: { 'accept-encoding': 'gzip' } });
    assert.deepEqual([status, body.length], [200, 0]);
    assert.ok(taken < 1_000);
    session.destroy();
  });

  it('awaits promised pieces and keeps their order', async () => {
    const texts = Array.from({ length: 9 }, (_, index) => `piece ${index} `.repeat(index === 4 ? 100_000 : 10));
    for (const promised of [[0], [8], [4], [0, 1, 8], [0, 1, 2, 3, 4, 5, 6, 7, 8]]) {
      const pieces = texts.map((text, index) =>
        promised.includes(index)
          ? new Promise<Uint8Array>((resolve) => setImmediate(() => resolve(Buffer.from(text))))
          : text,
      );
      handle = (exchange) => void sendPieces(exchange, pieces, { ...options, compress: false });
      assert.equal((await over2('identity')).body.toString(), texts.join(''));
    }
  });

  it('is cut off if a promised piece rejects', async () => {
    const failed = Promise.withResolvers<unknown>();
    function* pieces() {
      yield 'begin';
      yield Promise.reject<Uint8Array>(new Error('no piece'));
    }
    handle = (exchange) => void sendPieces(exchange, pieces(), options)?.catch(failed.resolve);
    await assert.rejects(over2('identity'));
    assert.match(String(await failed.promise), /no piece/);
  });

  it('of pieces is sent', async () => {
    const pieces = Array.from({ length: 2_000 }, (_, i) =>
      i % 2 ? `piece ${i} `.repeat(30) : Buffer.from(`bytes ${i} `),
    );
    handle = (exchange) => void sendPieces(exchange, pieces, { ...options, compress: false });
    assert.ok((await over2('gzip')).body.toString() === pieces.join(''));
    handle = (exchange) => void sendPieces(exchange, [], options);
    assert.equal((await over2('identity')).body.length, 0);
  });

  for (const encoding of ['identity', 'gzip']) {
    it(`waits for the client and stops when it is gone, ${encoding}`, async () => {
      let taken = 0;
      let returned = false;
      const done = Promise.withResolvers<void>();
      function* endless() {
        try {
          for (;;) {
            taken += 1;
            // Incompressible, so that gzip cannot absorb it all.
            yield spanOf(Buffer.from(Array.from({ length: 200 }, () => Math.random().toString(36)).join('')));
          }
        } finally {
          returned = true;
        }
      }
      handle = (exchange) => void sendList(exchange, { head, items: endless(), tail }, options)?.then(done.resolve);
      const session = await started.http2();
      const stream = session.request({ ':path': '/', 'accept-encoding': encoding });
      stream.on('error', () => {});
      await once(stream, 'response');
      let seen = 0;
      do {
        seen = taken;
        for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
      } while (taken > seen);
      assert.ok(taken < 10_000, 'nobody reads, so little may have been made');
      session.destroy();
      await within(done.promise, 'done: never');
      assert.ok(returned);
    });
  }

  it('that fails midway is cut off and rejects', async () => {
    const failure = Promise.withResolvers<unknown>();
    function* failing() {
      for (let count = 0; count < 2_000; count += 1) yield item('x'.repeat(1_000));
      throw new Error('unreadable');
    }
    handle = (exchange) => void sendList(exchange, { head, items: failing(), tail }, options)?.catch(failure.resolve);
    await assert.rejects(over2('identity'));
    assert.match(String(await within(failure.promise, 'failure: never')), /unreadable/);
    function* failingAtOnce() {
      yield item('x');
      throw new Error('unreadable at once');
    }
    handle = (exchange) => {
      assert.throws(() => sendList(exchange, { head, items: failingAtOnce(), tail }, options), /at once/);
      assert.equal(exchange.responded, false, 'so that there can be a Status');
      exchange.respond(500, {});
    };
    assert.equal((await over2('identity')).status, 500);
  });

  it('ends when its exchange is aborted', async () => {
    const done = Promise.withResolvers<void>();
    const items = Array.from({ length: 20_000 }, () => item('x'.repeat(1_000)));
    let exchange: Exchange | undefined;
    handle = (each) => {
      exchange = each;
      void sendList(each, { head, items, tail }, options)?.then(done.resolve);
    };
    const stream = (await started.http2()).request({ ':path': '/' });
    const failed = new Promise((resolve) => stream.once('error', resolve));
    await until(() => exchange !== undefined);
    exchange?.abort(new StatusError('Timeout', 'too slow'));
    await within(done.promise, 'done: never');
    stream.resume();
    await failed;
  });
});

async function over2(encoding: string): Promise<Received> {
  const session = await started.http2();
  try {
    return await fetch2(session, '/', { headers: { 'accept-encoding': encoding } });
  } finally {
    session.destroy();
  }
}

async function over1(encoding: string): Promise<Received> {
  const { port } = started.listener;
  const request = requestHttps({ host: '127.0.0.1', port, ca, agent: false, headers: { 'accept-encoding': encoding } });
  request.end();
  const [response] = await once(request, 'response');
  return { status: response.statusCode, headers: response.headers, body: await readAll(response) };
}

describe('events of a watch', () => {
  it('are in small chunks, but for large ones', () => {
    const sizes = fc.oneof(
      { weight: 20, arbitrary: fc.integer({ min: 1, max: 3_000 }) },
      { weight: 1, arbitrary: fc.integer({ min: smallChunkBytes - 2, max: 3 * smallChunkBytes }) },
    );
    fc.assert(
      fc.property(fc.array(sizes, { maxLength: 200 }), (lengths) => {
        const frames = lengths.map((length, at) => Buffer.alloc(length, 97 + (at % 26)));
        const parts: Buffer[] = [];
        for (const { bytes, sent } of gatherEvents(frames)) {
          assert.ok(bytes.length > 0 && (bytes.length <= smallChunkBytes || lengths.includes(bytes.length)));
          parts.push(Buffer.from(bytes));
          sent?.();
        }
        assert.ok(Buffer.concat(parts).equals(Buffer.concat(frames)));
      }),
    );
  });

  it('are not copied before the chunk before them was taken', () => {
    let made = 0;
    function* frames() {
      for (; made < 100; made++) yield Buffer.alloc(smallChunkBytes / 3, made);
    }
    const chunks = gatherEvents(frames());
    const first = chunks.next().value;
    assert.equal(first?.bytes.length, smallChunkBytes);
    first?.sent?.();
    // Its buffer is used again: none was begun.
    assert.equal(chunks.next().value?.bytes.buffer, first?.bytes.buffer);
  });

  it('are not made before the chunk before them was taken', () => {
    let made = 0;
    function* frames(length: number) {
      for (made = 0; made < 100; ) {
        made += 1;
        yield Buffer.alloc(length);
      }
    }
    const large = gatherEvents(frames(4 * smallChunkBytes));
    for (let taken = 1; taken <= 3; taken++) {
      large.next();
      assert.equal(made, taken);
    }
    const small = gatherEvents(frames(smallChunkBytes / 2 - 1));
    for (let taken = 1; taken <= 3; taken++) {
      small.next();
      assert.equal(made, 2 * taken + 1, 'one has no room in the chunk');
    }
  });
});
