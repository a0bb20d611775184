import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Field, type Schema, type StructSchema, schemaOf } from '../../../schema/schema.ts';
import { validate } from '../../../schema/validate.ts';
import { created, decoded, type Sent } from './pod-fixture.ts';
import { podSchema } from './pod-schema.ts';

type Walk = { readonly field: Field; readonly schema: Schema };

/** The field at a path: `spec.containers.ports`. Lists and maps need no step. */
function at(path: string): Walk {
  let walk: Walk = { field: podSchema.fields.metadata, schema: podSchema };
  for (const name of path.split('.')) {
    const struct = through(walk.schema);
    const field = (struct.fields as Readonly<Record<string, Field>>)[name];
    assert.ok(field, `${path}: no ${name} in ${struct.name}`);
    walk = { field, schema: schemaOf(field) };
  }
  return walk;
}

function through(schema: Schema): StructSchema {
  if (schema.type === 'list') return through(schema.items);
  if (schema.type === 'map') return through(schema.values);
  assert.equal(schema.type, 'struct');
  return schema as StructSchema;
}

/** Path, protobuf numbers with those of enclosing messages, type, presence; typed by hand from the Kubernetes API. */
const facts: readonly (readonly [string, string, Schema['type'], Field['presence'] | 'required'])[] = [
  ['spec', '2', 'struct', 'always'],
  ['status', '3', 'struct', 'always'],
  ['spec.volumes', '1', 'list', 'implicit'],
  ['spec.containers', '2', 'list', 'required'],
  ['spec.restartPolicy', '3', 'string', 'implicit'],
  ['spec.terminationGracePeriodSeconds', '4', 'integer', 'explicit'],
  ['spec.activeDeadlineSeconds', '5', 'integer', 'explicit'],
  ['spec.dnsPolicy', '6', 'string', 'implicit'],
  ['spec.nodeSelector', '7', 'map', 'implicit'],
  ['spec.serviceAccountName', '8', 'string', 'implicit'],
  ['spec.serviceAccount', '9', 'string', 'implicit'],
  ['spec.nodeName', '10', 'string', 'implicit'],
  ['spec.hostNetwork', '11', 'boolean', 'implicit'],
  ['spec.securityContext', '14', 'struct', 'explicit'],
  ['spec.initContainers', '20', 'list', 'implicit'],
  ['spec.automountServiceAccountToken', '21', 'boolean', 'explicit'],
  ['spec.tolerations', '22', 'list', 'implicit'],
  ['spec.priority', '25', 'integer', 'explicit'],
  ['spec.runtimeClassName', '29', 'string', 'explicit'],
  ['spec.overhead', '32', 'map', 'implicit'],
  ['spec.topologySpreadConstraints', '33', 'list', 'implicit'],
  ['spec.ephemeralContainers', '34', 'list', 'implicit'],
  ['spec.schedulingGates', '38', 'list', 'implicit'],
  ['spec.resources', '40', 'struct', 'explicit'],
  ['spec.containers.name', '1', 'string', 'required'],
  ['spec.containers.image', '2', 'string', 'implicit'],
  ['spec.containers.ports', '6', 'list', 'implicit'],
  ['spec.containers.resources', '8', 'struct', 'always'],
  ['spec.containers.envFrom', '19', 'list', 'implicit'],
  ['spec.containers.restartPolicy', '24', 'string', 'explicit'],
  ['spec.containers.ports.containerPort', '3', 'integer', 'always'],
  ['spec.containers.livenessProbe', '10', 'struct', 'explicit'],
  ['spec.containers.livenessProbe.httpGet', '1/2', 'struct', 'explicit'],
  ['spec.containers.livenessProbe.httpGet.port', '2', 'intOrString', 'always'],
  ['spec.containers.livenessProbe.grpc.service', '2', 'string', 'explicit'],
  ['spec.containers.livenessProbe.failureThreshold', '6', 'integer', 'implicit'],
  ['spec.containers.lifecycle.preStop.sleep.seconds', '1', 'integer', 'always'],
  ['spec.containers.env.valueFrom.secretKeyRef.name', '1/1', 'string', 'implicit'],
  ['spec.containers.env.valueFrom.secretKeyRef.key', '2', 'string', 'required'],
  ['spec.containers.env.valueFrom.resourceFieldRef.divisor', '3', 'quantity', 'always'],
  ['spec.containers.securityContext.appArmorProfile', '12', 'struct', 'explicit'],
  ['spec.containers.securityContext.runAsNonRoot', '5', 'boolean', 'explicit'],
  ['spec.containers.volumeMounts.recursiveReadOnly', '7', 'string', 'explicit'],
  ['spec.ephemeralContainers.image', '1/2', 'string', 'implicit'],
  ['spec.ephemeralContainers.targetContainerName', '2', 'string', 'implicit'],
  ['spec.volumes.name', '1', 'string', 'required'],
  ['spec.volumes.hostPath', '2/1', 'struct', 'explicit'],
  ['spec.volumes.hostPath.type', '2', 'string', 'explicit'],
  ['spec.volumes.emptyDir.sizeLimit', '2', 'quantity', 'explicit'],
  ['spec.volumes.configMap.name', '1/1', 'string', 'implicit'],
  ['spec.volumes.configMap.items.path', '2', 'string', 'required'],
  ['spec.volumes.projected', '2/26', 'struct', 'explicit'],
  ['spec.volumes.projected.sources.clusterTrustBundle.path', '4', 'string', 'required'],
  ['spec.volumes.iscsi.lun', '3', 'integer', 'always'],
  ['spec.volumes.iscsi.chapAuthSession', '11', 'boolean', 'implicit'],
  ['spec.volumes.storageos', '2/27', 'struct', 'explicit'],
  ['spec.volumes.ephemeral.volumeClaimTemplate.spec.selector', '4', 'struct', 'explicit'],
  ['spec.volumes.ephemeral.volumeClaimTemplate.spec.resources', '2', 'struct', 'always'],
  ['spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution.preference', '2', 'struct', 'always'],
  ['status.phase', '1', 'string', 'implicit'],
  ['status.conditions.lastProbeTime', '3', 'time', 'always'],
  ['status.startTime', '7', 'time', 'explicit'],
  ['status.containerStatuses', '8', 'list', 'implicit'],
  ['status.qosClass', '9', 'string', 'implicit'],
  ['status.podIPs', '12', 'list', 'implicit'],
  ['status.hostIPs', '16', 'list', 'implicit'],
  ['status.containerStatuses.ready', '4', 'boolean', 'always'],
  ['status.containerStatuses.imageID', '7', 'string', 'always'],
  ['status.containerStatuses.state', '2', 'struct', 'always'],
  ['status.containerStatuses.state.terminated.finishedAt', '6', 'time', 'always'],
  ['status.containerStatuses.allocatedResourcesStatus', '14', 'list', 'implicit'],
];

