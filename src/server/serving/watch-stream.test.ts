import assert from 'node:assert/strict';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { silentLogger } from '../../base/logger.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { once, until, within } from '../../base/waits-fixture.ts';
import type { CacheEntry, CacheEvent, Watcher, WatchSink } from '../../cache/cache.ts';
import { jsonLines } from '../../content/formats/event-framing.ts';
import { sendStatus } from '../../content/status.ts';
import type { WatchEncoding } from '../../content/watch-encoding.ts';
import type { Exchange } from '../../http/exchange.ts';
import { fetch2, readAll, type Started, start } from '../../http/listener-fixture.ts';
import { expired } from '../../meta/status-error.ts';
import { type WatchSource, WatchStreams } from './watch-stream.ts';

const json: WatchEncoding = {
  contentType: 'application/json',
  name: 'json',
  differsFirst: false,
  object: (entry) => entry.bytes,
  framing: jsonLines,
  bookmark: (revision, initialEventsEnd) => Buffer.from(JSON.stringify({ revision, initialEventsEnd })),
  status: (status) => Buffer.from(JSON.stringify(status)),
};

const entry = (name: string): CacheEntry =>
  ({ name, bytes: Buffer.from(JSON.stringify({ name })) }) as unknown as CacheEntry;

function event(type: CacheEvent['type'], name: string, revision = 1): CacheEvent {
  return { type, entry: entry(name), revision, encodings: new Map() };
}

/** The cache's side of a watch: queues events while the watch is full, as the cache does. */
class FakeWatcher implements Watcher {
  revision = 0;
  closed = 0;
  readonly queue: CacheEvent[] = [];
  readonly sink: WatchSink;
  #waiting = false;

  constructor(sink: WatchSink) {
    this.sink = sink;
  }

  emit(each: CacheEvent): void {
    this.queue.push(each);
    if (!this.#waiting) this.#deliver();
  }

  resume(): void {
    this.#waiting = false;
    this.#deliver();
  }

  #deliver(): void {
    for (let next = this.queue.shift(); next; next = this.queue.shift()) {
      if (this.sink.event(next)) continue;
      this.#waiting = true;
      return;
    }
  }

  close(): void {
    this.closed += 1;
  }
}

let clock: ManualClock;
let streams: WatchStreams;
let session: ClientHttp2Session;
let started: Started;
let source: Partial<WatchSource> = {};
let encoding: WatchEncoding = json;
let watchers: FakeWatcher[] = [];
const sessions: Exchange[] = [];

before(async () => {
  started = await start((exchange) => {
    sessions.push(exchange);
    const open = (sink: WatchSink) => {
      const watcher = new FakeWatcher(sink);
      watchers.push(watcher);
      return watcher;
    };
    const defaults = {
      initial: [],
      revision: 5,
      bookmarks: false,
      initialEventsEnd: false,
      timeoutMs: 3600_000,
      reached: () => Number.MAX_SAFE_INTEGER,
      start: open,
    };
    try {
      streams.serve(exchange, { ...defaults, ...source }, { encoding, counts: { sent() {} } });
    } catch (error) {
      sendStatus(exchange, error, { clock, logger: silentLogger });
    }
  });
  session = await started.http2();
});
after(() => started[Symbol.asyncDispose]());

beforeEach(() => {
  clock = new ManualClock();
  streams = new WatchStreams({ clock, logger: silentLogger });
  source = {};
  encoding = json;
  watchers = [];
});
afterEach(async () => {
  streams.close();
  await until(() => streams.open === 0);
  assert.equal(clock.pending, 0);
});

async function watch(): Promise<{ readonly stream: ClientHttp2Stream; readonly watcher: FakeWatcher }> {
  const stream = session.request({ ':path': '/' });
  await once(stream, 'response');
  return { stream, watcher: watchers.at(-1) as FakeWatcher };
}

const told = (body: Buffer): string[] =>
  body
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const { type, object } = JSON.parse(line);
      return `${type} ${object.name ?? object.reason ?? `${object.revision}${object.initialEventsEnd ? ' end' : ''}`}`;
    });

