import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { type EtcdProcess, etcdMissing, startEtcd } from '../drivers/etcd/etcd-process-fixture.ts';
import type { Store } from '../store.ts';
import { conformance } from './conformance.ts';
import type { StoreCapabilities } from './subject.ts';

/** The suite on the drivers that keep data, for stores that are built on them. */

interface DurableSubject<Place> {
  readonly name: string;
  readonly capabilities?: Partial<StoreCapabilities>;
  open(place: Place): Promise<Store>;
}

/** Each test has a database of its own. */
export function sqliteConformance({ name, capabilities, open }: DurableSubject<{ readonly file: string }>): void {
  conformance({
    name,
    capabilities: { durable: true, ...capabilities },
    async open() {
      const folder = mkdtempSync(join(tmpdir(), 'sqlite-conformance-'));
      const reopening = await openReopenable(() => open({ file: join(folder, 'data.db') }));
      return {
        ...reopening,
        async dispose() {
          await reopening.dispose();
          rmSync(folder, { recursive: true });
        },
      };
    },
  });
}

/** Each test has a prefix of its own on one etcd. Skipped if etcd is not installed. */
export function etcdConformance({
  name,
  capabilities,
  open,
}: DurableSubject<{ readonly endpoints: readonly string[]; readonly prefix: string }>): void {
  describe('etcd', { skip: etcdMissing }, () => {
    let etcd: EtcdProcess;
    before(async () => {
      etcd = await startEtcd();
    });
    after(() => etcd.stop());

    let stores = 0;
    conformance({
      name,
      // etcd's limit is 1.5 MiB per request, which contains the key three times.
      capabilities: {
        durable: true,
        valueBytesMax: 1_536 * 1024 - 16 * 1024,
        batchWritesMax: 128,
        batchBytesMax: 1_536 * 1024,
        ...capabilities,
      },
      open: () => {
        const place = { endpoints: [etcd.endpoint], prefix: `/conformance-${stores++}` };
        return openReopenable(() => open(place));
      },
    });
  });
}

/** A store that can be reopened; `dispose` closes every opening. */
async function openReopenable(open: () => Promise<Store>) {
  const opened: Store[] = [];
  const reopen = async () => {
    const store = await open();
    opened.push(store);
    return store;
  };
  return {
    store: await reopen(),
    reopen,
    dispose: async () => void (await Promise.all(opened.map((store) => store.close()))),
  };
}
