import { optional, string, struct, time } from '../../schema/schema.ts';

/** Key and effect are checked by the strategy of Node. */
export const taint = struct('api.core.v1.Taint', 'Keeps pods that do not tolerate it off a node.', {
  key: optional(1, string(), 'Key of the taint.', { presence: 'always' }),
  value: optional(2, string(), 'Value of the taint.'),
  effect: optional(3, string(), 'What it does: `NoSchedule`, `PreferNoSchedule` or `NoExecute`.', {
    presence: 'always',
  }),
  timeAdded: optional(4, time(), 'When a taint with effect `NoExecute` was added.', { presence: 'explicit' }),
});