describe('a watch', () => {
  it('sends events in order, one per line, as they occur', async () => {
    const { stream, watcher } = await watch();
    watcher.emit(event('ADDED', 'a'));
    const [line] = await once(stream, 'data');
    assert.equal(line.toString(), '{"type":"ADDED","object":{"name":"a"}}\n');
    const rest = readAll(stream);
    watcher.emit(event('MODIFIED', 'a'));
    watcher.emit(event('DELETED', 'a'));
    streams.close();
    assert.deepEqual(told(await rest), ['MODIFIED a', 'DELETED a']);
    assert.equal(watcher.closed, 1);
  });

  it('sends its headers before there are events', async () => {
    const stream = session.request({ ':path': '/' });
    const [headers] = await once(stream, 'response');
    assert.deepEqual([headers[':status'], headers['content-type']], [200, 'application/json']);
    assert.equal(headers['cache-control'], 'no-cache, private');
  });

  for (const end of ['the client leaves', 'its time is over', 'the watcher is closed'] as const) {
    it(`gives up a large object when ${end}, and tells no bookmark before it`, async () => {
      const signals: AbortSignal[] = [];
      encoding = {
        ...json,
        elsewhere: {
          takes: ({ name }) => name === 'large',
          object: (_entry, _first, signal) => {
            signals.push(signal);
            return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
          },
        },
      };
      source = { bookmarks: true, timeoutMs: limits.bookmarkMs + 60_000 };
      const { stream, watcher } = await watch();
      watcher.emit(event('ADDED', 'small'));
      watcher.emit(event('ADDED', 'large'));
      watcher.emit(event('ADDED', 'after'));
      assert.deepEqual([signals.length, signals[0]?.aborted, watcher.queue.length], [1, false, 1]);
      await clock.advance(limits.bookmarkMs + 1_000);
      const body = readAll(stream);
      if (end === 'the client leaves') stream.close();
      else if (end === 'its time is over') await clock.advance(60_000);
      else watcher.sink.closed('slow');
      await until(() => streams.open === 0);
      assert.equal(signals[0]?.aborted, true);
      if (end !== 'the client leaves') assert.deepEqual(told(await body), ['ADDED small']);
    });
  }

  it('ends with the error of a large object that cannot be shown', async () => {
    encoding = {
      ...json,
      elsewhere: { takes: () => true, object: async () => Promise.reject(expired('none')) },
    };
    const { stream, watcher } = await watch();
    watcher.emit(event('ADDED', 'large'));
    assert.deepEqual(told(await readAll(stream)), ['ERROR Expired']);
    assert.equal(watcher.closed, 1);
  });

  it('encodes an event once for all watches with the same encoding', async () => {
    let encoded = 0;
    encoding = {
      ...json,
      object: (each) => {
        encoded += 1;
        return each.bytes;
      },
    };
    const all = [await watch(), await watch()];
    encoding = { ...encoding, name: 'other' };
    all.push(await watch());
    const shared = event('ADDED', 'a');
    for (const { watcher } of all) watcher.emit(shared);
    for (const { stream } of all) await once(stream, 'data');
    assert.equal(encoded, 2);
  });

  it('encodes the first object differently if required', async () => {
    const marked: WatchEncoding = {
      ...json,
      differsFirst: true,
      object: ({ name }, first) => Buffer.from(JSON.stringify({ name: first ? `${name} with columns` : name })),
    };
    encoding = marked;
    const { stream, watcher } = await watch();
    const shared = event('ADDED', 'b');
    for (const each of [event('ADDED', 'a'), shared]) watcher.emit(each);
    const late = await watch();
    late.watcher.emit(shared);
    source = { initial: [entry('x'), entry('y')] };
    const initial = await watch();
    await until(() => watchers.length === 3);
    streams.close();
    assert.deepEqual(told(await readAll(stream)), ['ADDED a with columns', 'ADDED b']);
    assert.deepEqual(told(await readAll(late.stream)), ['ADDED b with columns']);
    assert.deepEqual(told(await readAll(initial.stream)), ['ADDED x with columns', 'ADDED y']);
  });

  it('sends initial events, then their end, then live events', async () => {
    source = { initial: [entry('a'), entry('b')], initialEventsEnd: true, bookmarks: true };
    const { stream } = await watch();
    await until(() => watchers.length === 1);
    watchers[0]?.emit(event('ADDED', 'c'));
    streams.close();
    assert.deepEqual(told(await readAll(stream)), ['ADDED a', 'ADDED b', 'BOOKMARK 5 end', 'ADDED c']);
  });

  it('marks the end of an empty state', async () => {
    source = { initialEventsEnd: true };
    const { stream, watcher } = await watch();
    watcher.emit(event('ADDED', 'c'));
    streams.close();
    assert.deepEqual(told(await readAll(stream)), ['BOOKMARK 5 end', 'ADDED c']);
  });

  it('sends a large state no faster than it is read', async () => {
    let made = 0;
    let returned = false;
    function* large() {
      try {
        for (; made < 20_000; made += 1) yield entry(`${made}`.padEnd(1_000));
      } finally {
        returned = true;
      }
    }
    source = { initial: large() };
    const { stream } = await watch();
    let seen = -1;
    while (made > seen) {
      seen = made;
      for (let turn = 0; turn < 30; turn += 1) await new Promise(setImmediate);
    }
    assert.ok(made < 5_000, `${made} were made and nobody read`);
    assert.equal(watchers.length, 0, 'the watch is opened when the state has been told');
    const body = readAll(stream);
    await until(() => watchers.length === 1);
    watchers[0]?.emit(event('DELETED', 'last'));
    streams.close();
    const lines = told(await body);
    assert.deepEqual([lines.length, lines.at(-1), returned], [20_001, 'DELETED last', true]);
  });

  it('stops sending a state to a client that left', async () => {
    let returned = false;
    function* endless() {
      try {
        for (;;) yield entry('x'.repeat(1_000));
      } finally {
        returned = true;
      }
    }
    source = { initial: endless() };
    const { stream } = await watch();
    stream.on('error', () => {});
    stream.destroy(new Error('gone'));
    await until(() => returned);
    assert.equal(watchers.length, 0);
  });

  it('batches simultaneous events into one write', async () => {
    const { stream, watcher } = await watch();
    for (let count = 0; count < 100; count += 1) watcher.emit(event('ADDED', `${count}`));
    const [chunk] = await once(stream, 'data');
    assert.equal(told(chunk).length, 100);
  });

  it('is closed when the client leaves', async () => {
    const { stream, watcher } = await watch();
    stream.on('error', () => {});
    stream.destroy(new Error('gone'));
    await until(() => watcher.closed > 0);
    assert.equal(streams.open, 0);
    watcher.emit(event('ADDED', 'late'));
  });

  it('that cannot be opened is an error response', async () => {
    source = {
      start() {
        throw expired('too old');
      },
    };
    const { status, body } = await fetch2(session, '/');
    assert.deepEqual([status, JSON.parse(body.toString()).reason], [410, 'Expired']);
    assert.equal(streams.open, 0);
  });

  it('that cannot be opened after its state ends with an ERROR event', async () => {
    source = {
      initial: [entry('a')],
      start() {
        throw expired('too old');
      },
    };
    const { status, body } = await fetch2(session, '/');
    assert.equal(status, 200);
    assert.deepEqual(told(body), ['ADDED a', 'ERROR Expired']);
  });

  it('whose state cannot be read ends with an ERROR event without secrets', async () => {
    source = {
      initial: (function* () {
        yield entry('a');
        throw new Error('secret');
      })(),
    };
    const { body } = await fetch2(session, '/');
    assert.match(body.toString(), /"type":"ERROR".*InternalError/);
    assert.ok(!body.includes('secret'));
  });

  it('ends with an ERROR event if history is lost, and cleanly otherwise', async () => {
    for (const [reason, last] of [
      ['compacted', ['ADDED a', 'ERROR Expired']],
      ['slow', ['ADDED a']],
      ['closed', ['ADDED a']],
    ] as const) {
      const { stream, watcher } = await watch();
      watcher.emit(event('ADDED', 'a'));
      watcher.sink.closed(reason);
      assert.deepEqual(told(await readAll(stream)), last);
    }
  });

  it('ends even if it is closed while it opens', async () => {
    for (const [reason, initial, last] of [
      ['closed', [], []],
      ['slow', [], []],
      ['compacted', [], ['ERROR Expired']],
      ['closed', [entry('a')], ['ADDED a']],
    ] as const) {
      source = {
        initial,
        initialEventsEnd: true,
        start(sink) {
          sink.closed(reason);
          return new FakeWatcher(sink);
        },
      };
      const stream = session.request({ ':path': '/' });
      assert.deepEqual(told(await within(readAll(stream), 'the watch stays open')), last);
    }
  });

  it('is refused while the server stops', async () => {
    streams.close();
    const { status, headers } = await fetch2(session, '/');
    assert.deepEqual([status, headers['retry-after']], [503, '1']);
  });
});

