import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { anonymousUser } from '../../request/user-info.ts';
import { create, read, row, type Sent, update } from '../strategy-fixture.ts';
import { horizontalPodAutoscaler } from './horizontal-pod-autoscaler.ts';

const kind = horizontalPodAutoscaler(orch);
const scaleTargetRef = { kind: 'Deployment', name: 'd' };
const valid = { scaleTargetRef, maxReplicas: 3 };
const cpu = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } };
const at = 'spec.metrics[0]';
const withMetric = (type: string, sources: Sent): Sent => ({ ...valid, metrics: [{ type, ...sources }] });
const metric = { name: 'm' };
const value = { type: 'Value', value: '1' };
const average = { type: 'AverageValue', averageValue: '1' };
const withRules = (rules: Sent): Sent => ({ ...valid, behavior: { scaleUp: rules } });
const policy = { type: 'Pods', value: 1, periodSeconds: 60 };
const up = 'spec.behavior.scaleUp';

const rows: readonly [why: string, spec: Sent, errors: readonly string[]][] = [
  ['the least', valid, []],
  [
    'nothing',
    {},
    [
      'spec.maxReplicas: Invalid value: 0: must be greater than 0',
      'spec.scaleTargetRef.kind: Required value',
      'spec.scaleTargetRef.name: Required value',
    ],
  ],
  [
    'bad names',
    { ...valid, scaleTargetRef: { kind: 'a/b', name: '..' } },
    [
      'spec.scaleTargetRef.kind: Invalid value: "a/b": may not contain \'/\'',
      'spec.scaleTargetRef.name: Invalid value: "..": may not be \'..\'',
    ],
  ],
  [
    'less than 1',
    { ...valid, minReplicas: 0, metrics: [{ type: 'External', external: { metric, target: value } }] },
    ['spec.minReplicas: Invalid value: 0: must be greater than or equal to 1'],
  ],
  [
    'more than the greatest',
    { ...valid, minReplicas: 4 },
    ['spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`'],
  ],
  [
    'no type',
    withMetric('', {}),
    [
      `${at}.type: Required value: must specify a metric source type`,
      `${at}.type: Unsupported value: "": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"`,
    ],
  ],
  [
    'no source',
    withMetric('Pods', {}),
    [`${at}.pods: Required value: must populate information for the given metric source`],
  ],
  [
    'another source',
    withMetric('Pods', { external: { metric, target: value } }),
    [`${at}.pods: Required value: must populate information for the given metric source`],
  ],
  [
    'a second source',
    withMetric('Resource', { ...cpu, type: 'Resource', external: { metric, target: value } }),
    [`${at}.external: Forbidden: must populate the given metric source only`],
  ],
  ['an object', withMetric('Object', { object: { describedObject: scaleTargetRef, metric, target: value } }), []],
  [
    'an object without a value',
    withMetric('Object', { object: { describedObject: scaleTargetRef, metric, target: { type: 'Value' } } }),
    [`${at}.object.target.averageValue: Required value: must set either a target value or averageValue`],
  ],
  [
    'an object of nothing',
    withMetric('Object', { object: { metric, target: value } }),
    [`${at}.object.describedObject.kind: Required value`, `${at}.object.describedObject.name: Required value`],
  ],
  ['pods', withMetric('Pods', { pods: { metric, target: average } }), []],
  [
    'pods without an average',
    withMetric('Pods', { pods: { metric, target: value } }),
    [`${at}.pods.target.averageValue: Required value: must specify a positive target averageValue`],
  ],
  [
    'no metric',
    withMetric('Pods', { pods: { target: average } }),
    [`${at}.pods.metric.name: Required value: must specify a metric name`],
  ],
  [
    'a bad metric',
    withMetric('Pods', { pods: { metric: { name: 'a%' }, target: average } }),
    [`${at}.pods.metric.name: Invalid value: "a%": may not contain '%'`],
  ],
  ['external', withMetric('External', { external: { metric, target: average } }), []],
  [
    'series that nothing has, which nobody checks',
    withMetric('External', {
      external: {
        metric: { ...metric, selector: { matchExpressions: [{ key: '', operator: 'x' }] } },
        target: average,
      },
    }),
    [],
  ],
  [
    'external without a value',
    withMetric('External', { external: { metric, target: { type: 'Value' } } }),
    [
      `${at}.external.target.averageValue: Required value: must set either a target value for metric or a per-pod target`,
    ],
  ],
  [
    'external with two',
    withMetric('External', { external: { metric, target: { ...average, value: '1' } } }),
    [`${at}.external.target.value: Forbidden: may not set both a target value for metric and a per-pod target`],
  ],
  [
    'a resource without a name',
    withMetric('Resource', { resource: { target: average } }),
    [`${at}.resource.name: Required value: must specify a resource name`],
  ],
  [
    'a resource without a value',
    withMetric('Resource', { resource: { name: 'cpu', target: { type: 'Value' } } }),
    [
      `${at}.resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization`,
    ],
  ],
  [
    'a resource with two',
    withMetric('Resource', { resource: { name: 'cpu', target: { ...average, averageUtilization: 1 } } }),
    [`${at}.resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization`],
  ],
  [
    'a container',
    withMetric('ContainerResource', { containerResource: { name: 'cpu', container: 'c', target: average } }),
    [],
  ],
  [
    'no container',
    withMetric('ContainerResource', { containerResource: { name: 'cpu', target: average } }),
    [`${at}.containerResource.container: Required value: must specify a container`],
  ],
  [
    'a bad container',
    withMetric('ContainerResource', { containerResource: { name: 'cpu', container: 'a.b', target: average } }),
    [`${at}.containerResource.container: Invalid value: "a.b": must not contain dots`],
  ],
  [
    'a resource of no container',
    withMetric('ContainerResource', { containerResource: { name: 'x', container: 'c', target: average } }),
    [
      `${at}.containerResource.name: Invalid value: x: must be a standard resource type or fully qualified`,
      `${at}.containerResource.name: Invalid value: x: must be a standard resource for containers`,
    ],
  ],
  [
    'no type of the target',
    withMetric('Pods', { pods: { metric, target: { averageValue: '1' } } }),
    [
      `${at}.pods.target.type: Required value: must specify a metric target type`,
      `${at}.pods.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue`,
    ],
  ],
  [
    'no more than 0',
    withMetric('Pods', { pods: { metric, target: { ...average, value: '-1', averageValue: '0' } } }),
    [
      `${at}.pods.target.value: Invalid value: "-1": must be positive`,
      `${at}.pods.target.averageValue: Invalid value: "0": must be positive`,
    ],
  ],
  [
    'a utilization of 0',
    withMetric('Resource', { resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 0 } } }),
    [`${at}.resource.target.averageUtilization: Invalid value: 0: must be greater than 0`],
  ],
  ['rules', withRules({ selectPolicy: 'Disabled', policies: [policy], stabilizationWindowSeconds: 3600 }), []],
  ['no policies', withRules({ policies: [] }), [`${up}.policies: Required value: must specify at least one Policy`]],
  [
    'a window below 0',
    withRules({ stabilizationWindowSeconds: -1 }),
    [`${up}.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero`],
  ],
  [
    'a long window',
    withRules({ stabilizationWindowSeconds: 3601 }),
    [`${up}.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600`],
  ],
  [
    'another selection',
    withRules({ selectPolicy: 'Any' }),
    [`${up}.selectPolicy: Unsupported value: "Any": supported values: "Disabled", "Max", "Min"`],
  ],
  [
    'a bad policy',
    withRules({
      policies: [
        { type: 'Half', value: 0, periodSeconds: 1801 },
        { ...policy, periodSeconds: 0 },
      ],
    }),
    [
      `${up}.policies[0].type: Unsupported value: "Half": supported values: "Percent", "Pods"`,
      `${up}.policies[0].value: Invalid value: 0: must be greater than zero`,
      `${up}.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800`,
      `${up}.policies[1].periodSeconds: Invalid value: 0: must be greater than zero`,
    ],
  ],
];

