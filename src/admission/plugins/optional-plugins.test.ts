import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dialects } from '../../dialect/dialects.ts';
import type { Toleration } from '../../kinds/core/pod/toleration.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { denyServiceExternalIps } from './deny-service-external-ips.ts';
import { extendedResourceToleration } from './extended-resource-toleration.ts';
import { limitPodHardAntiAffinityTopology } from './limit-pod-hard-anti-affinity-topology.ts';
import { outcomeOf, type Write } from './outcome-fixture.ts';
import { podTolerationRestriction } from './pod-toleration-restriction.ts';

/** Plugins that are off by default. */

type Row = readonly (readonly [title: string, write: Write, outcome: object | string])[];

/** `outcome`: the specification, or the refusal behind `is forbidden: `. */
function check(plugin: Parameters<typeof outcomeOf>[0], rows: Row, base: Write): void {
  for (const [title, write, outcome] of rows) {
    it(title, async () => {
      const made = await outcomeOf(plugin, { ...base, ...write });
      if (typeof outcome !== 'string') assert.deepEqual((made as ApiObject)['spec'], outcome);
      else assert.equal(made, `Forbidden: ${base.resource} "x" is forbidden: ${outcome}`);
    });
  }
}

for (const dialect of Object.values(dialects)) {
  const { domain } = dialect;

  describe(`ExtendedResourceToleration, ${dialect.name}`, () => {
    const container = (...names: readonly string[]) => ({
      name: 'c',
      resources: { requests: Object.fromEntries(names.map((name) => [name, '1'])) },
    });
    const tolerates = (key: string) => ({ key, operator: 'Exists', effect: 'NoSchedule' });
    const spec = (
      containers: readonly object[],
      tolerations?: readonly object[],
      initContainers?: readonly object[],
    ) => ({
      containers,
      ...(initContainers && { initContainers }),
      ...(tolerations && { tolerations }),
    });
    const gpu = 'example.com/gpu';
    const rows: Row = [
      ['no resources', { object: { spec: spec([{ name: 'c' }]) } }, spec([{ name: 'c' }])],
      [
        'resources of the system',
        { object: { spec: spec([container('cpu', `${domain}/x`, 'hugepages-2Mi', 'requests.example.com/x')]) } },
        spec([container('cpu', `${domain}/x`, 'hugepages-2Mi', 'requests.example.com/x')]),
      ],
      [
        'a device',
        { object: { spec: spec([container('cpu', gpu)]) } },
        spec([container('cpu', gpu)], [tolerates(gpu)]),
      ],
      [
        'devices of all containers, in order of their names, behind other tolerations',
        {
          object: {
            spec: spec(
              [container('b.example.com/x', gpu)],
              [{ operator: 'Exists' }],
              [container('a.example.com/x', gpu)],
            ),
          },
        },
        spec(
          [container('b.example.com/x', gpu)],
          [{ operator: 'Exists' }, ...['a.example.com/x', 'b.example.com/x', gpu].map(tolerates)],
          [container('a.example.com/x', gpu)],
        ),
      ],
      [
        'once',
        { object: { spec: spec([container(gpu)], [tolerates(gpu), tolerates('k')]) } },
        spec([container(gpu)], [tolerates(gpu), tolerates('k')]),
      ],
      [
        'for ever',
        { object: { spec: spec([container(gpu)], [{ ...tolerates(gpu), tolerationSeconds: 5 }]) } },
        spec([container(gpu)], [tolerates(gpu)]),
      ],
      [
        'an update',
        { operation: 'update', object: { spec: spec([container(gpu)]) }, old: {} },
        spec([container(gpu)], [tolerates(gpu)]),
      ],
      [
        'a subresource',
        { resource: 'pods/ephemeralcontainers', object: { spec: spec([container(gpu)]) } },
        spec([container(gpu)]),
      ],
    ];
    check(extendedResourceToleration(dialect), rows, { resource: 'pods' });
  });

  describe(`LimitPodHardAntiAffinityTopology, ${dialect.name}`, () => {
    const apart = (
      topologyKey: string,
      when = 'requiredDuringSchedulingIgnoredDuringExecution',
      how = 'podAntiAffinity',
    ) => ({
      affinity: { [how]: { [when]: [{ topologyKey: `${domain}/hostname` }, { topologyKey }] } },
    });
    const zone = `topology.${domain}/zone`;
    const refusal = `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${zone} but only key ${domain}/hostname is allowed`;
    const rows: Row = [
      ['no affinity', { object: { spec: {} } }, {}],
      ['off a node', { object: { spec: apart(`${domain}/hostname`) } }, apart(`${domain}/hostname`)],
      ['off a zone', { object: { spec: apart(zone) } }, refusal],
      ['off a zone, by an update', { operation: 'update', old: {}, object: { spec: apart(zone) } }, refusal],
      [
        'off a zone, if possible',
        { object: { spec: apart(zone, 'preferredDuringSchedulingIgnoredDuringExecution') } },
        apart(zone, 'preferredDuringSchedulingIgnoredDuringExecution'),
      ],
      [
        'to a zone',
        { object: { spec: apart(zone, 'requiredDuringSchedulingIgnoredDuringExecution', 'podAffinity') } },
        apart(zone, 'requiredDuringSchedulingIgnoredDuringExecution', 'podAffinity'),
      ],
    ];
    check(limitPodHardAntiAffinityTopology(dialect), rows, { resource: 'pods' });
  });

  describe(`PodTolerationRestriction, ${dialect.name}`, () => {
    const byDefault: Toleration = { key: 'all', operator: 'Exists' };
    const ofNamespace: Toleration = { key: 'some', operator: 'Exists' };
    const pressure = { key: `node.${domain}/memory-pressure`, operator: 'Exists', effect: 'NoSchedule' };
    const limited = [{ name: 'c', resources: { requests: { cpu: '1' } } }];
    const conflict = (scope: string): string =>
      `InternalError: pod tolerations (possibly merged with namespace default tolerations) conflict with its ${scope} whitelist`;
    const unreadable = (why: string): string =>
      `InternalError: Internal error occurred: annotation scheduler.alpha.${domain}/defaultTolerations of the namespace: ${why}`;

    interface Case {
      readonly title: string;
      readonly annotations?: Readonly<Record<string, unknown>>;
      readonly allowed?: readonly Toleration[];
      readonly spec?: object;
      readonly old?: object;
      readonly outcome: readonly object[] | string | undefined;
    }
    const cases: readonly Case[] = [
      { title: 'the default', outcome: [byDefault] },
      { title: 'that of the namespace', annotations: { defaultTolerations: [ofNamespace] }, outcome: [ofNamespace] },
      { title: 'none in the namespace', annotations: { defaultTolerations: [] }, outcome: undefined },
      { title: 'nothing said in the namespace', annotations: { defaultTolerations: undefined }, outcome: undefined },
      { title: 'beside its own', spec: { tolerations: [ofNamespace] }, outcome: [ofNamespace, byDefault] },
      {
        title: 'included in its own',
        spec: { tolerations: [{ operator: 'Exists' }] },
        outcome: [{ operator: 'Exists' }],
      },
      { title: 'what a pod with requests tolerates', spec: { containers: limited }, outcome: [byDefault, pressure] },
      { title: 'an update', old: {}, outcome: undefined },
      { title: 'an update of a pod with requests', old: {}, spec: { containers: limited }, outcome: [pressure] },
      { title: 'what is allowed', allowed: [byDefault], outcome: [byDefault] },
      { title: 'what is not', allowed: [ofNamespace], outcome: conflict('cluster') },
      {
        title: 'by an update',
        allowed: [byDefault],
        old: {},
        spec: { tolerations: [ofNamespace] },
        outcome: conflict('cluster'),
      },
      { title: 'no toleration', allowed: [ofNamespace], annotations: { defaultTolerations: [] }, outcome: undefined },
      {
        title: 'allowed in the namespace',
        allowed: [ofNamespace],
        annotations: { tolerationsWhitelist: [byDefault] },
        outcome: [byDefault],
      },
      {
        title: 'not allowed there',
        allowed: [byDefault],
        annotations: { tolerationsWhitelist: [ofNamespace] },
        outcome: conflict('namespace'),
      },
      {
        title: 'anything there',
        allowed: [ofNamespace],
        annotations: { tolerationsWhitelist: undefined },
        outcome: [byDefault],
      },
      { title: 'less than is allowed', allowed: [{ operator: 'Exists' }], outcome: [byDefault] },
      {
        title: 'more than is allowed',
        allowed: [{ ...byDefault, effect: 'NoSchedule' }],
        outcome: conflict('cluster'),
      },
      {
        title: 'an annotation that is no list',
        annotations: { defaultTolerations: {} },
        outcome: unreadable('tolerations: expected array, got object'),
      },
      {
        title: 'an annotation of other types',
        annotations: { defaultTolerations: [{ key: 1 }] },
        outcome: unreadable('tolerations[0].key: expected string, got number'),
      },
      {
        title: 'an annotation that is no JSON',
        annotations: { defaultTolerations: '[' },
        outcome: unreadable('it is no JSON'),
      },
    ];
    for (const { title, annotations = {}, allowed = [], spec = {}, old, outcome } of cases) {
      it(title, async () => {
        const texts = Object.entries(annotations).map(([name, value]) => [
          `scheduler.alpha.${domain}/${name}`,
          typeof value === 'string' ? value : (JSON.stringify(value) ?? ''),
        ]);
        const metadata = { name: 'n', annotations: Object.fromEntries(texts) };
        const plugin = podTolerationRestriction({
          dialect,
          tolerations: { default: [byDefault], allowed },
          inline: true,
          namespace: (name) => (name === 'n' ? { apiVersion: 'v1', kind: 'Namespace', metadata } : undefined),
        });
        const operation = old ? 'update' : 'create';
        const made = await outcomeOf(plugin, {
          operation,
          resource: 'pods',
          namespace: 'n',
          object: { spec },
          ...(old && { old }),
        });
        if (typeof outcome === 'string') assert.equal(made, outcome);
        else assert.deepEqual((made as unknown as { spec: { tolerations?: unknown } }).spec.tolerations, outcome);
      });
    }
  });
}

