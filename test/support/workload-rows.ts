import { simulatedNodesPolicy } from '../../src/authz/rbac/bootstrap-policy/simulated-nodes-policy.ts';
import { until } from '../../src/base/waits-fixture.ts';
import type { ControllerName } from '../../src/controllers/controllers.ts';
import { orch } from '../../src/dialect/orch.ts';
import { rbacPath } from './authorization.ts';
import type { ControllersApart } from './controllers-apart.ts';

/** What a controller does that runs alone. */
export interface Row {
  /** Name of its service account; undefined for a controller that works as the program. */
  readonly account: string | undefined;
  /** Rules of the account in version 1.32: `verbs resources[@group][#name]`. Namespaced ones begin with `namespace:`. */
  readonly published: readonly string[];
  readonly flags?: () => readonly string[];
  /** Makes work before the controller starts, and gives what to wait for. */
  readonly work: () => Promise<() => Promise<void>>;
}

/** A namespace in which pods can be made. */
export const workloadNamespace = '/api/v1/namespaces/workloads';
const workloads = workloadNamespace;
const events = 'create,patch,update events,events@events';
const managePods = 'create,delete,list,patch,watch pods';
/** Permissions that hold in the group of before as well. */
const inBoth = (permission: string): readonly string[] => [`${permission}@apps`, `${permission}@extensions`];

type Rows = Readonly<Partial<Record<ControllerName, Row>>>;

