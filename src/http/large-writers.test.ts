import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { once, until, within } from '../base/waits-fixture.ts';
import type { BodyWriter, Exchange } from './exchange.ts';
import { Sender } from './flood-gate.ts';
import { sendPieces } from './list-stream.ts';
import { ca, fetch2, readAll, type Started, start } from './listener-fixture.ts';
import { SharedChunk } from './shared-chunk.ts';

const { largeWritersMax, outputBytesSmall } = limits;
const part = Buffer.alloc(outputBytesSmall, 'abcdefg');

/** Sends a request on a connection of its own. Returns how to close it. */
const requests: Readonly<Record<string, (started: Started) => Promise<() => void>>> = {
  async h2(started) {
    const session = await started.http2();
    session.request({ ':path': '/' }).on('error', () => {});
    return () => session.destroy();
  },
  async 'http/1.1'(started) {
    const socket = await started.tls();
    socket.resume().write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    return () => socket.destroy();
  },
};

/** Sends a request and reads the body of its response. */
const bodies: Readonly<Record<string, (started: Started) => Promise<Buffer>>> = {
  h2: async (started) => (await fetch2(await started.http2(), '/')).body,
  async 'http/1.1'({ listener }) {
    const request = get({ host: '127.0.0.1', port: listener.port, ca, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return readAll(response);
  },
};

it('a writer over http/1.1 is not behind because of what others share with it', async () => {
  const sender = new Sender();
  sender.largeWriters = largeWritersMax;
  const writers: BodyWriter[] = [];
  await using started = await start((exchange) => {
    exchange.sentBy?.(sender);
    writers.push(exchange.stream(200, {}));
  });
  const socket = await started.tls();
  socket.pause().write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  await until(() => writers.length > 0);
  const writer = writers[0] as BodyWriter;
  assert.equal(writer.write(Buffer.alloc(8 * 1024 * 1024)), false);
  await new Promise(setImmediate);
  writer.writeShared?.(new SharedChunk(part));
  assert.ok(writer.buffered > part.length, 'a client that does not read takes all');
  socket.resume();
  await until(() => writer.buffered === 0);
  await within(writer.drained(), 'nothing is left to be taken');
});

for (const protocol of ['h2', 'http/1.1']) {
  describe(`over ${protocol}, connections of one sender`, () => {
    it('beyond so many write little at once, until another closes', async () => {
      const sender = new Sender();
      const writers: BodyWriter[] = [];
      await using started = await start((exchange) => {
        exchange.sentBy?.(sender);
        writers.push(exchange.stream(200, {}));
      });
      const open = async () => {
        const before = writers.length;
        const close = await requests[protocol]?.(started);
        await until(() => writers.length > before);
        return { writer: writers[before] as BodyWriter, close };
      };
      const first = await open();
      assert.equal(first.writer.write(part), true);
      for (let n = 1; n < largeWritersMax; n++) assert.equal((await open()).writer.write(part), true);
      const { writer } = await open();
      assert.equal(writer.write('little'), true);
      assert.equal(writer.write(part), false);
      await writer.drained();
      assert.equal(writer.write('little'), true);
      first.close?.();
      await until(() => sender.largeWriters < largeWritersMax);
      assert.equal(writer.write(part), true);
    });

    it('that write little at once send whole bodies', async () => {
      const sender = new Sender();
      sender.largeWriters = largeWritersMax;
      const send = async (exchange: Exchange): Promise<void> => {
        exchange.sentBy?.(sender);
        const writer = exchange.stream(200, {});
        for (let n = 0; n < 20; n++) {
          assert.equal(writer.write(part), false);
          await writer.drained();
        }
        writer.end('end');
      };
      await using started = await start((exchange) => void send(exchange).catch(() => exchange.destroy()));
      const body = await bodies[protocol]?.(started);
      assert.ok(body?.equals(Buffer.concat([...Array<Buffer>(20).fill(part), Buffer.from('end')])));
    });

    it('that write little at once send whole responses', async () => {
      const sender = new Sender();
      sender.largeWriters = largeWritersMax;
      let sent: Exchange | undefined;
      const content = Buffer.concat(Array<Buffer>(30).fill(part));
      await using started = await start((exchange) => {
        sent = exchange;
        exchange.sentBy?.(sender);
        exchange.respond(200, {}, content);
        assert.ok(exchange.unsent > content.length - 3 * part.length, 'what waits counts as unsent');
      });
      const body = await bodies[protocol]?.(started);
      assert.ok(body?.equals(content));
      await until(() => sent?.ending === 'complete');
      assert.equal(sent?.bodyBytes, content.length);
    });

    it('that write little at once have lists made little by little', async () => {
      let sender = new Sender();
      const lengths = new Set<number>();
      await using started = await start((exchange) => {
        exchange.sentBy?.(sender);
        const { stream } = exchange;
        exchange.stream = (status, headers) => {
          const writer = stream.call(exchange, status, headers);
          const { write } = writer;
          writer.write = (chunk, taken) => {
            lengths.add(chunk.length);
            return write.call(writer, chunk, taken);
          };
          return writer;
        };
        const pieces = Array<Buffer>(1_000).fill(Buffer.alloc(1_000, 'a'));
        void sendPieces(exchange, pieces, { status: 200, contentType: 'text/plain' });
      });
      for (const largeWriters of [0, largeWritersMax]) {
        sender = new Sender();
        sender.largeWriters = largeWriters;
        lengths.clear();
        const body = await bodies[protocol]?.(started);
        assert.equal(body?.length, 1_000_000);
        assert.equal(Math.max(...lengths) > outputBytesSmall, largeWriters === 0);
      }
    });
  });
}
