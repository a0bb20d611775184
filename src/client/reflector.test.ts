import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { silentLogger } from '../base/logger.ts';
import { noJitter } from '../base/time/backoff-fixture.ts';
import { ManualClock } from '../base/time/clock.ts';
import { until } from '../base/waits-fixture.ts';
import { ApiClient } from './api-client.ts';
import { reflect } from './reflector.ts';
import { type OpenStream, ScriptedServer } from './scripted-server-fixture.ts';

const object = (name: string, version: number) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, resourceVersion: String(version) },
});
const listOf = (version: number, ...names: readonly string[]) => ({
  metadata: { resourceVersion: String(version) },
  items: names.map((name) => object(name, version)),
});
const statusOf = (code: number, reason: string) => ({
  kind: 'Status',
  status: 'Failure',
  code,
  reason,
  message: reason,
});
const watchFrom = (version: number): string =>
  `GET /c?watch=true&allowWatchBookmarks=true&timeoutSeconds=480&resourceVersion=${version}`;
const list = 'GET /c?limit=50';

class Reflected implements AsyncDisposable {
  readonly server = new ScriptedServer();
  readonly clock = new ManualClock();
  /** Callbacks as one word each: `[a,b]` for a list, `ADDED c` for an event. */
  readonly told: string[] = [];
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  constructor(path = '/c', skip?: (line: Buffer) => boolean) {
    this.#done = reflect<string>({
      client: new ApiClient(this.server, 'test'),
      path,
      clock: this.clock,
      random: noJitter,
      logger: silentLogger,
      signal: this.#stop.signal,
      select: ({ metadata }) => metadata.name ?? '',
      listed: (names) => void this.told.push(`[${names}]`),
      changed: ({ type, object }) => void this.told.push(`${type} ${object.metadata.name}`),
      ...(skip && { skip }),
    });
  }

  /** Runs everything that does not wait for the clock. */
  async settle(): Promise<void> {
    for (let turns = 0; turns < 10; turns++) await turn();
  }

  /** Serves one list and returns the watch that follows. */
  async begin(version: number, ...names: readonly string[]): Promise<OpenStream> {
    this.server.answer(200, listOf(version, ...names));
    const stream = this.server.stream();
    await this.settle();
    return stream;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error('the test is over'));
    await this.#done;
    assert.equal(this.clock.pending, 0);
  }
}