/** The controllers of workloads. `apart` gives the programs once they run. */
export const workloadRows = (started: () => ControllersApart): Rows => ({
  'deployment-controller': {
    account: 'deployment-controller',
    published: [
      ...inBoth('get,list,watch,update deployments'),
      ...inBoth('update deployments/status'),
      ...inBoth('update deployments/finalizers'),
      ...inBoth('get,list,watch,create,delete,patch,update replicasets'),
      'get,list,watch,update pods',
      events,
    ],
    async work() {
      const apps = '/apis/apps/v1/namespaces/workloads';
      const [selector, labels] = [{ matchLabels: { app: 'd' } }, { app: 'd' }];
      const templateOf = (image: string) => ({ metadata: { labels }, spec: { containers: [{ name: 'c', image }] } });
      const spec = { replicas: 0, selector, revisionHistoryLimit: 0, template: templateOf('a') };
      const orphan = {
        metadata: { name: 'orphan', labels },
        spec: { replicas: 0, selector, template: templateOf('b') },
      };
      await started().make(`${apps}/replicasets`, orphan);
      await started().make(`${apps}/deployments`, { metadata: { name: 'web' }, spec });
      const status = (name: string, generation: number): Promise<void> =>
        started().patch(`${apps}/replicasets/${name}/status`, { status: { observedGeneration: generation } });
      return async () => {
        const isDone = async (): Promise<boolean> =>
          (await started().get<{ status: { observedGeneration?: number } }>(`${apps}/deployments/web`)).status
            .observedGeneration === 1;
        await until(isDone, 'it is never rolled out');
        await status('orphan', 1);
        await started().gone(`${apps}/replicasets/orphan`);
        await started().patch(`${apps}/deployments/web`, { spec: { replicas: 1 } });
        const { items } = await started().get<{ items: readonly { metadata: { name: string } }[] }>(
          `${apps}/replicasets`,
        );
        const path = `${apps}/replicasets/${items[0]?.metadata.name}`;
        const isScaled = async (): Promise<boolean> =>
          (await started().get<{ spec: { replicas?: number } }>(path)).spec.replicas === 1;
        await until(isScaled, 'it is never scaled');
        await started().remove(`${apps}/deployments/web`);
      };
    },
  },
  'daemonset-controller': {
    account: 'daemon-set-controller',
    published: [
      ...inBoth('get,list,watch daemonsets'),
      ...inBoth('update daemonsets/status'),
      ...inBoth('update daemonsets/finalizers'),
      'list,watch nodes',
      managePods,
      'create pods/binding',
      'get,list,watch,create,delete,patch,update controllerrevisions@apps',
      events,
    ],
    async work() {
      const apps = '/apis/apps/v1/namespaces/workloads';
      const [selector, labels] = [{ matchLabels: { app: 'daemon' } }, { app: 'daemon' }];
      const nodeSelector = { daemon: 'yes' };
      const templateOf = (image: string) => ({
        metadata: { labels },
        spec: { nodeSelector, containers: [{ name: 'c', image }] },
      });
      const path = `${apps}/daemonsets/agent`;
      await started().make('/api/v1/nodes', { metadata: { name: 'daemons', labels: nodeSelector } });
      await started().patch('/api/v1/nodes/daemons', { spec: { taints: null } });
      const spec = { selector, revisionHistoryLimit: 0, template: templateOf('a') };
      await started().make(`${apps}/daemonsets`, { metadata: { name: 'agent' }, spec });
      const reaches = (expected: object): Promise<void> =>
        until(
          async () => {
            const { status } = await started().get<{ status: Readonly<Record<string, unknown>> }>(path);
            return Object.entries(expected).every(([name, value]) => status[name] === value);
          },
          `the status is never ${JSON.stringify(expected)}`,
        );
      return async () => {
        await reaches({ observedGeneration: 1, currentNumberScheduled: 1 });
        await started().patch(path, { spec: { template: templateOf('b') } });
        await reaches({ observedGeneration: 2, updatedNumberScheduled: 1 });
        await started().remove(path);
        await started().remove('/api/v1/nodes/daemons');
      };
    },
  },
  'replicaset-controller': {
    account: 'replicaset-controller',
    published: [
      ...inBoth('get,list,watch,update replicasets'),
      ...inBoth('update replicasets/status'),
      ...inBoth('update replicasets/finalizers'),
      managePods,
      events,
    ],
    work: () =>
      keepsReplicas(started(), '/apis/apps/v1/namespaces/workloads/replicasets', { matchLabels: { app: 'x' } }),
  },
  'replicationcontroller-controller': {
    account: 'replication-controller',
    published: [
      'get,list,watch,update replicationcontrollers',
      'update replicationcontrollers/status,replicationcontrollers/finalizers',
      managePods,
      events,
    ],
    work: () => keepsReplicas(started(), `${workloads}/replicationcontrollers`, { app: 'x' }),
  },
  'statefulset-controller': {
    account: 'statefulset-controller',
    published: [
      'list,watch pods',
      'get,list,watch statefulsets@apps',
      'update statefulsets/status@apps',
      'update statefulsets/finalizers@apps',
      'create,delete,get,patch,update pods',
      'get,list,watch,create,delete,patch,update controllerrevisions@apps',
      'get,list,watch,create,delete,update persistentvolumeclaims',
      'update pods/finalizers',
      events,
    ],
    async work() {
      const apps = '/apis/apps/v1/namespaces/workloads/statefulsets';
      const labels = { app: 'numbered' };
      const claim = {
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      };
      const spec = {
        ...{ replicas: 1, selector: { matchLabels: labels }, serviceName: 'db', volumeClaimTemplates: [claim] },
        template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' },
      };
      await started().make(apps, { metadata: { name: 'db' }, spec });
      const counts = (expected: number): Promise<void> =>
        until(async () => {
          const { status } = await started().get<{ status: { replicas: number; updateRevision?: string } }>(
            `${apps}/db`,
          );
          return status.replicas === expected && status.updateRevision !== undefined;
        }, `there are never ${expected} pods`);
      return async () => {
        await counts(1);
        await started().has(`${workloads}/persistentvolumeclaims/data-db-0`);
        await started().patch(`${apps}/db`, { spec: { replicas: 0 } });
        await counts(0);
        await started().remove(`${apps}/db`);
      };
    },
  },
  'endpoints-controller': {
    account: 'endpoint-controller',
    published: [
      'get,list,watch pods,services',
      'create,delete,get,list,update,watch endpoints',
      'create endpoints/restricted',
      events,
    ],
    work: () => takesTraffic(started(), 'endpoint', `${workloads}/endpoints/endpoint`),
  },
  'endpointslice-controller': {
    account: 'endpointslice-controller',
    published: [
      'get,list,watch nodes,pods,services',
      'update services/finalizers',
      'get,list,watch,create,delete,update endpointslices@discovery',
      events,
    ],
    work: () =>
      takesTraffic(
        started(),
        'slice',
        '/apis/discovery.orch.io/v1/namespaces/workloads/endpointslices?labelSelector=orch.io/service-name=slice',
      ),
  },
  'disruption-controller': {
    account: 'disruption-controller',
    published: [
      ...['deployments', 'replicasets'].flatMap((resource) => inBoth(`get,list,watch ${resource}`)),
      'get,list,watch replicationcontrollers,poddisruptionbudgets@policy,statefulsets@apps',
      'update poddisruptionbudgets/status@policy',
      'patch,update pods/status',
      'get */scale@*',
      events,
    ],
    async work() {
      const path = '/apis/policy/v1/namespaces/workloads/poddisruptionbudgets';
      const metadata = { name: 'guarded', labels: { app: 'guarded' } };
      await started().make(`${workloads}/pods`, { metadata, spec: { containers: [{ name: 'c', image: 'i' }] } });
      await started().make(path, {
        metadata,
        spec: { minAvailable: 1, selector: { matchLabels: { app: 'guarded' } } },
      });
      return async () => {
        const expected = async (): Promise<number> =>
          (await started().get<{ status: { expectedPods: number } }>(`${path}/guarded`)).status.expectedPods;
        await until(async () => (await expected()) === 1, 'the pod is never counted');
        await started().remove(`${path}/guarded`);
        await started().remove(`${workloads}/pods/guarded`);
      };
    },
  },
  'job-controller': {
    account: 'job-controller',
    published: [
      'get,list,watch,patch,update jobs@batch',
      'update jobs/status@batch,jobs/finalizers@batch',
      managePods,
      events,
    ],
    async work() {
      const path = '/apis/batch/v1/namespaces/workloads/jobs';
      const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
      await started().make(path, { metadata: { name: 'once' }, spec: { template } });
      return async () => {
        const pods = `${workloads}/pods?labelSelector=batch.orch.io/job-name%3Donce`;
        const named = async () =>
          (await started().get<{ items: readonly { metadata: { name: string } }[] }>(pods)).items[0]?.metadata.name;
        await until(async () => (await named()) !== undefined, 'it never has a pod');
        const pod = `${workloads}/pods/${await named()}`;
        await started().patch(`${pod}/status`, { status: { phase: 'Succeeded' } });
        const isDone = async (): Promise<boolean> =>
          'completionTime' in (await started().get<{ status: object }>(`${path}/once`)).status;
        await until(isDone, 'it is never done');
        await started().remove(`${path}/once`);
        await started().remove(pod);
      };
    },
  },
  'cronjob-controller': {
    account: 'cronjob-controller',
    published: [
      'get,list,watch,update cronjobs@batch',
      'get,list,watch,create,delete,patch,update jobs@batch',
      'update cronjobs/status@batch,cronjobs/finalizers@batch',
      'delete,list,watch pods',
      events,
    ],
    async work() {
      const path = '/apis/batch/v1/namespaces/workloads';
      const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
      const spec = { schedule: '@every 1s', concurrencyPolicy: 'Forbid', jobTemplate: { spec: { template } } };
      await started().make(`${path}/cronjobs`, { metadata: { name: 'tick' }, spec });
      return async () => {
        const isDue = async (): Promise<boolean> =>
          'lastScheduleTime' in ((await started().get<{ status?: object }>(`${path}/cronjobs/tick`)).status ?? {});
        await until(isDue, 'it never makes a job');
        await started().remove(`${path}/cronjobs/tick`);
      };
    },
  },
  'ttl-after-finished-controller': {
    account: 'ttl-after-finished-controller',
    published: ['get,list,watch,delete jobs@batch', events],
    async work() {
      const path = '/apis/batch/v1/namespaces/workloads/jobs';
      const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
      await started().make(path, { metadata: { name: 'over' }, spec: { ttlSecondsAfterFinished: 0, template } });
      const at = '2020-01-01T00:00:00Z';
      const conditions = ['SuccessCriteriaMet', 'Complete'].map((type) => ({
        type,
        status: 'True',
        lastTransitionTime: at,
      }));
      await started().patch(`${path}/over/status`, { status: { startTime: at, completionTime: at, conditions } });
      return async () => {
        const isDeleted = async (): Promise<boolean> =>
          'deletionTimestamp' in (await started().get<{ metadata: object }>(`${path}/over`)).metadata;
        await until(isDeleted, 'it is never deleted');
        // Its finalizer is that of the garbage collector, which does not run.
        await started().patch(`${path}/over`, { metadata: { finalizers: null } });
        await started().gone(`${path}/over`);
      };
    },
  },
  'pod-garbage-collector-controller': {
    account: 'pod-garbage-collector',
    published: ['list,watch,delete pods', 'get,list,watch nodes', 'patch pods/status'],
    async work() {
      const path = `${workloads}/pods/stuck`;
      const metadata = { name: 'stuck', finalizers: ['example.com/stay'] };
      await started().make(`${workloads}/pods`, { metadata, spec: { containers: [{ name: 'c', image: 'i' }] } });
      await started().remove(path);
      return async () => {
        const phase = async (): Promise<string> =>
          (await started().get<{ status: { phase: string } }>(path)).status.phase;
        await until(async () => (await phase()) === 'Failed', 'it is never marked');
        await started().patch(path, { metadata: { finalizers: null } });
        await started().gone(path);
      };
    },
  },
  'simulated-nodes': {
    account: 'simulated-nodes',
    // Its role is not one of version 1.32: a server has it that runs the controller itself.
    published: [
      'get,list,watch,create,patch nodes',
      'patch nodes/status,pods/status',
      'create,get,patch,update leases@coordination',
      'get,list,watch,delete pods',
      'create pods/binding',
      events,
    ],
    async work() {
      const [role, binding] = simulatedNodesPolicy(orch);
      await started().make(`${rbacPath}/clusterroles`, role);
      await started().make(`${rbacPath}/clusterrolebindings`, binding);
      const pod = `${workloads}/pods/lives`;
      const metadata = { name: 'lives', annotations: { 'simulation.orch.io/start-seconds': '0' } };
      await started().make(`${workloads}/pods`, { metadata, spec: { containers: [{ name: 'c', image: 'i' }] } });
      return async () => {
        const phase = async (): Promise<string> =>
          (await started().get<{ status: { phase: string } }>(pod)).status.phase;
        await until(async () => (await phase()) === 'Running', 'the pod never runs');
        await started().remove(pod);
        await started().gone(pod);
      };
    },
  },
});

