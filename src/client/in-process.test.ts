import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { limits } from '../base/limits.ts';
import { ManualClock } from '../base/time/clock.ts';
import { ClientGone } from '../http/base-exchange.ts';
import type { Exchange } from '../http/exchange.ts';
import { inProcessTransport } from './in-process.ts';

test('requests that are sent at once begin in turns that are none too long, and in their order', async () => {
  const clock = new ManualClock();
  const requestMs = 4;
  const perTurnMax = Math.ceil(limits.turnMs / requestMs);
  let turn = 0;
  let counts = true;
  const count = async (): Promise<void> => {
    for (; counts; turn++) await nextTurn();
  };
  const counting = count();
  const begun: { readonly target: string; readonly turn: number }[] = [];
  const transport = inProcessTransport(
    (exchange) => {
      clock.advance(requestMs);
      begun.push({ target: exchange.target, turn });
      exchange.respond(200, {}, exchange.target);
    },
    () => {},
    clock,
  );
  const targets = Array.from({ length: 20 }, (_, index) => `/${index}`);
  const answers = await Promise.all(targets.map((target) => transport.send({ method: 'GET', target })));
  counts = false;
  await counting;
  assert.ok(answers.every(({ status }) => status === 200));
  assert.deepEqual(
    begun.map(({ target }) => target),
    targets,
  );
  const perTurn = Map.groupBy(begun, (each) => each.turn);
  assert.ok(perTurn.size > 1);
  for (const [at, of] of perTurn) assert.ok(of.length <= perTurnMax, `${of.length} in turn ${at}`);
});

test('a client that gives up has gone, whatever its reason: that is no failure of the server', async () => {
  const handled = Promise.withResolvers<Exchange>();
  const transport = inProcessTransport(handled.resolve, () => {}, new ManualClock());
  const controller = new AbortController();
  const answer = transport.send({ method: 'GET', target: '/', signal: controller.signal });
  const exchange = await handled.promise;
  const reason = new Error('the controller was stopped');
  controller.abort(reason);
  await assert.rejects(answer, reason);
  assert.ok(exchange.signal.reason instanceof ClientGone);
});
