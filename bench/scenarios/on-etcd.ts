import { etcdMissing, startEtcd } from '../../src/store/drivers/etcd/etcd-process-fixture.ts';
import { besideRows } from '../api-measures.ts';
import type { Scenario } from '../scenario.ts';

/** What the same product does on etcd, beside SQLite. Nothing where no etcd is on the PATH. */
export const onEtcd: Scenario = {
  name: 'on-etcd',
  async run(context) {
    if (etcdMissing) {
      context.progress(`on-etcd: not measured: ${etcdMissing}`);
      return [];
    }
    await using stack = new AsyncDisposableStack();
    const etcd = stack.adopt(await startEtcd(), (started) => started.stop());
    await using ours = await context.start({ flags: [`--etcd-servers=${etcd.endpoint}`] });
    await using theirs = await context.start();
    return await besideRows(context, { ours, theirs, name: 'SQLite', prefix: 'on etcd: ' });
  },
};