/** Makes an object with an orphan to adopt and two pods to create, one of which is deleted later. */
async function keepsReplicas(
  apart: ControllersApart,
  collection: string,
  selector: object,
): Promise<() => Promise<void>> {
  const pod = { metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  await apart.make(`${workloads}/pods`, {
    ...pod,
    metadata: { ...pod.metadata, name: `${relativeTo(collection)}-orphan` },
  });
  await apart.make(collection, { metadata: { name: 'web' }, spec: { replicas: 2, selector, template: pod } });
  const counts = async (replicas: number): Promise<void> => {
    const counted = async (): Promise<number> =>
      (await apart.get<{ status: { replicas: number } }>(`${collection}/web`)).status.replicas;
    await until(async () => (await counted()) === replicas, `there are never ${replicas} pods`);
  };
  return async () => {
    await counts(2);
    await apart.patch(`${collection}/web`, { spec: { replicas: 0 } });
    await counts(0);
    await apart.remove(`${collection}/web`);
  };
}

const relativeTo = (collection: string): string => collection.slice(collection.lastIndexOf('/') + 1);

/** Makes a service with a pod that is ready; waits until the pod's address is in what is at this path. */
async function takesTraffic(apart: ControllersApart, name: string, path: string): Promise<() => Promise<void>> {
  const address = name === 'slice' ? '10.1.0.1' : '10.1.0.2';
  const metadata = { name, labels: { app: name } };
  await apart.make(`${workloads}/pods`, { metadata, spec: { containers: [{ name: 'c', image: 'i' }] } });
  const conditions = [{ type: 'Ready', status: 'True' }];
  const status = { phase: 'Running', podIP: address, podIPs: [{ ip: address }], conditions };
  await apart.patch(`${workloads}/pods/${name}/status`, { status });
  await apart.make(`${workloads}/services`, { metadata, spec: { selector: { app: name }, ports: [{ port: 80 }] } });
  return async () => {
    const has = async (): Promise<boolean> => (await apart.send('GET', path)).text.includes(`"${address}"`);
    await until(has, 'its address is never there');
    await apart.remove(`${workloads}/services/${name}`);
    await apart.remove(`${workloads}/pods/${name}`);
  };
}
