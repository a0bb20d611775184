import { besideRows } from '../api-measures.ts';
import { Etcd } from '../etcd.ts';
import type { Scenario } from '../scenario.ts';

/** What the same product does on etcd, beside SQLite. Nothing where no etcd is on the PATH. */
export const onEtcd: Scenario = {
  name: 'on-etcd',
  async run(context) {
    await using etcd = await Etcd.start(context.workspace);
    if (!etcd) {
      context.progress('on-etcd: not measured, as no etcd is on the PATH');
      return [];
    }
    await using ours = await context.start({ flags: [`--etcd-servers=${etcd.url}`] });
    await using theirs = await context.start();
    return await besideRows(context, { ours, theirs, name: 'SQLite', prefix: 'on etcd: ' });
  },
};
