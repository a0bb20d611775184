import { besideRows } from '../api-measures.ts';
import { Peer } from '../peer.ts';
import type { Scenario } from '../scenario.ts';

/**
 * The same requests to another API server, which runs already, and to the product, in turns: what a user of the one gains
 * by the other. Both have the cores that the client leaves them.
 */
export const peer = (kubeconfig: string): Scenario => ({
  name: 'peer',
  async run(context) {
    using theirs = await Peer.reach(kubeconfig);
    await using ours = await context.start({ flags: ['--dialect=kubernetes'] });
    return await besideRows(context, { ours, theirs, name: theirs.name });
  },
});
