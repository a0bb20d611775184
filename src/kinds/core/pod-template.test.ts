import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { create, filled, row, type Sent, update } from '../strategy-fixture.ts';
import { podTemplate } from './pod-template.ts';

const kind = podTemplate(orch);
const container = { name: 'c', image: 'img:1' };
const templateOf = (spec: Sent, metadata: Sent = { labels: { app: 'x' } }): Sent =>
  filled(kind, { template: { metadata, spec: { containers: [container], ...spec } } });

test('PodTemplate: the defaults of templates, and none of those of pods', () => {
  const { object, errors } = create(
    kind,
    templateOf({
      hostNetwork: true,
      containers: [{ ...container, ports: [{ containerPort: 80 }], resources: { limits: { cpu: '1' } } }],
    }),
  );
  assert.deepEqual(errors, []);
  assert.deepEqual(JSON.parse(JSON.stringify(object['template'])), {
    metadata: { creationTimestamp: null, labels: { app: 'x' } },
    spec: {
      containers: [
        {
          name: 'c',
          image: 'img:1',
          ports: [{ containerPort: 80, protocol: 'TCP' }],
          resources: { limits: { cpu: '1' } },
          imagePullPolicy: 'IfNotPresent',
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
        },
      ],
      dnsPolicy: 'ClusterFirst',
      hostNetwork: true,
      restartPolicy: 'Always',
      schedulerName: 'default-scheduler',
      securityContext: {},
      terminationGracePeriodSeconds: 30,
    },
  });
});

test('PodTemplate: its pods may get the service account that a token is for', () => {
  const sources = [{ serviceAccountToken: { path: 'token' } }];
  assert.deepEqual(create(kind, templateOf({ volumes: [{ name: 'v', projected: { sources } }] })).errors, []);
});

const refused: readonly (readonly [string, Sent, readonly string[]])[] = [
  ['no template', filled(kind, {}), ['template.spec.containers: Required value']],
  ['no containers', templateOf({ containers: [] }), ['template.spec.containers: Required value']],
  [
    'a label',
    templateOf({}, { labels: { app: 'no spaces' } }),
    ['template.labels: Invalid value: "no spaces": a valid label must be'],
  ],
  [
    'an annotation',
    templateOf({}, { annotations: { 'a b': '' } }),
    ['template.annotations: Invalid value: "a b": name part must consist of'],
  ],
  [
    'a mirror pod',
    templateOf({}, { annotations: { 'orch.io/config.mirror': 'x' } }),
    [
      'template.annotations[orch.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set',
    ],
  ],
  [
    'a mount without a volume',
    templateOf({ containers: [{ ...container, volumeMounts: [{ name: 'v', mountPath: '/v' }] }] }),
    ['template.spec.containers[0].volumeMounts[0].name: Not found: "v"'],
  ],
  [
    'ephemeral containers',
    templateOf({ ephemeralContainers: [{ name: 'd', image: 'i' }] }),
    ['template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template'],
  ],
];

for (const [what, sent, expected] of refused) {
  test(`PodTemplate: ${what} is refused on create and update`, () => {
    for (const { errors } of [create(kind, sent), update(kind, templateOf({}), sent)]) {
      assert.equal(errors.length, expected.length, errors.join('\n'));
      for (const [index, text] of expected.entries()) assert.ok(errors[index]?.startsWith(text), errors.join('\n'));
    }
  });
}

test('PodTemplate: everything in a template may change', () => {
  assert.deepEqual(
    update(kind, templateOf({}), templateOf({ containers: [{ name: 'other', image: 'i:2' }], nodeName: 'n' })).errors,
    [],
  );
});

const warned: readonly (readonly [string, Sent, string])[] = [
  [
    'a volume on its way out',
    { volumes: [{ name: 'v', gitRepo: { repository: 'r' } }] },
    'template.spec.volumes[0].gitRepo: deprecated in v1.11',
  ],
  [
    'a repeated host alias',
    { hostAliases: [{ ip: '192.0.2.1' }, { ip: '192.0.2.1' }] },
    'template.spec.hostAliases[1].ip: duplicate ip "192.0.2.1"',
  ],
  [
    'a repeated pull secret',
    { imagePullSecrets: [{ name: 's' }, { name: 's' }] },
    'template.spec.imagePullSecrets[1].name: duplicate name "s"',
  ],
  [
    'a pull secret without a name',
    { imagePullSecrets: [{}] },
    'template.spec.imagePullSecrets[0].name: invalid empty name ""',
  ],
  [
    'a part of a byte',
    { containers: [{ ...container, resources: { limits: { memory: '1500m' } } }] },
    'template.spec.containers[0].resources.limits[memory]: fractional byte value "1500m" is invalid, must be an integer',
  ],
  [
    'a hidden variable',
    {
      containers: [
        {
          ...container,
          env: [
            { name: 'A', value: '1' },
            { name: 'A', value: '2' },
          ],
        },
      ],
    },
    'template.spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
  ],
  [
    'a negative grace period',
    { terminationGracePeriodSeconds: -1 },
    'template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1',
  ],
  [
    'an affinity with no pod',
    { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone' }] } } },
    'template.spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod',
  ],
  [
    'a spread over no pods',
    { topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }] },
    'template.spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod',
  ],
];

for (const [what, spec, text] of warned) {
  test(`PodTemplate: ${what} is warned of once`, () => {
    const { object } = create(kind, templateOf(spec));
    assert.deepEqual(kind.strategy.warnings?.(object, undefined), [text]);
    assert.deepEqual(
      kind.strategy.warnings?.(object, create(kind, templateOf({})).object),
      [text],
      'a changed template',
    );
    assert.deepEqual(kind.strategy.warnings?.(object, object), [], 'the same template');
  });
}

test('PodTemplate: a variable that contains the former one hides nothing', () => {
  const env = [
    { name: 'PATH', value: '/bin' },
    { name: 'PATH', value: '$(PATH):/usr/bin' },
  ];
  assert.deepEqual(
    kind.strategy.warnings?.(create(kind, templateOf({ containers: [{ ...container, env }] })).object, undefined),
    [],
  );
});

test('PodTemplate: columns', () => {
  const containers = [container, { name: 'd', image: 'img:2' }];
  assert.deepEqual(row(kind, templateOf({ containers }, { labels: { b: '2', a: '1' } })), {
    Name: 'one',
    Containers: 'c,d',
    Images: 'img:1,img:2',
    'Pod Labels': 'a=1,b=2',
  });
  assert.deepEqual(row(kind, templateOf({}, {})), {
    Name: 'one',
    Containers: 'c',
    Images: 'img:1',
    'Pod Labels': '<none>',
  });
});
