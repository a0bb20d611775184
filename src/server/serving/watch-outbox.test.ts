import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { ManualClock } from '../../base/time/clock.ts';
import type { BodyWriter, Outlet } from '../../http/exchange.ts';
import { nullWriter } from '../../http/response-writer.ts';
import { EventRun } from './event-run.ts';
import { WatchOutbox } from './watch-outbox.ts';

const frame = (text: string): Uint8Array => Buffer.from(text);
const textOf = (run: EventRun): string => Buffer.from(run.chunk.bytes).toString();

describe('a run of events', () => {
  const [a, b, c] = [frame('a'), frame('bb'), frame('ccc')];

  it('is shared by watches with the same events, and joined once', () => {
    const first = new EventRun(a);
    const one = first.followedBy(b).followedBy(c);
    const other = first.followedBy(b).followedBy(c);
    assert.equal(one, other);
    assert.equal(textOf(one), 'abbccc');
    assert.equal(one.bytes, 6);
    assert.equal(one.chunk.bytes, other.chunk.bytes);
    assert.equal(one.chunk.chunked, other.chunk.chunked);
  });

  it('of one frame is the frame, not a copy', () => {
    assert.equal(new EventRun(a).chunk.bytes, a);
  });

  it('may have several continuations', () => {
    const first = new EventRun(a);
    const ways = [b, c, b, c, frame('d'), c].map((next) => first.followedBy(next));
    assert.deepEqual(ways.map(textOf), ['abb', 'accc', 'abb', 'accc', 'ad', 'accc']);
    assert.equal(new Set(ways).size, 3);
  });

  it('has its framing as a chunk of HTTP/1.1', () => {
    const run = new EventRun(frame('x'.repeat(20))).followedBy(frame('y'));
    assert.equal(run.chunk.chunked.toString(), `15\r\n${'x'.repeat(20)}y\r\n`);
  });
});

/** A connection on which each watch's write takes a given time. */
class Connection implements Outlet {
  readonly log: string[];
  readonly name: string;
  held = false;

  constructor(name: string, log: string[]) {
    this.name = name;
    this.log = log;
  }

  get writer(): BodyWriter {
    return { ...nullWriter, outlet: this };
  }

  hold(): void {
    assert.ok(!this.held);
    this.held = true;
  }

  flush(): void {
    assert.ok(this.held);
    this.held = false;
    this.log.push(`${this.name} sent`);
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('what watches have to write', () => {
  it('goes out in one write for each connection', async () => {
    const log: string[] = [];
    const outbox = new WatchOutbox(new ManualClock());
    const [first, second] = [new Connection('first', log), new Connection('second', log)];
    for (const [connection, name] of [
      [first, 'a'],
      [second, 'b'],
      [first, 'c'],
    ] as const) {
      outbox.add(outbox.queueFor(connection.writer), { flush: () => log.push(name) });
    }
    assert.deepEqual(log, []);
    await turn();
    assert.deepEqual(log, ['a', 'c', 'first sent', 'b', 'second sent']);
  });

  it('of very many connections goes out in many turns of the event loop, and each connection once', async () => {
    const clock = new ManualClock();
    const outbox = new WatchOutbox(clock);
    const log: string[] = [];
    const count = 10_000;
    let perTurn = 0;
    let longest = 0;
    for (let index = 0; index < count; index++) {
      const flush = () => {
        // The time of a TLS write.
        clock.advance(0.03);
        perTurn++;
      };
      outbox.add(outbox.queueFor(new Connection('', log).writer), { flush });
    }
    let turns = 0;
    for (; log.length < count; turns++) {
      await turn();
      longest = Math.max(longest, perTurn * 0.03);
      perTurn = 0;
      assert.ok(turns < count);
    }
    assert.equal(log.length, count);
    assert.ok(longest < limits.sliceMs + 1, `${longest} ms in one turn`);
    assert.ok(turns >= (count * 0.03) / (limits.sliceMs + 1));
  });

  it('delays further events when it is too much, and only then', async () => {
    const clock = new ManualClock();
    const outbox = new WatchOutbox(clock);
    const log: string[] = [];
    const add = () => {
      const flush = () => clock.advance(limits.sliceMs);
      outbox.add(outbox.queueFor(new Connection('', log).writer), { flush });
    };
    outbox.crowd();
    assert.equal(outbox.busy, undefined, 'nothing waits');
    for (let index = 0; index < 5; index++) add();
    const { busy } = outbox;
    assert.ok(busy);
    await busy;
    assert.equal(log.length, 5);
    add();
    assert.equal(outbox.busy, undefined, 'it is not too much');
    await turn();
    assert.equal(log.length, 6);
  });

  it('includes what is added during the flush, also by watches already flushed', async () => {
    const log: string[] = [];
    const outbox = new WatchOutbox(new ManualClock());
    const connection = new Connection('sent', log);
    const queue = outbox.queueFor(connection.writer);
    assert.equal(outbox.queueFor(connection.writer), queue);
    outbox.add(queue, {
      flush: () => {
        log.push('first');
        outbox.add(queue, { flush: () => log.push('second') });
      },
    });
    await turn();
    assert.deepEqual(log, ['first', 'sent sent', 'second', 'sent sent']);
  });
});
