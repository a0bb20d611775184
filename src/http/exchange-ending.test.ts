import assert from 'node:assert/strict';
import { request as requestHttps } from 'node:https';
import { after, before, describe, it } from 'node:test';
import { within } from '../base/waits-fixture.ts';
import type { Ending, Exchange } from './exchange.ts';
import { ca, fetch2, type Started, start } from './listener-fixture.ts';
import { SharedChunk } from './shared-chunk.ts';

/** The outcome of an exchange, as observers of requests see it. */

let handle: (exchange: Exchange) => void = () => {};
let started: Started;
before(async () => {
  started = await start((exchange) => handle(exchange));
});
after(() => started[Symbol.asyncDispose]());

/** Sends one request and disconnects when the response has started, if `leaves`; otherwise waits for the end. */
type Send = (method: string, leaves: boolean) => Promise<void>;

const http2: Send = async (method, leaves) => {
  const session = await started.http2();
  if (leaves) {
    const stream = session.request({ ':path': '/', ':method': method });
    stream.on('error', () => {});
    stream.once('response', () => session.destroy());
  } else await fetch2(session, '/', { method }).finally(() => session.destroy());
};

const http1: Send = (method, leaves) =>
  new Promise((resolve) => {
    const options = { port: started.listener.port, host: '127.0.0.1', method, ca, agent: false as const };
    const request = requestHttps({ ...options, checkServerIdentity: () => undefined });
    request.on('error', () => {});
    request.on('close', resolve);
    request.on('response', (response) => {
      response.on('error', () => {});
      if (leaves) response.destroy();
      else response.resume();
    });
    request.end();
  });

interface Case {
  readonly what: string;
  readonly method?: string;
  readonly leaves?: boolean;
  readonly answer: (exchange: Exchange) => void;
  readonly outcome: readonly [status: number, bytes: number, ending: Ending];
}

const cases: readonly Case[] = [
  { what: 'a whole response', answer: (each) => each.respond(201, {}, 'ä'), outcome: [201, 2, 'complete'] },
  { what: 'one to HEAD', method: 'HEAD', answer: (each) => each.respond(200, {}, 'x'), outcome: [200, 0, 'complete'] },
  { what: 'one without a body', answer: (each) => each.respond(204, {}), outcome: [204, 0, 'complete'] },
  {
    what: 'one in parts',
    answer(each) {
      const writer = each.stream(200, {});
      writer.write('one');
      writer.write(Buffer.from('two'));
      writer.end('ä');
    },
    outcome: [200, 8, 'complete'],
  },
  {
    what: 'one in parts that others get too',
    answer(each) {
      const writer = each.stream(200, {});
      // Once the head of the response is on its way.
      setImmediate(() => {
        const chunk = new SharedChunk(Buffer.from('shared'));
        if (writer.writeShared) writer.writeShared(chunk);
        else writer.write(chunk.bytes);
        writer.end();
      });
    },
    outcome: [200, 6, 'complete'],
  },
  {
    what: 'one that its writer cuts off',
    answer(each) {
      const writer = each.stream(200, {});
      writer.write('one');
      writer.abort();
    },
    outcome: [200, 3, 'cutOff'],
  },
  { what: 'one cut off before it began', answer: (each) => each.destroy(), outcome: [0, 0, 'cutOff'] },
  {
    what: 'one whose client goes away',
    leaves: true,
    answer: (each) => void each.stream(200, {}).write('one'),
    outcome: [200, 3, 'clientGone'],
  },
];

for (const [protocol, send] of [
  ['HTTP/2.0', http2],
  ['HTTP/1.1', http1],
] as const) {
  describe(`the end of an exchange over ${protocol}`, () => {
    for (const { what, method = 'GET', leaves = false, answer, outcome } of cases) {
      it(what, async () => {
        const ended = Promise.withResolvers<readonly unknown[]>();
        const outcomeOf = (exchange: Exchange) => [exchange.status, exchange.bodyBytes, exchange.ending];
        handle = (exchange) => {
          assert.deepEqual(outcomeOf(exchange), [0, 0, undefined]);
          exchange.onEnd(() => ended.resolve(outcomeOf(exchange)));
          answer(exchange);
        };
        const [seen] = await Promise.all([within(ended.promise, 'ended: never'), send(method, leaves).catch(() => {})]);
        assert.deepEqual(seen, outcome);
      });
    }
  });
}