describe('time', () => {
  it('ends a watch, with a final bookmark if requested', async () => {
    for (const bookmarks of [false, true]) {
      source = { timeoutMs: 10_000, bookmarks };
      const { stream, watcher } = await watch();
      watcher.revision = 42;
      clock.advance(9_700);
      assert.equal(streams.open, 1);
      clock.advance(500);
      assert.deepEqual(told(await readAll(stream)), bookmarks ? ['BOOKMARK 42'] : []);
      assert.equal(watcher.closed, 1);
      await until(() => streams.open === 0);
    }
  });

  it('triggers bookmarks, after the events that they cover', async () => {
    source = { bookmarks: true };
    const { stream, watcher } = await watch();
    const body = readAll(stream);
    watcher.revision = 7;
    clock.advance(limits.bookmarkMs + 250);
    watcher.emit(event('ADDED', 'a', 8));
    watcher.revision = 8;
    await new Promise(setImmediate);
    clock.advance(limits.bookmarkMs + 250);
    clock.advance(limits.bookmarkMs / 2);
    streams.close();
    assert.deepEqual(told(await body), ['BOOKMARK 7', 'ADDED a', 'BOOKMARK 8']);
  });

  it('triggers no bookmark of a future version', async () => {
    let reached = 6;
    source = { bookmarks: true, timeoutMs: 4 * limits.bookmarkMs, reached: () => reached };
    const { stream, watcher } = await watch();
    const body = readAll(stream);
    watcher.revision = 7;
    clock.advance(limits.bookmarkMs + 250);
    await new Promise(setImmediate);
    reached = 7;
    clock.advance(limits.bookmarkMs + 250);
    await new Promise(setImmediate);
    watcher.revision = 8;
    clock.advance(2 * limits.bookmarkMs);
    assert.deepEqual(told(await body), ['BOOKMARK 7']);
  });

  it('needs one timer for all watches, and none without watches', async () => {
    for (let count = 0; count < 10; count += 1) await watch();
    assert.equal(clock.pending, 1);
    streams.close();
    await until(() => streams.open === 0);
    assert.equal(clock.pending, 0);
  });
});

