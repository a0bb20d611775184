import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { until } from '../../base/waits-fixture.ts';
import type { BodyWriter, Exchange } from '../exchange.ts';
import { getFrame, sessions } from './session-fixture.ts';

/** Time stands still until `hurries` is set; then every slice is over as soon as it began. */
class HurriedClock extends ManualClock {
  hurries = false;
  #passed = 0;

  override monotonic(): number {
    if (this.hurries) this.#passed += limits.turnMs;
    return super.monotonic() + this.#passed;
  }
}

const connections = 4;
const streams = 12;

test('requests of connections that close together end in slices of time, all of them', async () => {
  const clock = new HurriedClock();
  const open = new Map<Exchange, BodyWriter>();
  /** How many ended, by turn of the event loop. */
  const ended = new Map<number, number>();
  let turn = 0;
  let counting = true;
  const count = () => {
    turn += 1;
    if (counting) setImmediate(count);
  };
  const handle = (exchange: Exchange) => {
    open.set(exchange, exchange.stream(200, {}));
    exchange.onEnd(() => {
      open.delete(exchange);
      ended.set(turn, (ended.get(turn) ?? 0) + 1);
      assert.equal(exchange.signal.aborted, true);
      // What is written to the others meanwhile is lost, and does no harm.
      for (const writer of open.values()) writer.write(Buffer.from('x'));
    });
  };
  await using all = await sessions(handle, { clock });
  const clients = [];
  for (let each = 0; each < connections; each++) clients.push(await all.client());
  for (const client of clients) {
    for (let each = 0; each < streams; each++) client.send(getFrame(2 * each + 1));
  }
  await until(() => open.size === connections * streams);
  clock.hurries = true;
  count();
  for (const client of clients) client.socket.destroy();
  await until(() => open.size === 0);
  counting = false;
  // One at the end of a turn, and one at the beginning of the next.
  assert.ok(Math.max(...ended.values()) <= 2, `${[...ended.values()]} ended in one turn each`);
});
