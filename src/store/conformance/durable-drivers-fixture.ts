import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { etcdMissing, startEtcd } from '../drivers/etcd/etcd-process-fixture.ts';
import { kineMissing, startKine } from '../drivers/etcd/kine-process-fixture.ts';
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

interface EtcdServer {
  readonly endpoint: string;
  stop(): Promise<void>;
}

type EtcdSubject = DurableSubject<{ readonly endpoints: readonly string[]; readonly prefix: string }>;

/** Each test has a prefix of its own on one etcd. Skipped if etcd is not installed. */
export const etcdConformance = (subject: EtcdSubject): void =>
  // etcd's limit is 1.5 MiB per request, which contains the key three times.
  onServer('etcd', { skip: etcdMissing, start: () => startEtcd() }, subject, {
    valueBytesMax: 1_536 * 1024 - 16 * 1024,
    batchWritesMax: 128,
    batchBytesMax: 1_536 * 1024,
  });

/** The same on kine. Skipped if it is not on the PATH. */
export const kineConformance = (subject: EtcdSubject): void =>
  onServer('kine', { skip: kineMissing, start: startKine }, subject, {
    valueBytesMax: 2 * 1024 * 1024 - 16 * 1024,
    batchesInPart: 'kine takes one write in a transaction',
  });

function onServer(
  server: string,
  { skip, start }: { readonly skip: string | false; start(): Promise<EtcdServer> },
  { name, capabilities, open }: EtcdSubject,
  ofServer: Partial<StoreCapabilities>,
): void {
  describe(server, { skip }, () => {
    let running: EtcdServer;
    before(async () => {
      running = await start();
    });
    after(() => running.stop());

    let stores = 0;
    conformance({
      name,
      capabilities: { durable: true, ...ofServer, ...capabilities },
      open: () => {
        const place = { endpoints: [running.endpoint], prefix: `/conformance-${stores++}` };
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
