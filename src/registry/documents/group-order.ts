import type { Dialect } from '../../dialect/dialect.ts';

/** Priorities of the groups that kube-apiserver serves itself, by short name. */
const priorities: Readonly<Record<string, number>> = {
  '': 18_000,
  apps: 17_800,
  events: 17_750,
  authentication: 17_700,
  authorization: 17_600,
  autoscaling: 17_500,
  batch: 17_400,
  certificates: 17_300,
  networking: 17_200,
  policy: 17_100,
  'rbac.authorization': 17_000,
  storage: 16_800,
  admissionregistration: 16_700,
  apiextensions: 16_700,
  scheduling: 16_600,
  coordination: 16_500,
  node: 16_300,
  discovery: 16_200,
  resource: 16_200,
  'flowcontrol.apiserver': 16_100,
  'internal.apiserver': 16_000,
  storagemigration: 15_800,
};

/** All others: groups of custom resources. */
const otherPriority = 1_000;

/**
 * Order of groups in discovery, as in kube-apiserver: by priority, then by name. Clients take the first group that has
 * a resource of the name they look for.
 */
export function groupOrder(dialect: Dialect): (a: string, b: string) => number {
  const byName = new Map(Object.entries(priorities).map(([short, priority]) => [dialect.group(short), priority]));
  const priorityOf = (group: string): number => byName.get(group) ?? otherPriority;
  return (a, b) => priorityOf(b) - priorityOf(a) || (a < b ? -1 : a > b ? 1 : 0);
}
