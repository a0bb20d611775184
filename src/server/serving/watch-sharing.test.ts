import assert from 'node:assert/strict';

import { request as httpsRequest } from 'node:https';
import { after, before, test } from 'node:test';
import { silentLogger } from '../../base/logger.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { once, until } from '../../base/waits-fixture.ts';
import type { CacheEntry, CacheEvent, Watcher, WatchSink } from '../../cache/cache.ts';
import type { Negotiated } from '../../content/negotiation.ts';
import { Representation } from '../../content/representation.ts';
import type { WatchEncoding } from '../../content/watch-encoding.ts';
import { orch } from '../../dialect/orch.ts';
import { ca, readAll, type Started, start } from '../../http/listener-fixture.ts';
import { opcodes } from '../../http/websocket/frames.ts';
import { clientFrame } from '../../http/websocket/websocket-fixture.ts';
import { RegistryFixture } from '../../registry/registry-fixture.ts';
import type { ServedResource } from '../../resources/resource.ts';
import { WatchStreams } from './watch-stream.ts';

const path = '/api/v1/namespaces/n/configmaps';
const clock = new ManualClock();
const representation = new Representation(orch, clock);

let fixture: RegistryFixture;
let started: Started;
let served: ServedResource;
let entries: readonly CacheEntry[] = [];
const streams = new WatchStreams({ clock, logger: silentLogger });
/** Form of the next watch. */
let negotiated: Negotiated | undefined;
/** True if it begins with a state and marks its end. */
let withState = false;
let watchers: PausedWatcher[] = [];
/** Names of the objects that are encoded on the second thread. */
let large: readonly string[] = [];

/** The cache's side of a watch: queues events while the watch is full. */
class PausedWatcher implements Watcher {
  revision = 0;
  readonly sink: WatchSink;
  readonly #queue: CacheEvent[] = [];
  #paused = false;

  constructor(sink: WatchSink) {
    this.sink = sink;
  }

  /** True if all events were delivered and the watch accepts more. */
  get idle(): boolean {
    return this.#queue.length === 0 && !this.#paused;
  }

  tell(event: CacheEvent): void {
    this.#queue.push(event);
    this.#deliver();
  }

  resume(): void {
    this.#paused = false;
    this.#deliver();
  }

  #deliver(): void {
    while (!this.#paused) {
      const event = this.#queue.shift();
      if (!event) return;
      this.#paused = !this.sink.event(event);
    }
  }

  close(): void {}
}

before(async () => {
  fixture = await RegistryFixture.open({ clock });
  for (const name of ['a', 'b', 'c']) {
    await fixture.call('POST', path, { metadata: { name }, data: { key: name.repeat(2_000) } });
  }
  served = fixture.served(path);
  entries = [...served.collection.snapshot().entries(served.collectionKey('n'))];
  const handle: Parameters<typeof start>[0] = async (exchange) => {
    // Like a callback after a store read: writes made now go out before Node's own callbacks run.
    await undefined;
    const { webSocket } = exchange;
    streams.serve(
      exchange,
      {
        initial: withState ? entries : [],
        revision: 5,
        bookmarks: false,
        initialEventsEnd: withState,
        timeoutMs: 3600_000,
        reached: () => 0,
        start: (sink) => {
          const watcher = new PausedWatcher(sink);
          watchers.push(watcher);
          return watcher;
        },
      },
      {
        encoding: encodingOf(negotiated as Negotiated, webSocket && { request: webSocket, protocol: undefined }),
        counts: { sent() {} },
      },
    );
  };
  started = await start(handle, { upgrades: (target) => target.startsWith('/socket') });
});
after(async () => {
  streams.close();
  await started[Symbol.asyncDispose]();
  await fixture[Symbol.asyncDispose]();
});

function encodingOf(form: Negotiated, webSocket?: WatchEncoding['webSocket']): WatchEncoding {
  const presentation = representation.presentation(form, served.kind, new URLSearchParams());
  return representation.watchEncoding(served, presentation, {
    webSocket,
    elsewhere: {
      takes: ({ name }) => large.includes(name),
      async object({ bytes }, first) {
        await turn();
        return representation.eventObject(bytes, presentation, first);
      },
    },
  });
}

const json: Negotiated = {
  format: 'json',
  as: 'object',
  metaVersion: 'meta.orch.io/v1',
  mediaType: 'application/json',
  pretty: false,
};
const protobuf: Negotiated = { ...json, format: 'protobuf', mediaType: 'application/vnd.kubernetes.protobuf' };
const forms: readonly (readonly [what: string, form: Negotiated])[] = [
  ['JSON', json],
  ['JSON for people', { ...json, pretty: true }],
  ['metadata in JSON', { ...json, as: 'PartialObjectMetadata' }],
  ['tables in JSON', { ...json, as: 'Table' }],
  ['protobuf', protobuf],
  ['metadata in protobuf', { ...protobuf, as: 'PartialObjectMetadata' }],
];

