import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { attributesOf } from '../attributes-fixture.ts';
import { classesOf, outcomeOf, type Write } from './outcome-fixture.ts';
import { runtimeClass } from './runtime-class.ts';

const amounts = { cpu: '250m', memory: '1Ki' };
const toleration = { key: 'vm', operator: 'Exists' };
const classes = [
  { metadata: { name: 'plain' }, handler: 'h' },
  { metadata: { name: 'heavy' }, handler: 'h', overhead: { podFixed: amounts } },
  { metadata: { name: 'empty' }, handler: 'h', overhead: {} },
  {
    metadata: { name: 'placed' },
    handler: 'h',
    scheduling: { nodeSelector: { pool: 'vm', zone: 'a' }, tolerations: [toleration] },
  },
  { metadata: { name: 'anywhere' }, handler: 'h', scheduling: {} },
];
const differs = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
const unexpected = 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead';

const rows: readonly (readonly [title: string, spec: object, outcome: object | string])[] = [
  ['no class', {}, {}],
  ['no class, and an overhead', { overhead: amounts }, unexpected],
  ['no class, and an empty overhead', { overhead: {} }, unexpected],
  ['an unknown class', { runtimeClassName: 'other' }, 'pod rejected: RuntimeClass "other" not found'],
  ['an empty name', { runtimeClassName: '' }, 'pod rejected: RuntimeClass "" not found'],
  ['a class of a handler alone', { runtimeClassName: 'plain' }, { runtimeClassName: 'plain' }],
  ['with an overhead', { runtimeClassName: 'plain', overhead: amounts }, unexpected],
  ['a class with an overhead', { runtimeClassName: 'heavy' }, { runtimeClassName: 'heavy', overhead: amounts }],
  ['of an empty one', { runtimeClassName: 'heavy', overhead: {} }, { runtimeClassName: 'heavy', overhead: amounts }],
  [
    'the same overhead in other words',
    { runtimeClassName: 'heavy', overhead: { memory: '1024', cpu: '0.25' } },
    { runtimeClassName: 'heavy', overhead: amounts },
  ],
  ['another amount', { runtimeClassName: 'heavy', overhead: { ...amounts, cpu: '251m' } }, differs],
  ['a resource less', { runtimeClassName: 'heavy', overhead: { cpu: '250m' } }, differs],
  ['another resource', { runtimeClassName: 'heavy', overhead: { cpu: '250m', disk: '1Ki' } }, differs],
  ['a class with an empty overhead', { runtimeClassName: 'empty' }, { runtimeClassName: 'empty' }],
  ['a pod with one', { runtimeClassName: 'empty', overhead: amounts }, differs],
  [
    'a class with a place',
    { runtimeClassName: 'placed' },
    { runtimeClassName: 'placed', nodeSelector: { pool: 'vm', zone: 'a' }, tolerations: [toleration] },
  ],
  [
    'beside that of the pod',
    { runtimeClassName: 'placed', nodeSelector: { disk: 'ssd', zone: 'a' }, tolerations: [{ key: 'x' }] },
    {
      runtimeClassName: 'placed',
      nodeSelector: { disk: 'ssd', zone: 'a', pool: 'vm' },
      tolerations: [{ key: 'x' }, toleration],
    },
  ],
  [
    'tolerations that another one includes',
    { runtimeClassName: 'placed', tolerations: [{ ...toleration, operator: 'Equal', value: 'v' }] },
    { runtimeClassName: 'placed', nodeSelector: { pool: 'vm', zone: 'a' }, tolerations: [toleration] },
  ],
  [
    'another place',
    { runtimeClassName: 'placed', nodeSelector: { zone: 'b' } },
    'conflict: runtimeClass.scheduling.nodeSelector[zone] = a; pod.spec.nodeSelector[zone] = b',
  ],
  ['a class for any place', { runtimeClassName: 'anywhere' }, { runtimeClassName: 'anywhere' }],
];

for (const later of [false, true]) {
  describe(`RuntimeClass${later ? ', asking the store' : ''}`, () => {
    const plugin = runtimeClass({ classes: classesOf(classes, { later }), inline: true });
    for (const [title, spec, outcome] of rows) {
      it(title, async () => {
        const made = await outcomeOf(plugin, { resource: 'pods', object: { spec } });
        if (typeof outcome === 'string') assert.equal(made, `Forbidden: pods "x" is forbidden: ${outcome}`);
        else assert.deepEqual((made as { readonly spec?: unknown }).spec, outcome);
      });
    }

    const left: readonly (readonly [title: string, write: Write])[] = [
      ['updates', { operation: 'update', resource: 'pods' }],
      ['subresources', { resource: 'pods/ephemeralcontainers' }],
      ['other kinds', { resource: 'podtemplates' }],
    ];
    for (const [title, write] of left) {
      it(`leaves ${title} alone`, async () => {
        const spec = { runtimeClassName: 'other', overhead: amounts };
        const made = await outcomeOf(plugin, { ...write, object: { spec }, old: { spec } });
        assert.deepEqual((made as { readonly spec?: unknown }).spec, spec);
      });
    }

    for (const [title, overhead, refusal] of [
      ['another overhead', { cpu: '1' }, differs],
      ['none', undefined, differs],
    ] as const) {
      it(`refuses what comes later: ${title}`, async () => {
        const spec = { runtimeClassName: 'heavy', ...(overhead && { overhead }) };
        const validating = async () => plugin.validate?.(attributesOf({ resource: 'pods', object: { spec } }));
        await assert.rejects(validating, { message: `pods "x" is forbidden: ${refusal}` });
      });
    }
  });
}
