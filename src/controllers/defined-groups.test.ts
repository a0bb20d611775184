import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLogger } from '../base/logger.ts';
import { noJitter } from '../base/time/backoff-fixture.ts';
import { ManualClock } from '../base/time/clock.ts';
import { until } from '../base/waits-fixture.ts';
import { ApiClient } from '../client/api-client.ts';
import { type OpenStream, ScriptedServer } from '../client/scripted-server-fixture.ts';
import { orch } from '../dialect/orch.ts';
import { DefinedGroups } from './defined-groups.ts';

const path = '/apis/apiextensions.orch.io/v1/customresourcedefinitions';
const definition = (name: string, version: number) => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.orch.io/v1',
  metadata: { name, resourceVersion: String(version) },
});
const listOf = (version: number, ...names: readonly string[]) => ({
  metadata: { resourceVersion: String(version) },
  items: names.map((name) => definition(name, version)),
});
const refusal = (code: number, reason: string) => ({
  kind: 'Status',
  status: 'Failure',
  code,
  reason,
  message: reason,
});

class Followed implements Disposable {
  readonly server = new ScriptedServer();
  readonly clock = new ManualClock();
  readonly logged: string[] = [];
  readonly groups: DefinedGroups;
  readonly #told: string[] = [];

  constructor() {
    const logger = { ...silentLogger, info: (message: string) => void this.logged.push(message) };
    const client = new ApiClient(this.server, 'tester');
    this.groups = new DefinedGroups({ client, clock: this.clock, random: noJitter, logger, dialect: orch });
  }

  listen(): void {
    this.groups.onChange((groups) => this.#told.push([...groups].join('+')));
  }

  /** Waits until this was reported, since the last call. */
  async tells(...groups: readonly string[]): Promise<void> {
    const expected = groups.join();
    await until(
      () => this.#told.join() === expected,
      () => `${expected}: ${this.#told.join()}`,
    );
    this.#told.length = 0;
  }

  async watched(): Promise<OpenStream> {
    const stream = this.server.stream();
    await until(
      () => this.server.requests.at(-1)?.includes('watch=true') === true,
      () => this.server.requests.join(),
    );
    return stream;
  }

  [Symbol.dispose](): void {
    this.groups.close();
  }
}

describe('groups of definitions on another server', () => {
  it('nothing is asked until somebody listens, and then for metadata only', async () => {
    using followed = new Followed();
    assert.equal(followed.server.requests.length, 0);
    followed.server.answer(200, listOf(1));
    followed.listen();
    followed.listen();
    await followed.watched();
    assert.deepEqual(
      followed.server.requests.map((request) => request.replace(/\?.*/, '')),
      [`GET ${path}`, `GET ${path}`],
    );
    for (const { headers } of followed.server.sent) {
      assert.match(headers?.['accept'] ?? '', /^application\/json;as=PartialObjectMetadataList;g=meta\.orch\.io;v=v1,/);
    }
  });

  it('each change is reported at once, and again a second later for a server that is behind', async () => {
    using followed = new Followed();
    followed.server.answer(200, listOf(1, 'cows.farm.example', 'ships.sea.example'));
    followed.listen();
    const watch = await followed.watched();
    await followed.tells('farm.example', 'sea.example');
    followed.clock.advance(999);
    await followed.tells();
    followed.clock.advance(1);
    await followed.tells('farm.example+sea.example');
    for (const [type, name, group] of [
      ['ADDED', 'pigs.farm.example', 'farm.example'],
      ['MODIFIED', 'pigs.farm.example', 'farm.example'],
      ['DELETED', 'ships.sea.example', 'sea.example'],
    ] as const) {
      watch.event(type, definition(name, 2 + followed.clock.now()));
      await followed.tells(group);
      followed.clock.advance(1_000);
      await followed.tells(group);
    }
  });

  it('after a break, those that changed meanwhile are reported', async () => {
    using followed = new Followed();
    followed.server.answer(200, listOf(1, 'cows.farm.example', 'ships.sea.example'));
    followed.listen();
    const watch = await followed.watched();
    followed.clock.advance(1_000);
    await followed.tells('farm.example', 'sea.example', 'farm.example+sea.example');
    followed.server.answer(200, { ...listOf(5, 'cows.farm.example'), items: [definition('cows.farm.example', 1)] });
    watch.event('ERROR', refusal(410, 'Expired'));
    await until(() => {
      followed.clock.advance(100);
      return followed.server.requests.length > 3;
    }, 'it is not listed again');
    await followed.tells('sea.example');
  });

  for (const [code, reason, logs] of [
    [403, 'Forbidden', 1],
    [404, 'NotFound', 1],
    [500, 'InternalError', 0],
  ] as const) {
    it(`while the answer is ${code}, nothing is reported; ${logs === 1 ? 'it is said once' : 'nothing is said'}`, async () => {
      using followed = new Followed();
      for (let attempt = 0; attempt < 3; attempt++) followed.server.answer(code, refusal(code, reason));
      followed.server.answer(200, listOf(1, 'cows.farm.example'));
      followed.listen();
      await until(() => {
        followed.clock.advance(100);
        return followed.server.requests.length > 3;
      }, 'it is not tried again');
      await until(() => {
        followed.clock.advance(10_000);
        return followed.server.requests.length > 4;
      }, 'it is not watched');
      assert.equal(followed.logged.length, logs);
    });
  }

  it('nothing is reported once it is closed', async () => {
    using followed = new Followed();
    followed.server.answer(200, listOf(1, 'cows.farm.example'));
    followed.listen();
    const watch = await followed.watched();
    await followed.tells('farm.example');
    followed.groups.close();
    followed.clock.advance(1_000);
    await until(() => watch.left, 'the watch goes on');
    await followed.tells();
    assert.equal(followed.clock.pending, 0);
  });
});
