import { sizes } from './scale.ts';

interface ConfigMapOptions {
  readonly name: string;
  readonly namespace: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Makes one version of the object differ from another. */
  readonly version?: string;
}

/** What a client sends to create an object of about `sizes.objectBytes` once it is stored. */
export function configMapBody({ name, namespace, labels, version = 'a' }: ConfigMapOptions): Buffer {
  const metadata = { name, namespace, ...(labels && { labels }) };
  return padded({ kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { version } }, 120);
}

/** The same as the product stores it (src/codec/object-bytes.ts), with what a server adds. */
export function storedConfigMap({ name, namespace, labels, version = 'a' }: ConfigMapOptions, index: number): Buffer {
  const metadata = {
    name,
    namespace,
    uid: `00000000-0000-4000-8000-${index.toString(16).padStart(12, '0')}`,
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...(labels && { labels }),
  };
  return padded({ kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { version } }, 27);
}

/** The node that the pod of that number runs on. */
const nodeName = (index: number): string => `node-${String(index % sizes.nodes).padStart(4, '0')}`;

/** A running Pod as the product stores it, of `sizes.podBytes`: the fields that a scheduler and a node agent leave. */
export function storedPod(name: string, index: number): Buffer {
  const address = `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`;
  const condition = (type: string) => ({ type, status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' });
  const pod = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name,
      generateName: 'pod-',
      namespace: 'default',
      uid: `00000000-0000-4000-8000-${index.toString(16).padStart(12, '0')}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { app: `app-${index % 1_000}`, tier: index % 2 === 0 ? 'front' : 'back' },
    },
    spec: {
      volumes: [
        { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token' } }], defaultMode: 420 } },
      ],
      containers: [
        {
          name: 'main',
          image: 'registry.example/app:1',
          env: [] as { readonly name: string; readonly value: string }[],
          resources: { requests: { cpu: '100m', memory: '64Mi' } },
          volumeMounts: [{ name: 'token', readOnly: true, mountPath: '/var/run/secrets' }],
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
          imagePullPolicy: 'IfNotPresent',
        },
      ],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      serviceAccountName: 'default',
      nodeName: nodeName(index),
      securityContext: {},
      schedulerName: 'default-scheduler',
      tolerations: [{ key: 'not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }],
      priority: 0,
      enableServiceLinks: true,
    },
    status: {
      phase: 'Running',
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map(condition),
      hostIP: '10.255.0.1',
      podIP: address,
      podIPs: [{ ip: address }],
      startTime: '2026-01-01T00:00:00Z',
      qosClass: 'Burstable',
    },
  };
  const { env } = pod.spec.containers[0] as (typeof pod.spec.containers)[number];
  while (JSON.stringify(pod).length < sizes.podBytes) env.push({ name: `SETTING_${env.length}`, value: 'some value' });
  return Buffer.from(JSON.stringify(pod));
}

interface ConfigMap {
  readonly kind: 'ConfigMap';
  readonly apiVersion: 'v1';
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly data: Readonly<Record<string, string>>;
}

/** `reserved` is what the server adds to the bytes. */
function padded(object: ConfigMap, reserved: number): Buffer {
  const bare = JSON.stringify({ ...object, data: { ...object.data, text: '' } }).length;
  const text = 'the quick brown fox jumps over the lazy dog; '.repeat(sizes.objectBytes / 40);
  return Buffer.from(
    JSON.stringify({ ...object, data: { ...object.data, text: text.slice(0, sizes.objectBytes - reserved - bare) } }),
  );
}