describe('DenyServiceExternalIPs', () => {
  const spec = (...externalIPs: readonly string[]) => ({ spec: { externalIPs } });
  const refusal = 'Use of external IPs is denied by admission control';
  const rows: Row = [
    ['none', { object: { spec: {} } }, {}],
    ['an empty list', { object: spec() }, { externalIPs: [] }],
    ['a new Service with one', { object: spec('192.0.2.1') }, refusal],
    ['one more', { operation: 'update', old: spec('192.0.2.1'), object: spec('192.0.2.1', '192.0.2.2') }, refusal],
    ['another one', { operation: 'update', old: spec('192.0.2.1'), object: spec('192.0.2.2') }, refusal],
    [
      'the same',
      { operation: 'update', old: spec('192.0.2.1', '192.0.2.2'), object: spec('192.0.2.2', '192.0.2.1') },
      { externalIPs: ['192.0.2.2', '192.0.2.1'] },
    ],
    [
      'one less',
      { operation: 'update', old: spec('192.0.2.1', '192.0.2.2'), object: spec('192.0.2.1') },
      { externalIPs: ['192.0.2.1'] },
    ],
    [
      'a subresource',
      { resource: 'services/status', operation: 'update', old: {}, object: spec('192.0.2.1') },
      { externalIPs: ['192.0.2.1'] },
    ],
    ['another group', { group: 'example.com', object: spec('192.0.2.1') }, { externalIPs: ['192.0.2.1'] }],
  ];
  check(denyServiceExternalIps(), rows, { resource: 'services' });
});
