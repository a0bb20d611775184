import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { AdmissionPlugin } from '../chain.ts';

interface Taint {
  readonly key: string;
  readonly effect: string;
}

type NodeView = ApiObject & { spec?: { taints?: readonly Taint[] } };

/** No pod is placed on a new node before a controller has found it ready, and has removed the taint. */
export const taintNodesByCondition = ({ domain }: Dialect): AdmissionPlugin => ({
  name: 'TaintNodesByCondition',
  sideEffects: 'none',
  concerns: ({ operation, info: { group, resource, subresource } }) =>
    operation === 'create' && group === '' && resource === 'nodes' && subresource === '',
  mutate({ object }) {
    if (!object) return;
    const node = object as NodeView;
    const taint: Taint = { key: `node.${domain}/not-ready`, effect: 'NoSchedule' };
    const taints = node.spec?.taints ?? [];
    if (taints.some(({ key, effect }) => key === taint.key && effect === taint.effect)) return;
    node.spec = { ...node.spec, taints: [...taints, taint] };
  },
});