describe('the reflector', () => {
  it('lists, then watches from there', async () => {
    await using reflected = new Reflected();
    const stream = await reflected.begin(5, 'a', 'b');
    stream.event('ADDED', object('c', 6)).event('MODIFIED', object('a', 7)).event('DELETED', object('b', 8));
    await reflected.settle();
    assert.deepEqual(reflected.told, ['[a,b]', 'ADDED c', 'MODIFIED a', 'DELETED b']);
    assert.deepEqual(reflected.server.requests, [list, watchFrom(5)]);
  });

  it('keeps its selectors in every request', async () => {
    await using reflected = new Reflected('/c?fieldSelector=x%3Dy');
    await reflected.begin(5);
    assert.match(reflected.server.requests[0] ?? '', /\?fieldSelector=x%3Dy&limit=50$/);
    assert.match(reflected.server.requests[1] ?? '', /\?fieldSelector=x%3Dy&watch=true&/);
  });

  it('reads all pages of a list before it reports it', async () => {
    await using reflected = new Reflected();
    const { server } = reflected;
    server.answer(200, { ...listOf(5, 'a'), metadata: { resourceVersion: '5', continue: 't=1' } });
    await reflected.settle();
    assert.deepEqual(reflected.told, []);
    server.answer(200, listOf(5, 'b'));
    server.stream();
    await reflected.settle();
    assert.deepEqual(reflected.told, ['[a,b]']);
    assert.deepEqual(server.requests, [list, 'GET /c?limit=200&continue=t%3D1', watchFrom(5)]);
  });

  it('restarts the list if its continue token has expired', async () => {
    await using reflected = new Reflected();
    const { server, clock } = reflected;
    server.answer(200, { ...listOf(5, 'a'), metadata: { resourceVersion: '5', continue: 't' } });
    server.answer(410, statusOf(410, 'Expired'));
    await reflected.settle();
    clock.advance(100);
    await reflected.begin(9, 'b');
    assert.deepEqual(reflected.told, ['[b]']);
  });

  it('resumes where a watch ended', async () => {
    await using reflected = new Reflected();
    const stream = await reflected.begin(5);
    stream.event('ADDED', object('a', 6)).end();
    reflected.server.stream();
    await reflected.settle();
    assert.deepEqual(reflected.server.requests, [list, watchFrom(5), watchFrom(6)]);
  });

  it('resumes from a bookmark, which is not reported', async () => {
    await using reflected = new Reflected();
    const stream = await reflected.begin(5);
    stream.event('BOOKMARK', object('', 50)).end();
    reflected.server.stream();
    await reflected.settle();
    assert.deepEqual(reflected.told, ['[]']);
    assert.deepEqual(reflected.server.requests.at(-1), watchFrom(50));
  });

  it('resumes where a watch broke, after a pause', async () => {
    await using reflected = new Reflected();
    const stream = await reflected.begin(5);
    stream.event('ADDED', object('a', 6)).break();
    await reflected.settle();
    assert.equal(reflected.server.requests.length, 2);
    reflected.clock.advance(100);
    reflected.server.stream();
    await reflected.settle();
    assert.deepEqual(reflected.server.requests.at(-1), watchFrom(6));
  });

  for (const [how, expire] of [
    ['the watch is refused', undefined],
    ['the watch ends with it', (stream: OpenStream) => stream.event('ERROR', statusOf(410, 'Expired'))],
  ] as const) {
    it(`lists again when history is too short: ${how}`, async () => {
      await using reflected = new Reflected();
      reflected.server.answer(200, listOf(5, 'a'));
      if (expire) expire(reflected.server.stream());
      else reflected.server.answer(410, statusOf(410, 'Gone'));
      await reflected.settle();
      reflected.clock.advance(100);
      const stream = await reflected.begin(90, 'a', 'b');
      stream.event('ADDED', object('c', 91));
      await reflected.settle();
      assert.deepEqual(reflected.told, ['[a]', '[a,b]', 'ADDED c']);
    });
  }

  it('lists again after repeated failures at one version', async () => {
    await using reflected = new Reflected();
    reflected.server.answer(200, listOf(5));
    for (let failures = 0; failures < 3; failures++) {
      reflected.server.answer(500, statusOf(500, 'InternalError'));
      await reflected.settle();
      reflected.clock.advance(1_000);
      await reflected.settle();
    }
    assert.deepEqual(reflected.server.requests, [list, watchFrom(5), watchFrom(5), watchFrom(5), list]);
  });

  it('backs off up to ten seconds while the server is unavailable', async () => {
    await using reflected = new Reflected();
    const pauses: number[] = [];
    for (let failures = 1; failures <= 8; failures++) {
      const before = reflected.clock.now();
      reflected.server.drop();
      await reflected.settle();
      await until(() => {
        if (reflected.server.requests.length === failures) reflected.clock.advance(100);
        return reflected.server.requests.length > failures;
      }, 'it asks no more');
      pauses.push(reflected.clock.now() - before);
    }
    assert.deepEqual(pauses, [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000]);
  });

  it('pauses between watches that end at once', async () => {
    await using reflected = new Reflected();
    reflected.server.answer(200, listOf(5));
    reflected.server.stream().end();
    reflected.server.stream().end();
    await reflected.settle();
    // The first watch made no progress, but it followed a list.
    assert.ok(reflected.server.requests.length <= 3);
    const { length } = reflected.server.requests;
    await reflected.settle();
    assert.equal(reflected.server.requests.length, length);
  });

  it('does not parse skipped events', async () => {
    await using reflected = new Reflected('/c', (line) => line.includes('"boring"'));
    const stream = await reflected.begin(5);
    stream.write('{"type":"ADDED", not even JSON "boring"\n').event('ADDED', object('a', 7));
    await reflected.settle();
    assert.deepEqual(reflected.told, ['[]', 'ADDED a']);
  });

  it('ends the watch when it is stopped', async () => {
    const reflected = new Reflected();
    const stream = await reflected.begin(5);
    await reflected[Symbol.asyncDispose]();
    assert.ok(stream.left);
  });
});
