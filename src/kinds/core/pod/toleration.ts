import { documentedEnum, type Infer, int64, opt, ptr, string, struct } from '../../../schema/schema.ts';

export const toleration = struct('api.core.v1.Toleration', 'Lets a pod be placed on nodes with a matching taint.', {
  key: opt(1, string(), 'Taint key that is tolerated; empty, with operator `Exists`, stands for all keys.'),
  operator: opt(2, documentedEnum('Exists', 'Equal'), 'How key and value are compared; `Equal` unless set.'),
  value: opt(3, string(), 'Taint value that is tolerated; empty with operator `Exists`.'),
  effect: opt(4, documentedEnum('NoSchedule', 'PreferNoSchedule', 'NoExecute'), 'Taint effect that is tolerated; empty stands for all effects.'),
  tolerationSeconds: ptr(5, int64(), 'Seconds that a `NoExecute` taint is tolerated before the pod is evicted; unset means forever.'),
});

export type Toleration = Infer<typeof toleration>;
