import type { ApiObject } from '../../meta/api-object.ts';
import { objects } from './amounts.ts';
import { type Evaluator, handlesWrites, objectCountOf } from './evaluator.ts';

/** What counts of a Service. Its ports may not have got their numbers yet. */
interface ServiceView {
  readonly type?: string;
  readonly ports?: readonly { readonly nodePort?: number }[];
  readonly allocateLoadBalancerNodePorts?: boolean;
}

const resource = { group: '', resource: 'services' };
const objectCount = objectCountOf(resource);
const names = [objectCount, 'services', 'services.nodeports', 'services.loadbalancers'];

/** Services count with the ports that they take on nodes, or will take, and with their load balancers. */
export const services: Evaluator = {
  resource,
  // The type can change.
  handles: handlesWrites,
  counts: (name) => names.includes(name),
  reads: 'object',
  measure(object) {
    const spec = (object as ApiObject & { readonly spec?: ServiceView }).spec ?? {};
    return {
      usage: new Map([
        [objectCount, objects(1)],
        ['services', objects(1)],
        ['services.nodeports', objects(nodePortsOf(spec))],
        ['services.loadbalancers', objects(spec.type === 'LoadBalancer' ? 1 : 0)],
      ]),
    };
  },
};

function nodePortsOf({ type, ports = [], allocateLoadBalancerNodePorts }: ServiceView): number {
  if (type === 'NodePort') return ports.length;
  if (type !== 'LoadBalancer') return 0;
  return allocateLoadBalancerNodePorts === false ? ports.filter(({ nodePort }) => nodePort).length : ports.length;
}
