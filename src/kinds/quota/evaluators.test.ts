import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Dialect } from '../../dialect/dialect.ts';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { textsOf } from './amounts.ts';
import { type Evaluator, usageAt } from './evaluator.ts';
import { Evaluators } from './evaluators.ts';
import { isSelected } from './quota.ts';

const found = (resource: string, group = '', dialect: Dialect = orch): Evaluator =>
  new Evaluators(dialect).of({ group, resource }) ?? assert.fail(`${resource} is not counted`);

const objectOf = (fields: object): ApiObject =>
  ({ apiVersion: 'v1', kind: 'Any', metadata: {}, ...fields }) as ApiObject;

const used = (evaluator: Evaluator, fields: object, nowMs = 0): object =>
  textsOf(usageAt(evaluator.measure(objectOf(fields)), nowMs));

interface Resources {
  readonly requests?: object;
  readonly limits?: object;
}

const container = (resources: Resources, more: object = {}) => ({ name: 'c', resources, ...more });
const cpu = (request: string, limit = request): Resources => ({ requests: { cpu: request }, limits: { cpu: limit } });
const cpuUsed = (request: string, limit = request) => ({
  ...{ cpu: request, 'requests.cpu': request, 'limits.cpu': limit },
});
const sidecar = { restartPolicy: 'Always' };
const onePod = { 'count/pods': '1', pods: '1' };

describe('what a pod uses', () => {
  const cases: Readonly<Record<string, readonly [pod: object, usage: object, nowMs?: number]>> = {
    nothing: [{ spec: { containers: [container({})] } }, onePod],
    'what has several names': [
      {
        spec: {
          containers: [
            container({
              requests: {
                cpu: '100m',
                memory: '1Mi',
                'ephemeral-storage': '32Mi',
                'hugepages-2Mi': '100Mi',
                'example.com/gpu': '3',
              },
              limits: {
                cpu: '2',
                memory: '2Mi',
                'ephemeral-storage': '64Mi',
                'hugepages-2Mi': '100Mi',
                'example.com/gpu': '3',
              },
            }),
          ],
        },
      },
      {
        ...onePod,
        ...cpuUsed('100m', '2'),
        ...{ memory: '1Mi', 'requests.memory': '1Mi', 'limits.memory': '2Mi' },
        ...{ 'ephemeral-storage': '32Mi', 'requests.ephemeral-storage': '32Mi', 'limits.ephemeral-storage': '64Mi' },
        ...{ 'hugepages-2Mi': '100Mi', 'requests.hugepages-2Mi': '100Mi' },
        'requests.example.com/gpu': '3',
      },
    ],
    'the sum of the containers': [
      { spec: { containers: [container(cpu('1')), container(cpu('2', '3'))] } },
      { ...onePod, ...cpuUsed('3', '4') },
    ],
    'the most of the containers before them': [
      { spec: { containers: [container(cpu('1'))], initContainers: [container(cpu('3')), container(cpu('2', '4'))] } },
      { ...onePod, ...cpuUsed('3', '4') },
    ],
    'sidecars run beside all': [
      { spec: { containers: [container(cpu('1'))], initContainers: [container(cpu('2'), sidecar)] } },
      { ...onePod, ...cpuUsed('3') },
    ],
    'containers that start beside sidecars': [
      {
        spec: {
          containers: [container(cpu('1'))],
          initContainers: [container(cpu('2'), sidecar), container(cpu('5')), container(cpu('1'), sidecar)],
        },
      },
      { ...onePod, ...cpuUsed('7') },
    ],
    'overhead counts as a request, and as a limit where there is one': [
      {
        spec: {
          containers: [container({ requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '2' } })],
          overhead: { cpu: '1', memory: '1Gi' },
        },
      },
      { ...onePod, ...cpuUsed('2', '3'), memory: '2Gi', 'requests.memory': '2Gi' },
    ],
    'a pod that failed is only stored': [
      { spec: { containers: [container(cpu('1'))] }, status: { phase: 'Failed' } },
      { 'count/pods': '1' },
    ],
    'a pod that is done is only stored': [
      { spec: { containers: [container(cpu('1'))] }, status: { phase: 'Succeeded' } },
      { 'count/pods': '1' },
    ],
    'a deleted pod counts until its grace period is over': [
      {
        metadata: { deletionTimestamp: '1970-01-01T00:00:10Z', deletionGracePeriodSeconds: 5 },
        spec: { containers: [container(cpu('1'))] },
      },
      { ...onePod, ...cpuUsed('1') },
      15_000,
    ],
    'and then is only stored': [
      {
        metadata: { deletionTimestamp: '1970-01-01T00:00:10Z', deletionGracePeriodSeconds: 5 },
        spec: { containers: [container(cpu('1'))] },
      },
      { 'count/pods': '1' },
      15_001,
    ],
  };
  for (const [title, [pod, usage, nowMs]] of Object.entries(cases)) {
    it(title, () => assert.deepEqual(used(found('pods'), pod, nowMs), usage));
  }
});

