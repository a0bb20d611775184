import type { Immutable } from '../../schema/markers.ts';
import { bool, list, opt, ptr, string, struct } from '../../schema/schema.ts';
import { nodeConfigSource } from './node-config-source.ts';
import { taint } from './taint.ts';

/** Fields that may be assigned once and then not change. */
const assigned = (name: string): Immutable => ({
  when: 'onceSet',
  problem: { type: 'forbidden', detail: `node updates may not change ${name} except from "" to valid` },
});

export const nodeSpec = struct('api.core.v1.NodeSpec', 'What is asked of a node.', {
  podCIDR: opt(1, string(), 'Range of the addresses of pods on the node; the first of podCIDRs.'),
  podCIDRs: opt(7, list(string({ format: 'cidr' }), { patchStrategy: 'merge', duplicatesAllowed: true }), 'Ranges of the addresses of pods on the node: at most one for each IP family.', {
    immutable: assigned('podCIDR'),
  }),
  providerID: opt(3, string(), 'Identity of the node at its provider, as `<provider>://<id>`.', { immutable: assigned('providerID') }),
  unschedulable: opt(4, bool(), 'True keeps new pods off the node.'),
  taints: opt(5, list(taint), 'Taints of the node.'),
  configSource: ptr(6, nodeConfigSource, 'Source of the configuration of the node agent; no longer used.', { deprecated: true }),
  externalID: opt(2, string(), 'No longer used.', { deprecated: true, immutable: { when: 'always', problem: { type: 'forbidden', detail: 'may not be updated' } } }),
});
