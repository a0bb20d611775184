import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StatusError } from '../meta/status-error.ts';
import { RegistryFixture } from '../registry/registry-fixture.ts';

/** Objects with several mistakes, of which kube-apiserver tells in this order. */
const rows: readonly { readonly at: string; readonly sent: object; readonly fields: readonly string[] }[] = [
  {
    at: '/apis/batch/v1/namespaces/n/jobs',
    sent: {
      metadata: { name: 'j' },
      spec: {
        ...{ maxFailedIndexes: -1, backoffLimitPerIndex: -1, ttlSecondsAfterFinished: -1, backoffLimit: -1 },
        ...{ managedBy: 'a', completionMode: 'X', podReplacementPolicy: 'Y' },
        template: {
          metadata: { annotations: { 'a b': '' } },
          spec: { restartPolicy: 'Never', dnsPolicy: 'X', containers: [{ name: 'C' }, { name: 'C', image: 'i' }] },
        },
      },
    },
    fields: [
      'spec.backoffLimit',
      'spec.ttlSecondsAfterFinished',
      'spec.backoffLimitPerIndex',
      'spec.maxFailedIndexes',
      'spec.managedBy',
      'spec.completionMode',
      'spec.podReplacementPolicy',
      'spec.template.annotations',
      'spec.template.spec.containers[0].name',
      'spec.template.spec.containers[0].image',
      'spec.template.spec.containers[1].name',
      'spec.template.spec.containers[1].name',
      'spec.template.spec.dnsPolicy',
    ],
  },
  {
    at: '/apis/batch/v1/namespaces/n/jobs',
    sent: {
      metadata: { name: 'j' },
      spec: {
        ...{ maxFailedIndexes: -1, manualSelector: true, selector: { matchLabels: { a: 'b c' } } },
        template: {
          metadata: { annotations: { 'a b': '' } },
          spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] },
        },
      },
    },
    fields: [
      'spec.maxFailedIndexes',
      'spec.backoffLimitPerIndex',
      'spec.maxFailedIndexes',
      'spec.template.annotations',
      'spec.selector.matchLabels',
    ],
  },
  {
    at: '/api/v1/persistentvolumes',
    sent: {
      metadata: { name: 'v' },
      spec: {
        ...{ accessModes: ['ReadWriteOnce'], capacity: { storage: '1' } },
        ...{ local: {}, csi: { driver: 'd', volumeHandle: 'h' } },
      },
    },
    fields: ['spec.local.path', 'spec.nodeAffinity', 'spec.csi'],
  },
  {
    at: '/api/v1/persistentvolumes',
    sent: {
      metadata: { name: 'v' },
      spec: {
        ...{ accessModes: ['ReadWriteOnce'], capacity: { storage: '1' } },
        ...{ gcePersistentDisk: {}, csi: { driver: 'd', volumeHandle: 'h' } },
      },
    },
    fields: ['spec.persistentDisk.pdName', 'spec.csi'],
  },
  {
    at: '/apis/storage.orch.io/v1/volumeattachments',
    sent: {
      metadata: { name: 'a' },
      spec: {
        ...{ attacher: 'a', nodeName: 'n' },
        source: {
          inlineVolumeSpec: {
            capacity: { storage: '1' },
            storageClassName: 'c',
            csi: { driver: 'd', volumeHandle: 'h' },
          },
        },
      },
    },
    fields: ['capacity', 'accessModes', 'storageClassName'].map((name) => `spec.source.inlineVolumeSpec.${name}`),
  },
  {
    at: '/apis/batch/v1/namespaces/n/cronjobs',
    sent: {
      metadata: { name: 'c' },
      spec: {
        ...{ schedule: 'x', timeZone: 'Q/Z', startingDeadlineSeconds: -1 },
        jobTemplate: {
          spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
        },
      },
    },
    fields: ['spec.schedule', 'spec.startingDeadlineSeconds', 'spec.timeZone'],
  },
  {
    at: '/apis/apps/v1/namespaces/n/daemonsets',
    sent: {
      metadata: { name: 'd' },
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: {
          metadata: { labels: { a: 'b' } },
          spec: {
            ...{ restartPolicy: 'X', dnsPolicy: 'X', containers: [{ name: 'c', image: 'i' }] },
            ephemeralContainers: [{ name: 'e', image: 'i' }],
          },
        },
      },
    },
    fields: [
      'spec.template.spec.restartPolicy',
      'spec.template.spec.dnsPolicy',
      'spec.template.spec.ephemeralContainers',
      'spec.template.spec.restartPolicy',
    ],
  },
  {
    at: '/apis/batch/v1/namespaces/n/jobs',
    sent: {
      metadata: { name: 'j' },
      spec: {
        template: { spec: { restartPolicy: 'X', dnsPolicy: 'X', containers: [{ name: 'c', image: 'i' }] } },
      },
    },
    fields: ['spec.template.spec.restartPolicy', 'spec.template.spec.dnsPolicy', 'spec.template.spec.restartPolicy'],
  },
  {
    at: '/api/v1/namespaces/n/pods',
    sent: {
      metadata: { name: 'p' },
      spec: {
        ...{ hostname: 'A_', dnsPolicy: 'X', restartPolicy: 'X', priorityClassName: '', nodeName: 'A_' },
        securityContext: { runAsUser: -1, fsGroup: -1, seccompProfile: {} },
        topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'a' }],
        volumes: [{ name: 'A_', azureDisk: { diskName: 'a', diskURI: 'x', cachingMode: 'X' } }],
        containers: [{ name: 'A_', imagePullPolicy: 'X', terminationMessagePolicy: 'X' }],
      },
    },
    fields: [
      'spec.volumes[0].azureDisk.cachingMode',
      'spec.volumes[0].azureDisk.diskURI',
      'spec.volumes[0].name',
      'spec.containers[0].name',
      'spec.containers[0].image',
      'spec.containers[0].terminationMessagePolicy',
      'spec.containers[0].imagePullPolicy',
      'spec.restartPolicy',
      'spec.dnsPolicy',
      'spec.securityContext.fsGroup',
      'spec.securityContext.runAsUser',
      'spec.securityContext.seccompProfile.type',
      'spec.topologySpreadConstraints[0].whenUnsatisfiable',
      'spec.nodeName',
      'spec.hostname',
    ],
  },
  {
    at: '/apis/apps/v1/namespaces/n/daemonsets',
    sent: {
      metadata: { name: 'd' },
      spec: {
        selector: { matchLabels: { a: 'b' } },
        updateStrategy: { rollingUpdate: { maxUnavailable: '200%' } },
        minReadySeconds: -1,
        template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: '' }] } },
      },
    },
    fields: [
      'spec.template.spec.containers[0].image',
      'spec.minReadySeconds',
      'spec.updateStrategy.rollingUpdate.maxUnavailable',
    ],
  },
  {
    at: '/apis/discovery.orch.io/v1/namespaces/n/endpointslices',
    sent: {
      metadata: { name: 'e' },
      addressType: 'X',
      endpoints: [{ addresses: [] }],
      ports: [{ name: 'A_', protocol: 'X' }],
    },
    fields: ['addressType', 'endpoints[0].addresses', 'ports[0].name', 'ports[0].protocol'],
  },
  {
    at: '/api/v1/persistentvolumes',
    sent: {
      metadata: { name: 'v' },
      spec: {
        ...{ hostPath: { path: '' }, storageClassName: 'A_', volumeMode: 'X' },
        ...{ persistentVolumeReclaimPolicy: 'X', capacity: { storage: '0' }, accessModes: ['X'] },
      },
    },
    fields: [
      'spec.accessModes',
      'spec.capacity[storage]',
      'spec.persistentVolumeReclaimPolicy',
      'spec.hostPath.path',
      'spec.storageClassName',
      'spec.volumeMode',
    ],
  },
  {
    at: '/api/v1/namespaces/n/persistentvolumeclaims',
    sent: {
      metadata: { name: 'c' },
      spec: { accessModes: ['Y'], selector: { matchExpressions: [{ key: 'a', operator: 'X' }] }, volumeMode: 'Q' },
    },
    fields: [
      'spec.selector.matchExpressions[0].operator',
      'spec.accessModes',
      'spec.resources[storage]',
      'spec.volumeMode',
    ],
  },
  {
    at: '/apis/policy/v1/namespaces/n/poddisruptionbudgets',
    sent: {
      metadata: { name: 'b' },
      spec: { maxUnavailable: -5, selector: { matchExpressions: [{ key: 'a', operator: 'X' }] } },
    },
    fields: ['spec.maxUnavailable', 'spec.selector.matchExpressions[0].operator'],
  },
];

for (const { at, sent, fields } of rows) {
  test(`order of errors: ${at.split('/').at(-1)}`, async () => {
    await using fixture = await RegistryFixture.open();
    await assert.rejects(fixture.object('POST', at, sent), (error) => {
      assert.ok(error instanceof StatusError);
      assert.deepEqual(
        error.details?.causes?.map(({ field }) => field),
        fields,
      );
      return true;
    });
  });
}
