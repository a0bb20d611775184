import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { strategicMerge } from '../patch/strategic-merge.ts';
import { map, opt, ptr, string, struct } from '../schema/schema.ts';
import { contentOf, type Operation, ownersOf, run, thing } from './apply-fixture.ts';

/** Ownership with schema features that only custom resources use. */

const schema = thing({
  open: ptr(2, { ...struct('test.Open', '', { known: opt(1, string(), '') }), additional: 'preserve' }, ''),
  typed: ptr(
    3,
    {
      ...struct('test.Typed', '', { known: opt(1, string(), '') }),
      additional: struct('test.Part', '', { a: opt(1, string(), ''), b: opt(2, string(), '') }),
    },
    '',
  ),
  gone: ptr(4, { ...map(string()), nullable: true }, ''),
});

interface Case {
  readonly operations: readonly Operation[];
  readonly content: Readonly<Record<string, unknown>>;
  readonly owners: Readonly<Record<string, readonly string[]>>;
}

const cases: Readonly<Record<string, Case>> = {
  'kept fields are merged and owned one by one': {
    operations: [
      { apply: 'a', config: { open: { known: 'x', other: { deep: 1 }, list: [1] } } },
      { apply: 'b', config: { open: { other: { more: 2 } } } },
    ],
    content: { open: { known: 'x', other: { deep: 1, more: 2 }, list: [1] } },
    owners: {
      'a/Apply': ['.open.known', '.open.list', '.open.other', '.open.other.deep'],
      'b/Apply': ['.open.other', '.open.other.more'],
    },
  },
  'kept fields go with their last owner': {
    operations: [
      { apply: 'a', config: { open: { known: 'x', other: { deep: 1 } } } },
      { apply: 'a', config: { open: { known: 'x' } } },
    ],
    content: { open: { known: 'x' } },
    owners: { 'a/Apply': ['.open.known'] },
  },
  'fields with a schema for all are merged by it': {
    operations: [
      { apply: 'a', config: { typed: { one: { a: 'x' } } } },
      { apply: 'b', config: { typed: { one: { b: 'y' } } } },
    ],
    content: { typed: { one: { a: 'x', b: 'y' } } },
    owners: { 'a/Apply': ['.typed.one', '.typed.one.a'], 'b/Apply': ['.typed.one', '.typed.one.b'] },
  },
  'null is kept and owned where it is a value': {
    operations: [
      { update: 'u', object: { gone: { k: 'v' } } },
      { apply: 'a', force: true, config: { gone: null } },
    ],
    content: { gone: null },
    owners: { 'a/Apply': ['.gone'] },
  },
};

for (const [name, { operations, content, owners }] of Object.entries(cases)) {
  test(name, () => {
    const { object } = run(schema, operations);
    assert.deepEqual(contentOf(object), content);
    assert.deepEqual(ownersOf(object), owners);
  });
}

test('a strategic merge knows the schema of other fields', () => {
  const original = { typed: { one: { a: 'x', b: 'y' } }, open: { z: { a: 1 } } };
  const patch = { typed: { one: { $patch: 'replace', b: 'z' } }, open: { z: { b: null, c: 2 } } };
  assert.deepEqual(strategicMerge({ schema, original, patch }), {
    typed: { one: { b: 'z' } },
    open: { z: { a: 1, c: 2 } },
  });
});