/** What a client received by the end of the watch. */
type Received = () => Promise<Buffer>;

/** Opens a watch over each protocol. */
const protocols: readonly (readonly [what: string, open: () => Promise<Received>, messages: boolean])[] = [
  [
    'HTTP/2',
    async () => {
      const stream = (await started.http2()).request({ ':path': '/' });
      await once(stream, 'response');
      return () => readAll(stream);
    },
    false,
  ],
  [
    'HTTP/1.1',
    async () => {
      const request = httpsRequest({ host: '127.0.0.1', port: started.listener.port, ca, path: '/', agent: false });
      request.end();
      const [response] = await once(request, 'response');
      assert.equal(response.headers['transfer-encoding'], 'chunked');
      return () => readAll(response);
    },
    false,
  ],
  ['HTTP/1.1 without chunks', () => openRaw('GET / HTTP/1.0\r\nhost: a\r\n\r\n'), false],
  [
    'a WebSocket',
    async () => {
      const lines = ['connection: Upgrade', 'upgrade: websocket', 'sec-websocket-version: 13'];
      const key = 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==';
      const received = await openRaw(['GET /socket HTTP/1.1', 'host: a', ...lines, key, '', ''].join('\r\n'));
      return async () => {
        const bytes = await received();
        assert.deepEqual(bytes.subarray(-closing.length), closing);
        return bytes.subarray(0, -closing.length);
      };
    },
    true,
  ],
];

/** The server's close frame. */
const closing = Buffer.from([0x88, 0x02, 0x03, 0xe8]);

/** Sends a raw request; resolves to everything after the response head until the connection ends. */
async function openRaw(request: string): Promise<Received> {
  const socket = await started.tls();
  let all = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    all = Buffer.concat([all, chunk]);
    if (all.subarray(-closing.length).equals(closing)) socket.write(clientFrame(opcodes.close));
  });
  const ended = once(socket, 'close');
  socket.write(request);
  await until(() => all.includes(headEnd));
  return async () => {
    await ended;
    return all.subarray(all.indexOf(headEnd) + headEnd.length);
  };
}

const headEnd = '\r\n\r\n';

function eventsOf(): readonly CacheEvent[] {
  const types = ['ADDED', 'MODIFIED', 'DELETED'] as const;
  return entries.flatMap((entry, at) =>
    types.map((type, number) => ({ type, entry, revision: 10 * at + number, encodings: new Map() })),
  );
}

/** The expected bytes of one watch alone, each event framed separately. */
function unshared(form: Negotiated, messages: boolean): Buffer {
  const socket = messages ? { request: undefined as never, protocol: undefined } : undefined;
  const { framing, object, bookmark } = encodingOf(form, socket);
  const state = withState ? entries.map((entry, at) => framing.frame('ADDED', object(entry, at === 0))) : [];
  const end = withState ? [framing.frame('BOOKMARK', bookmark(5, true))] : [];
  const events = eventsOf().map(({ type, entry }, at) => framing.frame(type, object(entry, !withState && at === 0)));
  return Buffer.concat([...state, ...end, ...events]);
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

for (const [what, form] of forms) {
  for (const [protocol, open, messages] of protocols) {
    for (const state of [false, true]) {
      for (const elsewhere of ['none', 'a', 'b', 'bc', 'abc']) {
        const from = state ? 'from a state' : 'from a version';
        test(`${what} over ${protocol}, ${from}, ${elsewhere} made elsewhere: shared as if alone`, async () => {
          negotiated = form;
          withState = state;
          watchers = [];
          large = elsewhere === 'none' ? [] : [...elsewhere];
          const watches = [await open(), await open(), await open()];
          await until(() => watchers.length === watches.length);
          const [first, second, late] = watchers;
          const events = eventsOf();
          for (const event of events) {
            first?.tell(event);
            second?.tell(event);
          }
          // The third watch gets the same events in other batches.
          for (const [at, event] of events.entries()) {
            late?.tell(event);
            if (at % 2 === 0) await turn();
          }
          await until(() => watchers.every(({ idle }) => idle));
          for (const { sink } of watchers) sink.closed('closed');
          const expected = unshared(form, messages);
          assert.ok(expected.length > 0);
          for (const received of await Promise.all(watches.map((received) => received()))) {
            assert.ok(received.equals(expected), `${received.length} bytes instead of ${expected.length}`);
          }
        });
      }
    }
  }
}