describe('what containers leave open', () => {
  it('each that lacks a request or limit of CPU or memory', () => {
    const pod = objectOf({
      spec: {
        containers: [
          { name: 'a', resources: { requests: { cpu: '1' } } },
          { name: 'b', resources: { requests: { memory: '1' }, limits: { memory: '1' } } },
        ],
        initContainers: [{ name: 'i' }],
      },
    });
    assert.deepEqual(Object.fromEntries(found('pods').unspecified?.(pod) ?? []), {
      cpu: ['b', 'i'],
      'requests.cpu': ['b', 'i'],
      'limits.cpu': ['a', 'b', 'i'],
      memory: ['a', 'i'],
      'requests.memory': ['a', 'i'],
      'limits.memory': ['a', 'i'],
    });
  });
});

describe('what other objects use', () => {
  const ports = [{ nodePort: 1 }, {}, {}];
  const service = (nodePorts: string, balancers: string) => ({
    ...{ 'count/services': '1', services: '1', 'services.nodeports': nodePorts, 'services.loadbalancers': balancers },
  });
  const claim = (storage: string, more: object = {}, status: object = {}) => ({
    spec: { resources: { requests: { storage } }, ...more },
    status,
  });
  const onlyClaim = { 'count/persistentvolumeclaims': '1', persistentvolumeclaims: '1' };
  const gold = 'gold.storageclass.storage.orch.io';
  const goldClaim = {
    ...onlyClaim,
    'requests.storage': '1Gi',
    [`${gold}/persistentvolumeclaims`]: '1',
    [`${gold}/requests.storage`]: '1Gi',
  };
  const cases: readonly (readonly [resource: string, object: object, usage: object])[] = [
    ['services', { spec: { type: 'ClusterIP', ports } }, service('0', '0')],
    ['services', { spec: { type: 'NodePort', ports } }, service('3', '0')],
    ['services', { spec: { type: 'LoadBalancer', ports } }, service('3', '1')],
    ['services', { spec: { type: 'LoadBalancer', ports, allocateLoadBalancerNodePorts: false } }, service('1', '1')],
    ['services', { spec: { type: 'ExternalName' } }, service('0', '0')],
    ['persistentvolumeclaims', claim('1Gi'), { ...onlyClaim, 'requests.storage': '1Gi' }],
    ['persistentvolumeclaims', claim('1500m'), { ...onlyClaim, 'requests.storage': '2' }],
    ['persistentvolumeclaims', { spec: {} }, onlyClaim],
    ['persistentvolumeclaims', claim('1Gi', { storageClassName: 'gold' }), goldClaim],
    [
      'persistentvolumeclaims',
      {
        ...claim('1Gi', { storageClassName: 'iron' }),
        metadata: { annotations: { 'volume.beta.orch.io/storage-class': 'gold' } },
      },
      goldClaim,
    ],
    [
      'persistentvolumeclaims',
      claim('1Gi', {}, { allocatedResources: { storage: '3Gi' } }),
      { ...onlyClaim, 'requests.storage': '3Gi' },
    ],
    [
      'persistentvolumeclaims',
      claim('5Gi', {}, { allocatedResources: { storage: '3Gi' } }),
      { ...onlyClaim, 'requests.storage': '5Gi' },
    ],
    ['configmaps', {}, { 'count/configmaps': '1', configmaps: '1' }],
    ['resourcequotas', {}, { 'count/resourcequotas': '1', resourcequotas: '1' }],
    ['serviceaccounts', {}, { 'count/serviceaccounts': '1' }],
  ];
  for (const [resource, object, usage] of cases) {
    it(`${resource} ${JSON.stringify(object)}`, () => assert.deepEqual(used(found(resource), object), usage));
  }

  it('claims of devices, by class', () => {
    const requests = [
      { deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 2 },
      { deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 1 },
      { deviceClassName: 'nic', allocationMode: 'All' },
      { deviceClassName: 'tape', allocationMode: 'Unheard' },
      { deviceClassName: 'many', allocationMode: 'ExactCount', count: 2n ** 63n - 1n },
    ];
    assert.deepEqual(used(found('resourceclaims', 'resource.orch.io'), { spec: { devices: { requests } } }), {
      'count/resourceclaims.resource.orch.io': '1',
      'gpu.deviceclass.resource.orch.io/devices': '3',
      'nic.deviceclass.resource.orch.io/devices': '32',
      'tape.deviceclass.resource.orch.io/devices': '0',
      'many.deviceclass.resource.orch.io/devices': '9223372036854775807',
    });
  });

  it('custom ones', () =>
    assert.deepEqual(used(found('crds', 'a.example.com'), {}), { 'count/crds.a.example.com': '1' }));
});