for (const [why, spec, errors] of rows) {
  test(`HorizontalPodAutoscaler: ${why}`, () => {
    assert.deepEqual(create(kind, { spec }).errors, errors);
    assert.deepEqual(update(kind, { spec: valid }, { spec }).errors, errors);
  });
}

test('HorizontalPodAutoscaler: a least number of 0 may stay, with a metric that is there without pods', () => {
  const zero = { ...valid, minReplicas: 0 };
  const old = read(kind, { spec: zero });
  assert.deepEqual(update(kind, old, { spec: zero }).errors, [
    'spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas',
  ]);
  assert.deepEqual(
    update(kind, old, { spec: { ...zero, metrics: [{ type: 'External', external: { metric, target: value } }] } })
      .errors,
    [],
  );
});

test('HorizontalPodAutoscaler: defaults', () => {
  const rules = { selectPolicy: 'Max', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] };
  assert.deepEqual(create(kind, { spec: valid }).object['spec'], { ...valid, metrics: [cpu] });
  const { spec } = create(kind, { spec: { ...valid, behavior: { scaleDown: { stabilizationWindowSeconds: 5 } } } })
    .object as unknown as { spec: { behavior: unknown } };
  assert.deepEqual(spec.behavior, {
    scaleUp: {
      stabilizationWindowSeconds: 0,
      selectPolicy: 'Max',
      policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }, ...rules.policies],
    },
    scaleDown: { ...rules, stabilizationWindowSeconds: 5 },
  });
});

