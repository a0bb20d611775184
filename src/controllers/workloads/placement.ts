import type { NodeSelectorTerm } from '../../kinds/core/node-selector.ts';
import type { Pod } from '../../kinds/core/pod/pod-schema.ts';
import type { ApiObject } from '../../meta/api-object.ts';

/** What decides about a node where a pod may run. */
export interface PlacedNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly unschedulable: boolean;
  readonly taints: readonly Taint[];
}

interface Taint {
  readonly key?: string | undefined;
  readonly value?: string | undefined;
  readonly effect?: string | undefined;
}

/** A node as placement sees it. */
export function placedNode({ metadata, ...object }: ApiObject): PlacedNode {
  const { unschedulable = false, taints = [] } = (object['spec'] ?? {}) as Partial<PlacedNode>;
  return { name: metadata.name ?? '', labels: metadata.labels ?? {}, unschedulable, taints };
}

/**
 * Whether a pod may be placed on a node: by `nodeSelector`, required node affinity, taints and whether the node is closed to
 * new pods. Neither resources nor other pods are looked at. `closed` is the key of the taint that closed nodes stand for.
 */
export function mayRunOn(pod: Pod, node: PlacedNode, closed: string): boolean {
  const taints = [...node.taints, ...(node.unschedulable ? [{ key: closed, effect: 'NoSchedule' }] : [])];
  return selectsNode(pod, node) && taintsAgainst(pod, taints).length === 0;
}

/** Whether the pod selects the node by its `nodeSelector` and its required node affinity. */
export function selectsNode({ spec }: Pod, node: PlacedNode): boolean {
  const terms = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return (
    Object.entries(spec?.nodeSelector ?? {}).every(([name, value]) => node.labels[name] === value) &&
    (terms === undefined || terms.some((term) => matchesTerm(term, node)))
  );
}

/** The taints that keep the pod away: those that are more than a preference, and that it does not tolerate. */
export const taintsAgainst = ({ spec }: Pod, taints: readonly Taint[]): readonly Taint[] =>
  taints.filter((taint) => taint.effect !== 'PreferNoSchedule' && !isTolerated(taint, spec?.tolerations ?? []));

interface Requirement {
  readonly key?: string;
  readonly operator?: string;
  readonly values?: readonly string[];
}

/** A term without requirements matches no node. */
function matchesTerm(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  { name, labels }: PlacedNode,
): boolean {
  const fields: Readonly<Record<string, string>> = { 'metadata.name': name };
  return (
    matchExpressions.length + matchFields.length > 0 &&
    matchExpressions.every((each) => meets(each, labels)) &&
    matchFields.every((each) => meets(each, fields))
  );
}

function meets({ key = '', operator, values = [] }: Requirement, has: Readonly<Record<string, string>>): boolean {
  const value = Object.hasOwn(has, key) ? has[key] : undefined;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return isInteger(value) && isInteger(values[0]) && BigInt(value) > BigInt(values[0]);
    case 'Lt':
      return isInteger(value) && isInteger(values[0]) && BigInt(value) < BigInt(values[0]);
    default:
      return false;
  }
}

const isInteger = (text: string | undefined): text is string => text !== undefined && /^-?\d{1,19}$/.test(text);

interface Toleration extends Taint {
  readonly operator?: string | undefined;
}

const isTolerated = (taint: Taint, tolerations: readonly Toleration[]): boolean =>
  tolerations.some(
    ({ key = '', operator = 'Equal', value = '', effect = '' }) =>
      (effect === '' || effect === taint.effect) &&
      (key === '' ? operator === 'Exists' : key === taint.key) &&
      (operator === 'Exists' || value === (taint.value ?? '')),
  );