describe('which writes change what is used', () => {
  const cases: readonly (readonly [resource: string, writes: string])[] = [
    ['pods', 'create update/resize'],
    ['services', 'create update'],
    ['persistentvolumeclaims', 'create update'],
    ['secrets', 'create'],
    ['widgets', 'create'],
  ];
  for (const [resource, writes] of cases) {
    it(`${resource}: ${writes}`, () => {
      const { handles } = found(resource);
      const handled = (['create', 'update', 'delete', 'connect'] as const).flatMap((operation) =>
        ['', 'status', 'resize'].flatMap((subresource) =>
          handles(operation, subresource) ? [subresource === '' ? operation : `${operation}/${subresource}`] : [],
        ),
      );
      assert.equal(handled.join(' '), writes);
    });
  }
});

describe('which names are counted in what', () => {
  const names = `pods count/pods cpu requests.cpu limits.memory ephemeral-storage hugepages-2Mi requests.hugepages-1Gi
    requests.example.com/gpu example.com/gpu services services.nodeports count/services persistentvolumeclaims requests.storage
    gold.storageclass.storage.k8s.io/requests.storage gold.storageclass.storage.k8s.io/persistentvolumeclaims
    gpu.deviceclass.resource.k8s.io/devices configmaps count/configmaps count/deployments.apps deployments`.split(
    /\s+/,
  );
  const cases: readonly (readonly [group: string, resource: string, counted: string])[] = [
    [
      '',
      'pods',
      'pods count/pods cpu requests.cpu limits.memory ephemeral-storage hugepages-2Mi requests.hugepages-1Gi requests.example.com/gpu',
    ],
    ['', 'services', 'services services.nodeports count/services'],
    [
      '',
      'persistentvolumeclaims',
      'persistentvolumeclaims requests.storage gold.storageclass.storage.k8s.io/requests.storage gold.storageclass.storage.k8s.io/persistentvolumeclaims',
    ],
    ['resource.k8s.io', 'resourceclaims', 'gpu.deviceclass.resource.k8s.io/devices'],
    ['', 'configmaps', 'configmaps count/configmaps'],
    ['apps', 'deployments', 'count/deployments.apps'],
  ];
  for (const [group, resource, counted] of cases) {
    it(`${resource}: ${counted}`, () => {
      const { counts } = found(resource, group, kubernetes);
      assert.equal(names.filter(counts).join(' '), counted);
    });
  }

  for (const [group, resource] of [
    ['', 'events'],
    ['events.orch.io', 'events'],
    ['', 'bindings'],
    ['', 'componentstatuses'],
    ['authorization.orch.io', 'localsubjectaccessreviews'],
    ['authentication.orch.io', 'tokenreviews'],
  ] as const) {
    it(`${resource} of ${group || 'core'} are not counted`, () =>
      assert.equal(new Evaluators(orch).of({ group, resource }), undefined));
  }
});