describe('a client that does not read', () => {
  it('holds a bounded buffer, and gets everything when it reads on', async () => {
    streams = new WatchStreams({ clock, logger: silentLogger, bufferBytesMax: 100_000 });
    source = { bookmarks: true };
    const { stream, watcher } = await watch();
    const count = 3_000;
    for (let sent = 0; sent < count; sent += 1) {
      watcher.emit(event('ADDED', `${sent}`.padEnd(500)));
      if (sent % 10 === 0) await new Promise(setImmediate);
    }
    assert.ok(watcher.queue.length > 1_000, 'what is not taken waits in the cache');
    clock.advance(limits.bookmarkMs * 2);
    const body = readAll(stream);
    await until(() => watcher.queue.length === 0);
    streams.close();
    const lines = told(await body);
    assert.deepEqual(
      lines.map((line) => line.trim()),
      Array.from({ length: count }, (_, at) => `ADDED ${at}`),
    );
  });

  it('costs the others nothing', async () => {
    streams = new WatchStreams({ clock, logger: silentLogger, bufferBytesMax: 100_000 });
    const stalled = await watch();
    const reading = await watch();
    const body = readAll(reading.stream);
    for (let sent = 0; sent < 2_000; sent += 1) {
      const each = event('ADDED', `${sent}`.padEnd(500));
      stalled.watcher.emit(each);
      reading.watcher.emit(each);
      if (sent % 50 === 0) await new Promise(setImmediate);
    }
    await until(() => reading.watcher.queue.length === 0);
    stalled.watcher.sink.closed('slow');
    reading.watcher.sink.closed('closed');
    assert.equal(told(await body).length, 2_000);
    stalled.stream.resume();
    await once(stalled.stream, 'close');
  });
});
