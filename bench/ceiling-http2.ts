/**
 * The ceiling of what is read: a program that answers bytes which it was given, over node:http2's raw streams (and over
 * node:https for HTTP/1.1), and does nothing else. Whoever started it tells it what to answer by messages.
 */

import type { ServerResponse } from 'node:http';
import { createSecureServer, type ServerHttp2Stream } from 'node:http2';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Canned, CeilingMessage, CeilingPorts } from './ceiling.ts';

const canned = new Map<string, Canned>();
const watchers = new Set<ServerHttp2Stream>();
let event = Buffer.alloc(0);
let awaited = { count: Number.NaN, reached: () => {} };

function onStream(stream: ServerHttp2Stream, path: string): void {
  stream.on('error', () => {});
  const answer = canned.get(path);
  if (!answer) {
    stream.close();
    return;
  }
  const headers = [':status', String(answer.status), ...answer.headers];
  if (answer.watch) {
    stream.respond(headers);
    watchers.add(stream);
    if (watchers.size === awaited.count) awaited.reached();
    stream.on('close', () => watchers.delete(stream));
    return;
  }
  if (answer.emits) {
    stream.on('end', () => emit(stream, headers, answer.body));
    return;
  }
  stream.respond(headers);
  if (answer.body.length <= chunkBytes) stream.end(answer.body);
  else writeChunks(stream, answer.body, 0);
}

/** What goes fastest: longer and shorter writes were slower. */
const chunkBytes = 256 * 1024;

function writeChunks(stream: ServerHttp2Stream, body: Buffer, from: number): void {
  let at = from;
  while (at + chunkBytes < body.length) {
    const more = stream.write(body.subarray(at, at + chunkBytes));
    at += chunkBytes;
    if (!more) {
      stream.once('drain', () => writeChunks(stream, body, at));
      return;
    }
  }
  stream.end(body.subarray(at));
}

/** Sends the event to all watchers, and answers. */
function emit(stream: ServerHttp2Stream, headers: string[], body: Buffer): void {
  stream.respond(headers);
  stream.end(body);
  for (const watcher of watchers) watcher.write(event);
}

function onRequest(path: string, response: ServerResponse): void {
  const answer = canned.get(path);
  response.sendDate = false;
  response.writeHead(answer?.status ?? 404, [...(answer?.headers ?? [])]);
  response.end(answer?.body);
}

function listen({ cert, key }: CeilingMessage & { readonly type: 'listen' }): void {
  const options = { cert, key };
  const http2 = createSecureServer({ ...options, settings: { maxConcurrentStreams: 100 } });
  http2.on('session', (session) => session.on('error', () => {}));
  http2.on('stream', (stream: ServerHttp2Stream, headers) => {
    if (headers[':method'] !== 'GET') stream.resume();
    onStream(stream, headers[':path'] ?? '');
  });
  const http1 = createServer(options, (request, response) => onRequest(request.url ?? '', response));
  http2.listen(0, '127.0.0.1', () => {
    http1.listen(0, '127.0.0.1', () => {
      const portOf = (address: AddressInfo | string | null): number =>
        typeof address === 'object' && address ? address.port : 0;
      const ports: CeilingPorts = { http2: portOf(http2.address()), http1: portOf(http1.address()) };
      process.send?.(ports);
    });
  });
}

process.on('message', (message: CeilingMessage) => {
  switch (message.type) {
    case 'listen':
      return listen(message);
    case 'answer':
      canned.set(message.path, message.answer);
      break;
    case 'event':
      event = Buffer.from(message.event);
      break;
    case 'watchers':
      if (watchers.size >= message.count) break;
      awaited = { count: message.count, reached: () => process.send?.('done') };
      return;
  }
  process.send?.('done');
});
process.on('disconnect', () => process.exit());
// An orderly end, so that a profile is written.
process.on('SIGTERM', () => process.exit());