for (const name of ['currentReplicas', 'desiredReplicas']) {
  test(`HorizontalPodAutoscaler: status.${name} below 0`, () => {
    const { errors } = update(kind, { spec: valid }, { spec: valid, status: { [name]: -1 } }, 'status');
    assert.deepEqual(errors, [`status.${name}: Invalid value: -1: must be greater than or equal to 0`]);
  });
}

const current = (source: Sent) => ({ current: source });
const cells: readonly [metrics: readonly Sent[], currentMetrics: readonly Sent[], cell: string][] = [
  [[], [], '<none>'],
  [[cpu], [], 'cpu: <unknown>/80%'],
  [
    [cpu],
    [{ type: 'Resource', resource: { name: 'cpu', ...current({ averageUtilization: 7, averageValue: '1m' }) } }],
    'cpu: 7%/80%',
  ],
  [
    [{ type: 'Resource', resource: { name: 'memory', target: average } }],
    [{ type: 'Resource', resource: current({ averageValue: '2' }) }],
    'memory: 2/1',
  ],
  [
    [{ type: 'ContainerResource', containerResource: { name: 'cpu', target: { type: 'Utilization' } } }],
    [],
    'cpu: <unknown>/<auto>',
  ],
  [
    [{ type: 'Pods', pods: { metric, target: average } }],
    [{ type: 'Pods', pods: current({ averageValue: '5' }) }],
    '5/1',
  ],
  [[{ type: 'Object', object: { metric, target: value } }], [], '<unknown>/1'],
  [
    [{ type: 'Object', object: { metric, target: average } }],
    [{ type: 'Object', object: current({ averageValue: '3' }) }],
    '3/1 (avg)',
  ],
  [
    [{ type: 'External', external: { metric, target: value } }, cpu, cpu],
    [{ type: 'External', external: current({}) }],
    '0/1, cpu: <unknown>/80% + 1 more...',
  ],
  [[{ type: 'Other' }], [], '<unknown type>'],
];

for (const [metrics, currentMetrics, cell] of cells) {
  test(`HorizontalPodAutoscaler: targets ${cell}`, () => {
    assert.deepEqual(
      row(kind, { spec: { ...valid, minReplicas: 1, metrics }, status: { currentReplicas: 2, currentMetrics } }),
      {
        Name: 'one',
        Reference: 'Deployment/d',
        Targets: cell,
        MinPods: '1',
        MaxPods: 3,
        Replicas: 2,
        Age: '<unknown>',
      },
    );
  });
}

test('HorizontalPodAutoscaler: a least number of 0 is new where the feature is on', () => {
  const context = {
    dialect: orch,
    user: anonymousUser,
    now: 0,
    requested: kind,
    features: new Set(['HPAScaleToZero']),
  };
  const metrics = [{ type: 'External', external: { metric, target: value } }];
  const object = read(kind, { spec: { ...valid, minReplicas: 0, metrics } });
  assert.deepEqual(kind.strategy.validateCreate?.(object, context), []);
  assert.deepEqual(create(kind, { spec: { ...valid, minReplicas: 0, metrics } }).errors, [
    'spec.minReplicas: Invalid value: 0: must be greater than or equal to 1',
  ]);
});
