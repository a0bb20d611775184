import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { until } from '../../base/waits-fixture.ts';
import { type DataSource, FrameWriter } from './frame-writer.ts';
import { frameHeadBytes, frameType } from './frames.ts';
import { rawFrame } from './raw-frames-fixture.ts';

/** A socket that takes a write when the test says so. */
class Sink {
  readonly destroyed = false;
  readonly written: Buffer[] = [];
  #taken: (() => void) | undefined;

  write(bytes: Uint8Array, taken: () => void): void {
    this.written.push(Buffer.from(bytes));
    this.#taken = taken;
  }

  get lengths(): readonly number[] {
    return this.written.map(({ length }) => length);
  }

  /** Takes the write under way, once there is one. */
  async take(): Promise<void> {
    await until(() => this.#taken !== undefined);
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.();
  }
}

/** A stream with so many bytes to send. */
class Source implements DataSource {
  bytes: number;
  told = 0;

  constructor(bytes = 0) {
    this.bytes = bytes;
  }

  sendData(writer: FrameWriter): boolean {
    const length = writer.room(this.bytes);
    add(writer, length);
    this.bytes -= length;
    return this.bytes > 0;
  }

  taken(): void {
    this.told += 1;
  }
}

function add(writer: FrameWriter, length: number): void {
  writer.dataHead(1, length, false);
  writer.dataBytes(Buffer.alloc(length));
}

function writing({ large }: { readonly large: boolean }) {
  const sink = new Sink();
  let asked = 0;
  const writer = new FrameWriter({
    socket: sink,
    clock: new ManualClock(),
    onWritten() {},
    mayWriteLarge() {
      asked += 1;
      return large;
    },
  });
  writer.window = 1024 * 1024;
  return { sink, writer, asked: () => asked };
}

const { outputBytesMax, outputBytesSmall, responseBufferBytes } = limits;
const bytes = 4 * outputBytesSmall;

describe('a connection that writes little at once', () => {
  it('writes the next part when the system has taken the one before', async () => {
    const { sink, writer } = writing({ large: false });
    const source = new Source(bytes);
    writer.addSource(source);
    for (let part = 1; part <= 4; part++) {
      await until(() => sink.lengths.length === part);
      assert.equal(writer.takesAtOnce(1), false);
      assert.equal(source.bytes, bytes - part * outputBytesSmall);
      await sink.take();
    }
    assert.deepEqual(sink.lengths, Array(4).fill(outputBytesSmall + frameHeadBytes));
  });

  it('does so with headers and control frames too, until it closes', async () => {
    const { sink, writer } = writing({ large: false });
    const expected: Buffer[] = [];
    for (let n = 0; n < 4; n++) {
      const payload = Buffer.alloc(outputBytesSmall, n);
      writer.frame(frameType.ping, 0, 0, payload);
      expected.push(rawFrame(frameType.ping, 0, 0, payload));
    }
    const most = outputBytesSmall + frameHeadBytes;
    await sink.take();
    await until(() => sink.lengths.length === 2);
    writer.close();
    assert.deepEqual(sink.lengths, [most, most, 2 * most]);
    assert.ok(Buffer.concat(sink.written).equals(Buffer.concat(expected)));
  });

  it('has its streams wait until the system has taken what they sent', async () => {
    const { sink, writer } = writing({ large: false });
    const source = new Source();
    assert.equal(writer.isBehind(0), false);
    add(writer, outputBytesSmall);
    assert.equal(writer.isBehind(0), true);
    writer.tellWhenTaken(source);
    await until(() => sink.lengths.length === 1);
    assert.deepEqual([source.told, writer.isBehind(0)], [0, true]);
    await sink.take();
    await until(() => source.told === 1);
    assert.equal(writer.isBehind(0), false);
  });
});

describe('a stream that waits until the system has taken what it sent', () => {
  for (const large of [false, true]) {
    it(`is told although others have more to send, with ${large ? 'large' : 'small'} writes`, async () => {
      const { sink, writer } = writing({ large });
      const waiting = new Source();
      writer.addSource(new Source(4 * outputBytesMax));
      add(writer, outputBytesSmall);
      writer.tellWhenTaken(waiting);
      await until(() => sink.lengths.length === 1);
      assert.equal(waiting.told, 0);
      await sink.take();
      await until(() => sink.lengths.length === 2);
      assert.equal(waiting.told, 1);
    });
  }
});

describe('a connection that writes much at once', () => {
  it('does so, and asks whether it may only when there is much', async () => {
    const { sink, writer, asked } = writing({ large: true });
    add(writer, 100);
    assert.deepEqual([writer.takesAtOnce(1_000), writer.isBehind(0), asked()], [true, false, 0]);
    writer.addSource(new Source(bytes));
    await sink.take();
    assert.ok((sink.lengths[0] ?? 0) > outputBytesSmall);
    assert.ok(asked() > 0);
  });

  it('has its streams wait when much was not taken', () => {
    const { writer } = writing({ large: true });
    add(writer, responseBufferBytes / 2);
    assert.deepEqual([writer.isBehind(0), writer.isBehind(responseBufferBytes / 2)], [false, true]);
  });
});
