import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { Quantity } from '../../meta/quantity.ts';
import { parseTime } from '../../meta/time.ts';
import type { Affinity } from '../core/pod/affinity.ts';
import { podResources } from '../core/pod/pod-resources.ts';
import { asPod, type Pod } from '../core/pod/pod-schema.ts';
import type { PodSpec } from '../core/pod/pod-spec.ts';
import { qosClass } from '../core/pod/qos-class.ts';

import { isExtended, isNative } from '../core/resource-names.ts';
import { type Amounts, amountsOf, objects, sumOf } from './amounts.ts';
import { type Evaluator, type Measured, objectCountOf, type Unspecified } from './evaluator.ts';

const resource = { group: '', resource: 'pods' };
const objectCount = objectCountOf(resource);

/** What can be counted under three names: what is requested under its own and `requests.`, and `limits.`. */
const shared = ['cpu', 'memory', 'ephemeral-storage'];
const names: ReadonlySet<string> = new Set([...[objectCount, 'pods'], ...shared.flatMap((name) => [name, `requests.${name}`, `limits.${name}`])]);

/** What every container must say where a quota counts it. Others count what is said, as published. */
const required = ['cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory'];

/**
 * Pods count as objects while they are stored, and with what they request until they are finished, or should have been
 * gone.
 */
export const pods = ({ domain }: Dialect): Evaluator => ({
  resource,
  handles: (operation, subresource) => (subresource === '' ? operation === 'create' : subresource === 'resize' && operation === 'update'),
  counts: (name) => names.has(name) || /^(?:requests\.)?hugepages-/.test(name) || (name.startsWith('requests.') && !isNative(name, domain)),
  reads: 'object',
  measure: (object) => measure(asPod(object), object.metadata, domain),
  unspecified: (object) => unspecifiedIn(asPod(object).spec ?? { containers: [] }, domain),
});

function measure(pod: Pod, metadata: ApiObject['metadata'], domain: string): Measured {
  const { spec = { containers: [] }, status } = pod;
  const stored: Amounts = new Map([[objectCount, objects(1)]]);
  const isFinished = status?.phase === 'Failed' || status?.phase === 'Succeeded';
  const goneMs = goneAt(metadata);
  return {
    usage: isFinished ? stored : sumOf(stored, computeUsage(requestsOf(spec), limitsOf(spec), domain)),
    ...(goneMs !== undefined && { later: { fromMs: goneMs, usage: stored } }),
    scopes: scopesOf(pod, spec),
  };
}

/** When a pod that is deleted no longer counts: on a node that was lost it may stay for long. Milliseconds. */
function goneAt({ deletionTimestamp, deletionGracePeriodSeconds }: ApiObject['metadata']): number | undefined {
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return undefined;
  const deletedMs = parseTime(deletionTimestamp);
  return deletedMs === undefined ? undefined : deletedMs + deletionGracePeriodSeconds * 1000 + 1;
}

const requestsOf = (spec: PodSpec): Amounts => sumOf(podResources(spec, 'requests'), amountsOf(spec.overhead));

/** The overhead counts for what is limited. */
function limitsOf(spec: PodSpec): Amounts {
  const limits = podResources(spec, 'limits');
  const overhead = amountsOf(spec.overhead);
  return sumOf(limits, new Map([...overhead].filter(([name]) => (limits.get(name)?.nanos ?? 0n) !== 0n)));
}

/** What requests and limits count as, with one pod. */
function computeUsage(requests: Amounts, limits: Amounts, domain: string): Amounts {
  const usage = new Map<string, Quantity>([['pods', objects(1)]]);
  for (const [name, quantity] of requests) {
    const isHugePages = name.startsWith('hugepages-');
    if (shared.includes(name) || isHugePages) usage.set(name, quantity);
    if (shared.includes(name) || isHugePages || isExtended(name, domain)) usage.set(`requests.${name}`, quantity);
  }
  for (const [name, quantity] of limits) if (shared.includes(name)) usage.set(`limits.${name}`, quantity);
  return usage;
}

function unspecifiedIn({ containers = [], initContainers = [] }: PodSpec, domain: string): Unspecified {
  const missing = new Map<string, readonly string[]>();
  for (const { name = '', resources } of [...containers, ...initContainers]) {
    const said = computeUsage(amountsOf(resources?.requests), amountsOf(resources?.limits), domain);
    for (const each of required) if (!said.has(each)) missing.set(each, [...(missing.get(each) ?? []), name]);
  }
  return missing;
}

function scopesOf({ status }: Pod, spec: PodSpec): NonNullable<Measured['scopes']> {
  const isTerminating = spec.activeDeadlineSeconds !== undefined && spec.activeDeadlineSeconds !== null;
  const isBestEffort = (status?.qosClass || qosClass(spec)) === 'BestEffort';
  return {
    plain: new Set([
      isTerminating ? 'Terminating' : 'NotTerminating',
      isBestEffort ? 'BestEffort' : 'NotBestEffort',
      ...(spec.affinity && looksElsewhere(spec.affinity) ? ['CrossNamespacePodAffinity'] : []),
    ]),
    valued: ['PriorityClass'],
    values: spec.priorityClassName ? { PriorityClass: spec.priorityClassName } : {},
  };
}

/** A term looks at pods of other namespaces. */
function looksElsewhere({ podAffinity, podAntiAffinity }: Affinity): boolean {
  return [podAffinity, podAntiAffinity].some((affinity) =>
    [...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []), ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm)].some(
      (term) => term && ((term.namespaces ?? []).length > 0 || term.namespaceSelector),
    ),
  );
}
