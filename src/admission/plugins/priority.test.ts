import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dialects } from '../../dialect/dialects.ts';
import { classesOf, outcomeOf, type Write } from './outcome-fixture.ts';
import { priority } from './priority.ts';

const classOf = (name: string, value: number, more: object = {}) => ({ metadata: { name }, value, ...more });
const classes = [
  classOf('high', 1000, { preemptionPolicy: 'PreemptLowerPriority' }),
  classOf('calm', -7, { preemptionPolicy: 'Never' }),
  classOf('zero', 0, { preemptionPolicy: 'PreemptLowerPriority' }),
  // As stored by a server that did not know the field.
  classOf('former', 3),
  classOf('system-node-critical', 2_000_001_000, { preemptionPolicy: 'PreemptLowerPriority' }),
];
const byDefault = classOf('usual', 50, { preemptionPolicy: 'Never', globalDefault: true });

const none = { priority: 0, preemptionPolicy: 'PreemptLowerPriority' };
const usual = { priorityClassName: 'usual', priority: 50, preemptionPolicy: 'Never' };
const high = { priorityClassName: 'high', priority: 1000, preemptionPolicy: 'PreemptLowerPriority' };
const computed = 'must not be provided in pod spec; priority admission controller computed';

interface Case {
  readonly title: string;
  readonly first?: object;
  readonly spec?: object;
  readonly old?: object;
  readonly outcome: object | string;
}

const pods: readonly Case[] = [
  { title: 'no class, and no default', outcome: none },
  { title: 'no class, and a default', first: byDefault, outcome: usual },
  { title: 'an empty name, and a default', first: byDefault, spec: { priorityClassName: '' }, outcome: usual },
  {
    title: 'an empty name, and no default',
    spec: { priorityClassName: '' },
    outcome: { priorityClassName: '', ...none },
  },
  { title: 'a class', first: byDefault, spec: { priorityClassName: 'high' }, outcome: high },
  {
    title: 'a class that does not preempt',
    spec: { priorityClassName: 'calm' },
    outcome: { priorityClassName: 'calm', priority: -7, preemptionPolicy: 'Never' },
  },
  {
    title: 'a class of the system, in any namespace',
    spec: { priorityClassName: 'system-node-critical' },
    outcome: {
      priorityClassName: 'system-node-critical',
      priority: 2_000_001_000,
      preemptionPolicy: 'PreemptLowerPriority',
    },
  },
  {
    title: 'a class without a policy',
    spec: { priorityClassName: 'former' },
    outcome: { priorityClassName: 'former', priority: 3 },
  },
  {
    title: 'a class without a policy, and a pod with one',
    spec: { priorityClassName: 'former', preemptionPolicy: 'Never' },
    outcome: { priorityClassName: 'former', priority: 3, preemptionPolicy: 'Never' },
  },
  { title: 'the computed values', spec: high, outcome: high },
  { title: 'the computed values of no class', spec: none, outcome: none },
  {
    title: 'an unknown class',
    spec: { priorityClassName: 'other' },
    outcome: 'no PriorityClass with name other was found',
  },
  {
    title: 'another priority',
    spec: { priorityClassName: 'high', priority: 1001 },
    outcome: `the integer value of priority (1001) ${computed} 1000 from the given PriorityClass name`,
  },
  {
    title: 'priority 0 where the class has another',
    spec: { priorityClassName: 'calm', priority: 0 },
    outcome: `the integer value of priority (0) ${computed} -7 from the given PriorityClass name`,
  },
  {
    title: 'a priority without a class',
    spec: { priority: 5 },
    outcome: `the integer value of priority (5) ${computed} 0 from the given PriorityClass name`,
  },
  {
    title: 'a priority of the system without a class',
    spec: { priority: 2_000_000_000 },
    outcome: `the integer value of priority (2000000000) ${computed} 0 from the given PriorityClass name`,
  },
  {
    title: 'another priority than that of the default',
    first: byDefault,
    spec: { priority: 0 },
    outcome: `the integer value of priority (0) ${computed} 50 from the given PriorityClass name`,
  },
  {
    title: 'another policy',
    spec: { priorityClassName: 'high', preemptionPolicy: 'Never' },
    outcome: `the string value of PreemptionPolicy (Never) ${computed} PreemptLowerPriority from the given PriorityClass name`,
  },
  {
    title: 'a policy without a class',
    spec: { preemptionPolicy: 'Never' },
    outcome: `the string value of PreemptionPolicy (Never) ${computed} PreemptLowerPriority from the given PriorityClass name`,
  },
  { title: 'an update that leaves out both', old: high, spec: { priorityClassName: 'high' }, outcome: high },
  { title: 'an update of a pod that has neither', first: byDefault, old: {}, outcome: {} },
  // Refused by validation.
  { title: 'an update that changes both', old: high, spec: usual, outcome: usual },
];

for (const dialect of Object.values(dialects)) {
  const group = dialect.group('scheduling');
  for (const later of [false, true]) {
    describe(`Priority, ${dialect.name}${later ? ', asking the store' : ''}`, () => {
      for (const { title, first, spec = {}, old, outcome } of pods) {
        it(`a pod: ${title}`, async () => {
          const plugin = priority({ group, classes: classesOf([...classes, byDefault], { later, first }) });
          const operation = old ? 'update' : 'create';
          const write: Write = { operation, resource: 'pods', object: { spec }, ...(old && { old: { spec: old } }) };
          const made = await outcomeOf(plugin, write);
          if (typeof outcome === 'string') assert.equal(made, `Forbidden: pods "x" is forbidden: ${outcome}`);
          else assert.deepEqual((made as { readonly spec?: unknown }).spec, outcome);
        });
      }

      const refused = `Forbidden: priorityclasses.${group} "x" is forbidden: PriorityClass usual is already marked as default. Only one default can exist`;
      const toDefault = { globalDefault: true, value: 1 };
      const writes: readonly (readonly [title: string, first: object | undefined, write: Write, outcome?: string])[] = [
        ['a first default', undefined, { object: toDefault }],
        ['a second default', byDefault, { object: toDefault }, refused],
        ['a second default, by an update', byDefault, { operation: 'update', old: {}, object: toDefault }, refused],
        ['an update of the default', classOf('x', 1), { operation: 'update', old: toDefault, object: toDefault }],
        [
          'a default of the name of the known one',
          classOf('x', 1),
          { object: toDefault },
          refused.replace('usual', 'x'),
        ],
        ['another class', byDefault, { object: { value: 1 } }],
        ['a class that is no default, explicitly', byDefault, { object: { value: 1, globalDefault: false } }],
        ['a deletion', byDefault, { operation: 'delete', old: toDefault }],
        ['another kind of that name', byDefault, { group: 'example.com', object: toDefault }],
      ];
      for (const [title, first, write, outcome] of writes) {
        it(`a class: ${title}`, async () => {
          const plugin = priority({ group, classes: classesOf([], { later, first }) });
          const made = await outcomeOf(plugin, { group, resource: 'priorityclasses', ...write });
          assert.equal(typeof made === 'string' ? made : undefined, outcome);
        });
      }
    });
  }
}

for (const resource of ['pods/status', 'pods/binding', 'pods/ephemeralcontainers', 'podtemplates']) {
  it(`Priority leaves ${resource} alone`, async () => {
    const plugin = priority({ group: 'g', classes: classesOf([], { first: byDefault }) });
    const made = await outcomeOf(plugin, { operation: 'update', resource, object: { spec: {} }, old: { spec: high } });
    assert.deepEqual((made as { readonly spec?: unknown }).spec, {});
  });
}
