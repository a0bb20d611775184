import { type Infer, int64, optional, string, struct } from '../../../schema/schema.ts';

export const toleration = struct('api.core.v1.Toleration', 'Lets a pod be placed on nodes with a matching taint.', {
  key: optional(
    1,
    string({ format: 'qualifiedName' }),
    'Taint key that is tolerated; empty, with operator `Exists`, stands for all keys.',
  ),
  operator: optional(2, string({ enum: ['Exists', 'Equal'] }), 'How key and value are compared; `Equal` unless set.'),
  value: optional(3, string(), 'Taint value that is tolerated; empty with operator `Exists`.'),
  effect: optional(
    4,
    string({ enum: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] }),
    'Taint effect that is tolerated; empty stands for all effects.',
  ),
  tolerationSeconds: optional(
    5,
    int64(),
    'Seconds that a `NoExecute` taint is tolerated before the pod is evicted; unset means forever.',
    { presence: 'explicit' },
  ),
});

export type Toleration = Infer<typeof toleration>;
