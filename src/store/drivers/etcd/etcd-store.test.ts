import { after, before, describe } from 'node:test';
import { conformance } from '../../conformance/conformance.ts';
import { type EtcdProcess, etcdMissing, startEtcd } from './etcd-process-fixture.ts';
import { openEtcdStore } from './etcd-store.ts';

describe('etcd', { skip: etcdMissing }, () => {
  let etcd: EtcdProcess;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd.stop());

  let stores = 0;
  conformance({
    name: 'etcd',
    // etcd's limit is 1.5 MiB per request, which contains the key three times.
    capabilities: {
      durable: true,
      valueBytesMax: 1_536 * 1024 - 16 * 1024,
      batchWritesMax: 128,
      batchBytesMax: 1_536 * 1024,
    },
    open: async () => {
      const options = { endpoints: [etcd.endpoint], prefix: `/store-${stores++}` };
      const store = await openEtcdStore(options);
      const opened = [store];
      const reopen = async () => {
        const again = await openEtcdStore(options);
        opened.push(again);
        return again;
      };
      const dispose = async () => {
        for (const each of opened) await each.close();
      };
      return { store, reopen, dispose };
    },
  });
});
