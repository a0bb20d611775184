import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { OrchProcess } from '../support/orch-process.ts';
import { type Observed, WriteHistory } from './write-history.ts';

/**
 * Load and SIGKILL, over and over, on one data directory (`ORCH_CRASH_ROUNDS=200` for more). After each restart: no acknowledged write is missing, no
 * unacknowledged one is half there, revisions do not go back, and a watch resumed from its last revision misses and
 * repeats nothing.
 */
const rounds = Number(process.env['ORCH_CRASH_ROUNDS'] ?? 40);
const writers = 8;
const collection = '/api/v1/namespaces/default/configmaps';
const selector = 'labelSelector=crash';

interface ConfigMapList {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly Observed[];
}

test(`crash: ${rounds} rounds of load and SIGKILL`, { timeout: 20 * 60_000 }, async (t) => {
  await using server = await OrchProcess.start();
  const history = new WriteHistory();
  let lastSeen = 0;
  let watched = 0;
  for (let round = 0; round < rounds; round++) {
    const list = (await server.get<ConfigMapList>(`${collection}?${selector}`)).json;
    const revision = Number(list.metadata.resourceVersion);
    assert.ok(
      revision >= history.highestRevision,
      `round ${round}: revision ${revision} after ${history.highestRevision}`,
    );
    history.check(list.items, `round ${round}`);
    if (round > 0) watched += await resume(server, history, lastSeen, list);
    const watch = server.watch(`${collection}?watch=true&${selector}&resourceVersion=${revision}`);
    await watch.until(({ status }) => status === 200);
    let running = true;
    const load = Array.from({ length: writers }, (_, writer) => write(server, history, writer, () => running));
    await delay(60 + ((round * 37) % 150));
    const killed = server.kill();
    running = false;
    await Promise.all([killed, ...load]);
    lastSeen = Number(watch.events.at(-1)?.object.metadata.resourceVersion ?? revision);
    history.observe(list.items, watch.events, revision);
    watch.close();
    await server.restart();
  }
  t.diagnostic(
    `${history.acknowledged} writes acknowledged, ${history.unknown} cut off, ${watched} events after resumed watches`,
  );
  assert.ok(history.acknowledged > rounds, 'there was load');
});

/** One writer: creates, updates and deletes its own objects until the server is gone. */
async function write(
  server: OrchProcess,
  history: WriteHistory,
  writer: number,
  running: () => boolean,
): Promise<void> {
  while (running()) {
    const attempt = history.begin(writer);
    try {
      const answer =
        attempt.type === 'delete'
          ? await server.delete(`${collection}/${attempt.name}`)
          : attempt.type === 'create'
            ? await server.post(collection, attempt.object)
            : await server.put(`${collection}/${attempt.name}`, attempt.object);
      if (answer.status >= 400) throw new Error(`${attempt.type} ${attempt.name}: ${answer.status} ${answer.text}`);
      history.acknowledge(attempt, answer.json);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error; // an answer of the server, not a broken connection
      history.cutOff(attempt);
      return;
    }
  }
}

/** The events after `from` lead from what was seen then to what is there now, each once and in order. */
async function resume(server: OrchProcess, history: WriteHistory, from: number, list: ConfigMapList): Promise<number> {
  const until = Number(list.metadata.resourceVersion);
  const path = `${collection}?watch=true&${selector}&resourceVersion=${from}&allowWatchBookmarks=true&timeoutSeconds=1`;
  const watch = server.watch(path);
  const expected = history.expected(list.items);
  await watch.until((current) => current.ended || history.leadsTo(current.events, expected));
  history.checkResumed(watch.events, from, until, expected);
  watch.close();
  return watch.events.filter(({ type }) => type !== 'BOOKMARK').length;
}
