import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { silentLogger } from '../../../base/logger.ts';
import { systemRandom } from '../../../base/random.ts';
import { systemClock } from '../../../base/time/clock.ts';
import type { Store } from '../../store.ts';
import { EtcdConnection } from './etcd-connection.ts';
import { countedWriteMethod, rangeMethod } from './etcd-messages.ts';
import { etcdMissing, startEtcd } from './etcd-process-fixture.ts';
import { openEtcdStore } from './etcd-store.ts';
import { kineMissing, startKine } from './kine-process-fixture.ts';

/** Whose turn it is to compact, among servers of ours and of those that published the protocol. */

const key = Buffer.from('compact_rev_key');

interface Server {
  readonly endpoint: string;
  stop(): Promise<void>;
}

for (const { name, skip, start } of [
  { name: 'etcd', skip: etcdMissing, start: (): Promise<Server> => startEtcd() },
  { name: 'kine', skip: kineMissing, start: (): Promise<Server> => startKine() },
]) {
  describe(`turns to compact on ${name}`, { skip }, () => {
    let server: Server;
    before(async () => {
      server = await start();
    });
    after(() => server.stop());

    const open = async (context: TestContext): Promise<Store> => {
      const store = await openEtcdStore({ endpoints: [server.endpoint] });
      context.after(() => store.close());
      return store;
    };

    test('one server at a time has the turn, the other when the first has gone', async (context) => {
      const [one, two] = [await open(context), await open(context)];
      const take = async (store: Store, revision: number) => store.takeCompactionTurn?.(revision);
      assert.equal(await take(one, 3), true, 'nobody has compacted yet');
      assert.equal(await take(two, 3), false, 'it learns of the other');
      assert.equal(await take(one, 4), true);
      assert.equal(await take(two, 4), false);
      assert.equal(await take(two, 5), true, 'the other took none meanwhile');
      assert.equal(await take(one, 5), false);
      const both = await Promise.all([take(one, 6), take(one, 6)]);
      assert.deepEqual([...both].sort(), [false, true]);
    });

    test('a server that follows the published protocol takes part', async (context) => {
      const ours = await open(context);
      const other = new EtcdConnection({
        ...{ endpoints: [server.endpoint], clock: systemClock, random: systemRandom, logger: silentLogger },
        probeKey: key,
      });
      context.after(() => other.close());
      const there = async () => {
        const [record] = (await other.read(rangeMethod, { key })).records;
        return record && { version: record.version, value: Buffer.from(record.value).toString() };
      };
      await ours.takeCompactionTurn?.(7);
      const { version = 0 } = (await there()) ?? {};
      const turn = { key, version, value: Buffer.from('8') };
      assert.equal((await other.write(countedWriteMethod, turn)).succeeded, true);
      assert.equal(await ours.takeCompactionTurn?.(9), false, 'theirs');
      assert.equal(await ours.takeCompactionTurn?.(9), true);
      assert.deepEqual(await there(), { version: version + 2, value: '9' });
      const late = await other.write(countedWriteMethod, { ...turn, version: version + 1 });
      assert.deepEqual([late.succeeded, late.version], [false, version + 2]);
    });
  });
}