for (const [path, numbers, type, presence] of facts) {
  test(`schema: ${path}`, () => {
    const { field, schema } = at(path);
    const found = [...(field.within ?? []), field.number].join('/');
    assert.deepEqual([found, schema.type, field.required ? 'required' : field.presence], [numbers, type, presence]);
  });
}

/** Path, list type with map keys, patch strategy with merge key. */
const lists: readonly (readonly [string, string, string])[] = [
  ['spec.volumes', 'map name', 'merge,retainKeys name'],
  ['spec.containers', 'map name', 'merge name'],
  ['spec.containers.ports', 'map containerPort,protocol', 'merge containerPort'],
  ['spec.containers.env', 'map name', 'merge name'],
  ['spec.containers.volumeMounts', 'map mountPath', 'merge mountPath'],
  ['spec.containers.volumeDevices', 'map devicePath', 'merge devicePath'],
  ['spec.containers.resources.claims', 'map name', ' '],
  ['spec.containers.args', 'atomic', ' '],
  ['spec.tolerations', 'atomic', ' '],
  ['spec.imagePullSecrets', 'map name', 'merge name'],
  ['spec.hostAliases', 'map ip', 'merge ip'],
  ['spec.topologySpreadConstraints', 'map topologyKey,whenUnsatisfiable', 'merge topologyKey'],
  ['spec.resourceClaims', 'map name', 'merge,retainKeys name'],
  ['status.conditions', 'map type', 'merge type'],
  ['status.podIPs', 'map ip', 'merge ip'],
  ['status.hostIPs', 'atomic', 'merge ip'],
];

for (const [path, apply, patch] of lists) {
  test(`schema: merges of ${path}`, () => {
    const { schema } = at(path);
    assert.ok(schema.type === 'list');
    const keys = schema.listType === 'map' ? ` ${schema.mapKeys?.join()}` : '';
    assert.equal(`${schema.listType}${keys}`, apply);
    assert.equal(`${schema.patchStrategy ?? ''} ${schema.patchMergeKey ?? ''}`, patch);
  });
}

test('schema: atomic structs', () => {
  for (const path of ['spec.nodeSelector', 'spec.containers.env.valueFrom.fieldRef']) {
    const { schema } = at(path);
    assert.equal(schema.type === 'map' ? schema.mapType : through(schema).structType, 'atomic', path);
  }
  assert.equal(through(at('spec.securityContext').schema).structType, 'granular');
});

