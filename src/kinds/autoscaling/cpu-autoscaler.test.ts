import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { canonical } from '../stored-as.ts';
import { read, row, type Sent } from '../strategy-fixture.ts';
import { cpuAutoscaler } from './cpu-autoscaler.ts';
import { horizontalPodAutoscaler } from './horizontal-pod-autoscaler.ts';

const stored = horizontalPodAutoscaler(kubernetes);
const kind = cpuAutoscaler(kubernetes, stored);
const base = { scaleTargetRef: { kind: 'Deployment', name: 'd' }, minReplicas: 1, maxReplicas: 3 };
const cpu = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } };
const selector = { matchLabels: { a: 'b' } };
const prefix = 'autoscaling.alpha.kubernetes.io/';

/** What the annotation of the metrics says of a metric. */
const metrics: readonly [stored: Sent, annotation: string][] = [
  [
    { type: 'Resource', resource: { name: 'memory', target: { type: 'Utilization', averageUtilization: 60 } } },
    '{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":60}}',
  ],
  [
    { type: 'Resource', resource: { name: 'cpu', target: { type: 'AverageValue', averageValue: '1' } } },
    '{"type":"Resource","resource":{"name":"cpu","targetAverageValue":"1"}}',
  ],
  [
    {
      type: 'ContainerResource',
      containerResource: { name: 'cpu', container: 'c', target: { type: 'Utilization', averageUtilization: 60 } },
    },
    '{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageUtilization":60,"container":"c"}}',
  ],
  [
    { type: 'Pods', pods: { metric: { name: 'm', selector }, target: { type: 'AverageValue', averageValue: '2' } } },
    '{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"2","selector":{"matchLabels":{"a":"b"}}}}',
  ],
  [
    {
      type: 'External',
      external: { metric: { name: 'q', selector }, target: { type: 'AverageValue', averageValue: '1500m' } },
    },
    '{"type":"External","external":{"metricName":"q","metricSelector":{"matchLabels":{"a":"b"}},"targetAverageValue":"1500m"}}',
  ],
  [
    {
      type: 'Object',
      object: {
        describedObject: { kind: 'K', name: 'n' },
        metric: { name: 'm' },
        target: { type: 'Value', value: '3' },
      },
    },
    '{"type":"Object","object":{"target":{"kind":"K","name":"n"},"metricName":"m","targetValue":"3"}}',
  ],
];

const { toStored, fromStored } = kind.storedAs ?? assert.fail('not converted');
const there = (sent: Sent) => canonical(kind, fromStored(read(stored, sent)));
const back = (sent: Sent) => canonical(stored, toStored(there(sent) as unknown as Parameters<typeof toStored>[0]));

for (const [metric, annotation] of metrics) {
  test(`HorizontalPodAutoscaler v1: ${annotation}`, () => {
    const sent = { metadata: { annotations: { mine: 'x' } }, spec: { ...base, metrics: [cpu, metric] } };
    const { metadata, spec } = there(sent) as unknown as { metadata: { annotations: unknown }; spec: unknown };
    assert.deepEqual(metadata.annotations, { mine: 'x', [`${prefix}metrics`]: `[${annotation}]` });
    assert.deepEqual(spec, { ...base, targetCPUUtilizationPercentage: 80 });
    assert.deepEqual(back(sent), read(stored, { ...sent, spec: { ...base, metrics: [metric, cpu] } }));
  });
}

test('HorizontalPodAutoscaler v1: behavior, present metrics and conditions survive', () => {
  const rules = {
    selectPolicy: 'Max',
    policies: [{ type: 'Pods', value: 1, periodSeconds: 60 }],
    stabilizationWindowSeconds: 0,
  };
  const currentMetrics = [
    { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 7, averageValue: '1m' } } },
  ];
  const conditions = [{ type: 'AbleToScale', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z', reason: 'R' }];
  const sent = {
    spec: { ...base, metrics: [cpu], behavior: { scaleUp: rules, scaleDown: { selectPolicy: 'Min' } } },
    status: { currentReplicas: 1, desiredReplicas: 2, currentMetrics, conditions },
  };
  const { metadata, status } = there(sent) as unknown as {
    metadata: { annotations: Record<string, string> };
    status: unknown;
  };
  assert.deepEqual(status, { currentReplicas: 1, desiredReplicas: 2, currentCPUUtilizationPercentage: 7 });
  assert.deepEqual(
    Object.keys(metadata.annotations),
    ['current-metrics', 'conditions', 'behavior'].map((each) => prefix + each),
  );
  assert.equal(
    metadata.annotations[`${prefix}behavior`],
    '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":60}]},"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Min","Policies":null}}',
  );
  assert.deepEqual(back(sent), read(stored, sent));
});

test('HorizontalPodAutoscaler v1: processor time comes after the metrics of the annotation', () => {
  const [[metric]] = metrics as [(typeof metrics)[number]];
  const { spec } = back({ spec: { ...base, metrics: [cpu, metric] } }) as unknown as { spec: { metrics: unknown } };
  assert.deepEqual(spec.metrics, [metric, cpu]);
});

for (const text of ['', '{', '7', '{"a":1}', '[7,null,{"type":7,"pods":[]}]']) {
  test(`HorizontalPodAutoscaler v1: annotations ${JSON.stringify(text)} are passed over`, () => {
    const annotations = Object.fromEntries(
      ['metrics', 'current-metrics', 'conditions', 'behavior'].map((each) => [prefix + each, text]),
    );
    const object = canonical(stored, toStored(read(kind, { metadata: { annotations }, spec: base })));
    assert.equal(object.metadata.annotations, undefined);
  });
}

test('HorizontalPodAutoscaler v1: columns are those of the stored form', () => {
  assert.equal(row(kind, { spec: { ...base, targetCPUUtilizationPercentage: 50 } })['Targets'], 'cpu: <unknown>/50%');
});
