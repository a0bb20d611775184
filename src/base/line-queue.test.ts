import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from './limits.ts';
import { type LineOwner, LineQueue, type TextLine } from './line-queue.ts';
import { until } from './waits-fixture.ts';

class Owner implements LineOwner {
  lines = 0;
  readonly errors: unknown[] = [];

  written(lines: number): void {
    this.lines += lines;
  }

  lost(lines: number, error: unknown): void {
    for (let line = 0; line < lines; line++) this.errors.push(error);
  }
}

/** A queue whose chunks are written when the test says so. */
function queued(bytesMax?: number) {
  const chunks: { readonly text: string; readonly end: (error?: Error) => void }[] = [];
  const queue = new LineQueue(({ buffers, bytes }) => {
    const text = Buffer.concat(buffers).toString();
    assert.equal(bytes, Buffer.byteLength(text));
    return new Promise((resolve, reject) => {
      chunks.push({ text, end: (error) => (error ? reject(error) : resolve()) });
    });
  }, bytesMax);
  return { queue, chunks, texts: () => chunks.map(({ text }) => text) };
}

const line = (text: string): TextLine => ({ writeTo: (bytes) => bytes.addText(`${text}\n`) });

describe('a queue of lines', () => {
  it('writes full chunks at once, and the open one when it is told to', async () => {
    const { queue, chunks, texts } = queued(10);
    const owner = new Owner();
    for (const text of ['123', '456', '789', 'abc', 'xyz']) queue.addText(line(text), owner);
    await until(() => chunks.length === 1);
    chunks[0]?.end();
    await until(() => chunks.length === 2);
    chunks[1]?.end();
    await until(() => owner.lines === 4);
    assert.deepEqual([texts(), queue.bytes], [['123\n456\n', '789\nabc\n'], 4]);
    queue.flush();
    queue.addText(line('y'), owner);
    await until(() => chunks.length === 3);
    chunks[2]?.end();
    await queue.idle();
    assert.deepEqual([texts()[2], owner.lines, queue.bytes], ['xyz\ny\n', 6, 0]);
  });

  it('tells the owner of each line what became of it', async () => {
    const { queue, chunks } = queued(10);
    const [a, b] = [new Owner(), new Owner()];
    for (const [text, owner] of [
      ['1', a],
      ['2', a],
      ['3', b],
      ['4', a],
      ['5', b],
      ['6', b],
    ] as const)
      queue.addText(line(text), owner);
    const idle = queue.idle();
    await until(() => chunks.length === 1);
    const full = new Error('full');
    chunks[0]?.end(full);
    await until(() => chunks.length === 2);
    chunks[1]?.end();
    await idle;
    assert.deepEqual([a.lines, a.errors, b.lines, b.errors], [0, [full, full, full], 1, [full, full]]);
  });

  for (const [what, length] of [
    ['fills a chunk', limits.logChunkBytes],
    ['is longer than any', limits.logChunkBytes + 1],
  ] as const) {
    it(`keeps a line whole that ${what}, in order`, async () => {
      const { queue, chunks, texts } = queued();
      const owner = new Owner();
      const long = 'x'.repeat(length - 1);
      for (const text of ['a', long, 'b']) queue.addText(line(text), owner);
      queue.add([long, '\n'], owner);
      queue.add([Buffer.from('c'), '\n'], owner);
      const idle = queue.idle();
      for (let ended = 0; owner.lines < 5; ended++) {
        await until(() => chunks.length > ended);
        chunks[ended]?.end();
        await until(() => owner.lines > ended || chunks.length > ended + 1);
      }
      await idle;
      assert.ok(texts().join('') === `a\n${long}\nb\n${long}\nc\n`);
    });
  }

  it('makes another line of memory that is used again', async () => {
    const { queue, chunks, texts } = queued(8);
    const owner = new Owner();
    for (let number = 0; number < 20; number++) {
      queue.addText(line(`${100 + number}`), owner);
      queue.flush();
      await until(() => chunks.length > number);
      chunks[number]?.end();
      await until(() => owner.lines > number);
    }
    await queue.idle();
    assert.deepEqual(
      texts(),
      Array.from({ length: 20 }, (_, number) => `${100 + number}\n`),
    );
  });
});
