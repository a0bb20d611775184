import { int32, list, map, opt, ptr, string, struct } from '../schema/schema.ts';
import { defineKind } from './define-kind.ts';
import type { Kind } from './kind.ts';
import { kindSchema } from './meta/kind-schema.ts';
import { renamedFields } from './stored-as.ts';

const part = struct('test.Part', 'A part.', {
  name: opt(1, string(), 'Name.'),
  fresh: ptr(2, string(), 'New.', { gate: 'Fresh' }),
});

const schema = kindSchema('test.Gadget', 'A thing with fields that need features.', {
  spec: opt(
    2,
    struct('test.GadgetSpec', 'What it is.', {
      size: opt(1, int32(), 'Size.'),
      colour: ptr(2, string(), 'Colour.', { gate: 'Colours' }),
      parts: opt(3, list(part, { patchStrategy: 'merge', patchMergeKey: 'name' }), 'Parts.'),
      byName: opt(4, map(part), 'Parts by name.'),
    }),
    'What it is.',
  ),
  status: opt(
    3,
    struct('test.GadgetStatus', 'How it is.', {
      phase: opt(1, string(), 'Phase.'),
      shade: ptr(2, string(), 'Shade.', { gate: 'Colours' }),
    }),
    'How it is.',
  ),
});

/** For tests: a kind with feature gates on some fields, and (`alphaOf`) on a second version. */
export const gadget: Kind = defineKind({
  kind: 'Gadget',
  group: 'test.example.com',
  schema,
  subresources: [
    {
      type: 'view',
      name: 'status',
      verbs: ['get', 'update', 'patch'],
      prepareForUpdate: (object, old) => {
        const status = object['status'];
        for (const key of Object.keys(object)) if (key !== 'metadata') delete object[key];
        Object.assign(object, structuredClone({ ...old, metadata: object.metadata }), { status });
      },
    },
  ],
});

/** An alpha version of a kind, stored in its form, behind the feature gate `Gadgets`. */
export function alphaOf(stored: Kind): Kind {
  const name = { group: stored.group, version: 'v2alpha1', kind: stored.kind };
  return { ...stored, ...name, gate: 'Gadgets', storedAs: renamedFields(stored, name, {}) };
}
