import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { beforeEach, describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { until, within } from '../base/waits-fixture.ts';
import { ResponseWriter } from './response-writer.ts';

const { outputBytesSmall } = limits;

/** What takes writes only when it is told to. */
class Holding extends Writable {
  readonly taken: Buffer[] = [];
  #take: (() => void) | undefined;

  override _write(chunk: Buffer, _encoding: unknown, done: () => void): void {
    this.#take = () => {
      this.taken.push(Buffer.from(chunk));
      done();
    };
  }

  /** Takes what is written, and what is written then. */
  async takeAll(): Promise<void> {
    while (this.#take) {
      const take = this.#take;
      this.#take = undefined;
      take();
      await new Promise(setImmediate);
    }
  }
}

describe('a body on a connection that writes little at once', () => {
  let stream: Holding;
  let writer: ResponseWriter;
  let written = 0;
  beforeEach(() => {
    stream = new Holding();
    written = 0;
    writer = new ResponseWriter(stream, {
      written: (bytes) => {
        written += bytes;
      },
      ended() {},
      abort: () => stream.destroy(),
      mayWriteLarge: () => false,
    });
  });
  const large = Buffer.from(Array.from({ length: 10 * outputBytesSmall + 1 }, (_, at) => at % 251));

  it('waits in its writer, of which the stream gets little at once', async () => {
    assert.equal(writer.write(large), false);
    assert.equal(writer.write('and more'), false);
    writer.end('the end');
    assert.equal(stream.writableLength, outputBytesSmall);
    assert.equal(writer.buffered, large.length + 'and morethe end'.length);
    assert.equal(written, writer.buffered);
    await stream.takeAll();
    await until(() => stream.writableFinished);
    assert.ok(Buffer.concat(stream.taken).equals(Buffer.concat([large, Buffer.from('and morethe end')])));
    assert.ok(stream.taken.every(({ length }) => length <= outputBytesSmall));
  });

  it('is drained, and its bytes are sent, when the last of them are taken', async () => {
    const events: string[] = [];
    writer.write(large, () => events.push('sent'));
    void writer.drained().then(() => events.push('drained'));
    await new Promise(setImmediate);
    assert.deepEqual(events, []);
    await stream.takeAll();
    await until(() => events.length === 2);
    assert.deepEqual(events, ['sent', 'drained']);
    assert.equal(writer.isBehind, false);
    assert.equal(writer.write('little'), true);
  });

  it('of a client that goes lets nobody wait, and its bytes may still be referenced', async () => {
    writer.write(large, () => assert.fail('the stream was destroyed'));
    const drained = writer.drained();
    stream.destroy();
    await within(drained, 'the stream was destroyed');
    assert.equal(writer.write('more'), true);
  });
});
