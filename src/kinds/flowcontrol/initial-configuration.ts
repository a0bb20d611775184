import { components } from '../../dialect/components.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { groupNodes } from '../../request/node-user.ts';
import { groupAccounts } from '../../request/service-account-user.ts';
import { groupAuthenticated, groupMasters, groupUnauthenticated } from '../../request/user-info.ts';
import type { FlowRules, FlowSchemaSpec, FlowSubject, LevelSpec, ResourceRule } from './flow-schemas.ts';

/** What requests are sorted by when nobody has said otherwise, as in kube-apiserver 1.32. */

/** On objects whose spec is that of the server's release. Whoever changes it says `false`. */
const autoupdateAnnotation = ({ domain }: Pick<Dialect, 'domain'>): string => `apf.${domain}/autoupdate-spec`;

type Numbers = readonly [shares: number, lendable: number, queues: number, handSize: number];

const queueing = ([nominalConcurrencyShares, lendablePercent, queues, handSize]: Numbers): LevelSpec => ({
  type: 'Limited',
  limited: { nominalConcurrencyShares, lendablePercent, limitResponse: { type: 'Queue', queuing: { queues, handSize, queueLengthLimit: 50 } } },
});

/** Levels without which the server cannot do. Their specs are fixed. */
export const mandatoryLevels: Readonly<Record<string, LevelSpec>> = {
  'catch-all': { type: 'Limited', limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: 'Reject' } } },
  exempt: { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
};

const suggestedLevels: Readonly<Record<string, LevelSpec>> = {
  system: queueing([30, 33, 64, 6]),
  'node-high': queueing([40, 25, 64, 6]),
  'leader-election': queueing([10, 0, 16, 4]),
  'workload-high': queueing([40, 50, 128, 6]),
  'workload-low': queueing([100, 90, 128, 6]),
  'global-default': queueing([20, 50, 128, 6]),
};

const groups = (...names: readonly string[]): readonly FlowSubject[] => names.map((name) => ({ kind: 'Group', group: { name } }));
const users = (...names: readonly string[]): readonly FlowSubject[] => names.map((name) => ({ kind: 'User', user: { name } }));
const accounts = (namespace: string, ...names: readonly string[]): readonly FlowSubject[] => names.map((name) => ({ kind: 'ServiceAccount', serviceAccount: { name, namespace } }));

const resources = (verbs: readonly string[], apiGroups: readonly string[], resources: readonly string[], clusterScope = false): ResourceRule => ({
  ...{ verbs: [...verbs], apiGroups: [...apiGroups], resources: [...resources], namespaces: ['*'] },
  ...(clusterScope && { clusterScope }),
});

const everything = {
  resourceRules: [resources(['*'], ['*'], ['*'], true)],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
};

interface Flow {
  readonly level: string;
  readonly precedence: number;
  readonly by?: 'ByUser' | 'ByNamespace';
  readonly subjects: readonly FlowSubject[];
  readonly rules?: Omit<FlowRules, 'subjects'>;
}

const specOf = ({ level, precedence, by, subjects, rules = everything }: Flow): FlowSchemaSpec => ({
  priorityLevelConfiguration: { name: level },
  matchingPrecedence: precedence,
  ...(by && { distinguisherMethod: { type: by } }),
  rules: [{ subjects: [...subjects], ...rules }],
});

const everybody = groups(groupUnauthenticated, groupAuthenticated);

/** Flow schemas without which the server cannot do. Their specs are fixed. */
export const mandatoryFlows: Readonly<Record<string, FlowSchemaSpec>> = {
  exempt: specOf({ level: 'exempt', precedence: 1, subjects: groups(groupMasters) }),
  'catch-all': specOf({ level: 'catch-all', precedence: 10_000, by: 'ByUser', subjects: everybody }),
};

function suggestedFlows(dialect: Dialect): Readonly<Record<string, FlowSchemaSpec>> {
  const { namespaces, controllerManager } = dialect;
  const { scheduler } = components(dialect);
  const system = (...names: readonly string[]) => accounts(namespaces.system, ...names);
  const [manager, schedulerUser] = [`system:${controllerManager}`, `system:${scheduler}`];
  const leases = [dialect.group('coordination')];
  const claims = ['get', 'create', 'update'];
  const flows: Readonly<Record<string, Flow>> = {
    probes: { level: 'exempt', precedence: 2, subjects: everybody, rules: { nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }] } },
    'system-leader-election': {
      level: 'leader-election',
      precedence: 100,
      by: 'ByUser',
      subjects: [...users(manager, schedulerUser), ...system('*')],
      rules: { resourceRules: [resources(claims, leases, ['leases'])] },
    },
    'endpoint-controller': {
      level: 'workload-high',
      precedence: 150,
      by: 'ByUser',
      subjects: [...users(manager), ...system('endpoint-controller', 'endpointslicemirroring-controller')],
      rules: { resourceRules: [resources(claims, [''], ['endpoints'])] },
    },
    'workload-leader-election': {
      level: 'leader-election',
      precedence: 200,
      by: 'ByUser',
      subjects: system('*'),
      rules: { resourceRules: [resources(claims, [''], ['endpoints', 'configmaps']), resources(claims, leases, ['leases'])] },
    },
    'system-node-high': {
      level: 'node-high',
      precedence: 400,
      by: 'ByUser',
      subjects: groups(groupNodes),
      rules: { resourceRules: [resources(['*'], [''], ['nodes', 'nodes/status'], true), resources(['*'], leases, ['leases'])] },
    },
    'system-nodes': { level: 'system', precedence: 500, by: 'ByUser', subjects: groups(groupNodes) },
    [controllerManager]: { level: 'workload-high', precedence: 800, by: 'ByNamespace', subjects: users(manager) },
    [scheduler]: { level: 'workload-high', precedence: 800, by: 'ByNamespace', subjects: users(schedulerUser) },
    [`${namespaces.system}-service-accounts`]: { level: 'workload-high', precedence: 900, by: 'ByNamespace', subjects: system('*') },
    'service-accounts': { level: 'workload-low', precedence: 9_000, by: 'ByUser', subjects: groups(groupAccounts) },
    'global-default': { level: 'global-default', precedence: 9_900, by: 'ByUser', subjects: everybody },
  };
  return Object.fromEntries(Object.entries(flows).map(([name, flow]) => [name, specOf(flow)]));
}

/** The objects of both kinds that are there after every start. */
export function initialFlowControl(dialect: Dialect): readonly ApiObject[] {
  const apiVersion = `${dialect.group('flowcontrol.apiserver')}/v1`;
  const annotations = { [autoupdateAnnotation(dialect)]: 'true' };
  const make = (kind: string, specs: Readonly<Record<string, object>>): readonly ApiObject[] =>
    Object.entries(specs).map(([name, spec]) => ({ apiVersion, kind, metadata: { name, annotations }, spec }));
  return [...make('PriorityLevelConfiguration', { ...mandatoryLevels, ...suggestedLevels }), ...make('FlowSchema', { ...mandatoryFlows, ...suggestedFlows(dialect) })];
}