/** A realistic pod that uses most features. */
const large: Sent = {
  metadata: {
    name: 'shop-7d9c5b7f4-x2x9k',
    namespace: 'shop',
    labels: { app: 'shop', tier: 'front' },
    ownerReferences: [
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'shop-7d9c5b7f4', uid: '7d1d', controller: true },
    ],
  },
  spec: {
    serviceAccountName: 'shop',
    priority: 0,
    nodeName: 'node-3',
    initContainers: [
      { name: 'migrate', image: 'shop/migrate:5', command: ['migrate', '--up'] },
      {
        name: 'log-agent',
        image: 'logs:2',
        restartPolicy: 'Always',
        startupProbe: { exec: { command: ['true'] } },
        resources: { limits: { cpu: 0.5, memory: '64Mi' } },
      },
    ],
    containers: [
      {
        name: 'web',
        image: 'registry.example.com:5000/shop/web@sha256:0123456789abcdef',
        ports: [
          { name: 'http', containerPort: 8080 },
          { name: 'dns', containerPort: 53, protocol: 'UDP' },
          { name: 'dns-tcp', containerPort: 53, protocol: 'TCP' },
        ],
        env: [
          { name: 'MODE', value: 'live' },
          { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          { name: 'LABEL', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
          { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } } },
          { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'db', key: 'password', optional: true } } },
        ],
        envFrom: [{ prefix: 'CONF_', configMapRef: { name: 'shop' } }],
        resources: { requests: { cpu: '250m', memory: '1024Mi' }, limits: { memory: '1Gi', 'example.com/gpu': 1 } },
        livenessProbe: { httpGet: { path: '/live', port: 'http' }, initialDelaySeconds: 5 },
        readinessProbe: { grpc: { port: 9000 }, periodSeconds: 3 },
        lifecycle: { preStop: { sleep: { seconds: 5 } } },
        securityContext: {
          runAsNonRoot: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
          seccompProfile: { type: 'RuntimeDefault' },
        },
        volumeMounts: [
          { name: 'conf', mountPath: '/etc/shop', readOnly: true, recursiveReadOnly: 'IfPossible' },
          { name: 'tmp', mountPath: '/tmp' },
          { name: 'identity', mountPath: '/var/run/secrets/tokens' },
        ],
      },
    ],
    volumes: [
      { name: 'conf', configMap: { name: 'shop', items: [{ key: 'a', path: 'a.conf', mode: 0o400 }] } },
      { name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: '0.5Gi' } },
      {
        name: 'identity',
        projected: {
          sources: [
            { serviceAccountToken: { path: 'token', audience: 'shop' } },
            { clusterTrustBundle: { signerName: 'example.com/ca', labelSelector: {}, path: 'ca.pem' } },
            { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
          ],
        },
      },
      {
        name: 'scratch',
        ephemeral: {
          volumeClaimTemplate: {
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        },
      },
    ],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] }],
        },
      },
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          {
            weight: 50,
            podAffinityTerm: {
              labelSelector: { matchLabels: { app: 'shop' } },
              topologyKey: 'topology.example.com/zone',
            },
          },
        ],
      },
    },
    tolerations: [
      { operator: 'Exists' },
      { key: 'gone', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
    ],
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'zone',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app: 'shop' } },
      },
      { maxSkew: 2, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' },
    ],
    hostAliases: [{ ip: '10.0.0.1', hostnames: ['legacy.example.com'] }],
    dnsConfig: { nameservers: ['10.0.0.10'], searches: ['example.com.'], options: [{ name: 'ndots', value: '2' }] },
    imagePullSecrets: [{ name: 'registry' }],
    readinessGates: [{ conditionType: 'example.com/registered' }],
    os: { name: 'linux' },
  },
};

test('a large pod is decoded, defaulted and valid', () => {
  const { pod, errors } = created(large);
  assert.deepEqual(errors, []);
  const [web] = pod.spec?.containers ?? [];
  assert.deepEqual(web?.resources, {
    limits: { memory: '1Gi', 'example.com/gpu': '1' },
    requests: { cpu: '250m', memory: '1Gi', 'example.com/gpu': '1' },
  });
  assert.deepEqual(web?.env?.[1], {
    name: 'POD',
    valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } },
  });
  assert.equal(pod.status?.qosClass, 'Burstable');
});

test('decoding is idempotent', () => {
  const { object } = created(large);
  assert.deepEqual(decoded(JSON.parse(JSON.stringify(object))), object);
});

test('fields that are always there are written out', () => {
  const object = decoded({
    metadata: { name: 'x' },
    spec: { containers: [{ name: 'c' }] },
    status: { conditions: [{ type: 'Ready', status: 'True' }], containerStatuses: [{ name: 'c' }] },
  });
  const status = object['status'] as Sent;
  assert.deepEqual(status['conditions'], [
    { type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: null },
  ]);
  assert.deepEqual(status['containerStatuses'], [
    { name: 'c', state: {}, lastState: {}, ready: false, restartCount: 0, image: '', imageID: '' },
  ]);
  assert.deepEqual(validate(podSchema, object), []);
});