describe('scopes of a pod', () => {
  const best = { spec: { containers: [container({})] } };
  const burstable = { spec: { containers: [container(cpu('1'))] } };
  const withSpec = (more: object) => ({ spec: { ...best.spec, ...more } });
  const term = { topologyKey: 'k', namespaces: ['a'] };
  const affinity = (more: object) => withSpec({ affinity: more });
  const required = (one: object) => ({ requiredDuringSchedulingIgnoredDuringExecution: [one] });
  const preferred = (podAffinityTerm: object) => ({
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm }],
  });
  const priority = withSpec({ priorityClassName: 'high' });
  const exists = (scopeName: string) => ({ scopeName, operator: 'Exists', values: [] });
  const of = (operator: string, ...values: string[]) => ({ scopeName: 'PriorityClass', operator, values });
  const cases: readonly (readonly [pod: object, scope: ReturnType<typeof of>, isIn: boolean])[] = [
    [best, exists('BestEffort'), true],
    [best, exists('NotBestEffort'), false],
    [burstable, exists('BestEffort'), false],
    [burstable, exists('NotBestEffort'), true],
    [best, exists('Terminating'), false],
    [best, exists('NotTerminating'), true],
    [withSpec({ activeDeadlineSeconds: 5 }), exists('Terminating'), true],
    [withSpec({ activeDeadlineSeconds: 5 }), exists('NotTerminating'), false],
    [best, exists('PriorityClass'), false],
    [priority, exists('PriorityClass'), true],
    [priority, of('In', 'low', 'high'), true],
    [priority, of('In', 'low'), false],
    [priority, of('NotIn', 'low'), true],
    [priority, of('NotIn', 'high'), false],
    [priority, of('DoesNotExist'), false],
    [best, of('In', 'low'), false],
    [best, of('NotIn', 'low'), true],
    [best, of('DoesNotExist'), true],
    [best, of('Like', 'low'), false],
    [best, exists('CrossNamespacePodAffinity'), false],
    [affinity({ podAffinity: required({ topologyKey: 'k' }) }), exists('CrossNamespacePodAffinity'), false],
    [affinity({ podAffinity: required(term) }), exists('CrossNamespacePodAffinity'), true],
    [
      affinity({ podAntiAffinity: required({ topologyKey: 'k', namespaceSelector: {} }) }),
      exists('CrossNamespacePodAffinity'),
      true,
    ],
    [affinity({ podAffinity: preferred(term) }), exists('CrossNamespacePodAffinity'), true],
    [affinity({ podAntiAffinity: preferred(term) }), exists('CrossNamespacePodAffinity'), true],
    [best, exists('Unheard'), false],
  ];
  for (const [pod, scope, isIn] of cases) {
    it(`${JSON.stringify(pod)} ${JSON.stringify(scope)}: ${isIn}`, () =>
      assert.equal(isSelected(found('pods').measure(objectOf(pod)), scope), isIn));
  }

  it('other objects are in none', () =>
    assert.equal(isSelected(found('secrets').measure(objectOf({})), of('DoesNotExist')), false));
});
