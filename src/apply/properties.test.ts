import { strict as assert } from 'node:assert';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import type { ApiObject } from '../meta/api-object.ts';
import { applyConfiguration } from './apply.ts';
import {
  type ApplyOperation,
  allShapes,
  contentOf,
  empty,
  firstMs,
  identified,
  type Operation,
  ownersOf,
  run,
  type State,
  step,
} from './apply-fixture.ts';
import { compareValues } from './compare-values.ts';
import { describePath, type FieldPath } from './fields/field-path.ts';
import { pathsOf } from './fields/field-set.ts';
import { fieldsOf } from './fields/fields-of.ts';
import { decodeFields } from './fields/fields-v1.ts';
import { withNamedFields } from './fields/remove-fields.ts';
import { objectShapeOf } from './fields/shape.ts';

/** Number of write sequences per property; `APPLY_SEQUENCES=10000` takes about a minute. */
const sequences = Number(process.env['APPLY_SEQUENCES'] ?? 300);

type Fields = Readonly<Record<string, unknown>>;

const optionally = { requiredKeys: [] };
const shortText = fc.constantFrom('', 'x', 'y', 'z');
const integer = fc.integer({ min: 0, max: 2 });
const key = fc.constantFrom('a', 'b', '__proto__');
const texts = fc.dictionary(key, shortText, { maxKeys: 2, noNullPrototype: true });
const inner = fc.record({ name: shortText, value: integer }, { ...optionally, noNullPrototype: true });
const uniqueTags = fc.uniqueArray(fc.constantFrom('x', 'y', 'z'), { maxLength: 3 });
const point = fc.record({ x: integer, y: integer }, { ...optionally, noNullPrototype: true });
const part = (tags: fc.Arbitrary<string[]>) =>
  fc.record(
    { name: fc.constantFrom('p', 'q', 'r'), value: integer, tags, limits: texts.map(() => ({ cpu: '1' })) },
    { requiredKeys: ['name'], noNullPrototype: true },
  );
const port = fc.record(
  { port: integer, protocol: fc.constantFrom('TCP', 'UDP'), name: shortText },
  { requiredKeys: ['port'], noNullPrototype: true },
);

const free = fc.letrec((tie) => ({
  object: fc.dictionary(key, tie('value'), { maxKeys: 2, depthIdentifier: 'free', noNullPrototype: true }),
  value: fc.oneof(
    { maxDepth: 2, depthIdentifier: 'free' },
    integer,
    shortText,
    fc.array(integer, { maxLength: 2 }),
    tie('object'),
  ),
}));

const fieldsWith = (lists: { readonly tags: fc.Arbitrary<string[]>; readonly parts: fc.Arbitrary<unknown[]> }) => ({
  text: shortText,
  count: integer,
  flag: fc.boolean(),
  data: texts,
  atomicMap: texts,
  inner,
  point,
  set: lists.tags,
  atomicList: fc.array(point, { maxLength: 2 }),
  parts: lists.parts,
  ports: fc.uniqueArray(port, {
    maxLength: 3,
    selector: ({ port: number, protocol = 'TCP' }) => `${number}/${protocol}`,
  }),
  named: fc.dictionary(key, inner, { maxKeys: 2, noNullPrototype: true }),
  free: free.object,
});

const config: fc.Arbitrary<Fields> = fc.record(
  fieldsWith({
    tags: uniqueTags,
    parts: fc.uniqueArray(part(uniqueTags), { maxLength: 3, selector: ({ name }) => name }),
  }),
  { ...optionally, noNullPrototype: true },
);
const nullableConfig: fc.Arbitrary<Fields> = fc
  .tuple(config, fc.subarray(['text', 'count', 'data', 'inner', 'set', 'parts', 'free']))
  .map(([fields, nulls]) => ({ ...fields, ...Object.fromEntries(nulls.map((name) => [name, null])) }));

/** Live lists may contain duplicates. */
const tags = fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 3 });
const object: fc.Arbitrary<Fields> = fc.record(fieldsWith({ tags, parts: fc.array(part(tags), { maxLength: 3 }) }), {
  ...optionally,
  noNullPrototype: true,
});

const manager = fc.constantFrom('a', 'b', 'c');
/** Forced, so that no apply ends with a conflict. */
const applyOperation: fc.Arbitrary<ApplyOperation> = fc.record({
  apply: manager,
  config: nullableConfig,
  force: fc.constant(true),
});
const operation: fc.Arbitrary<Operation> = fc.oneof(
  applyOperation,
  fc.record({ update: manager, object }),
  // The most frequent update of real clients: change one field of the object read.
  fc.record({ update: manager, object }).map(({ update, object: fields }) => ({
    update,
    object: (stored: ApiObject) => ({ ...stored, ...Object.fromEntries(Object.entries(fields).slice(0, 1)) }),
  })),
);
const operations = fc.array(operation, { minLength: 1, maxLength: 6 });

const shape = objectShapeOf(allShapes);

const pathsIn = (fields: unknown): readonly FieldPath[] => [...pathsOf(decodeFields(fields))];

/** The existing fields, and those that can be applied and be absent: everything that may be owned. */
function existing(content: ApiObject): ReadonlySet<string> {
  const added = compareValues(shape, { metadata: {} }, content)?.added ?? new Map();
  return new Set([...pathsOf(added)].map(describePath));
}

suite('under random writes by several managers', () => {
  test('absent fields have no owner except an applier of their absence', () => {
    fc.assert(
      fc.property(operations, (list) => {
        let state: State = empty;
        const absent = new Map<string, ReadonlySet<string>>();
        for (const each of list) {
          state = step(allShapes, each, state);
          if ('apply' in each) absent.set(each.apply, askedFor(each.config));
          const there = existing(state.object as ApiObject);
          for (const { manager: name = '', operation: kind, fieldsV1 } of state.object?.metadata.managedFields ?? []) {
            for (const path of pathsIn(fieldsV1)) {
              const text = describePath(path);
              const excused = kind === 'Apply' && absent.get(name)?.has(text);
              assert.ok(there.has(text) || excused, `${name}/${kind} owns ${text}`);
            }
          }
        }
      }),
      { numRuns: sequences },
    );
  });

  test('the writer owns alone what it changed, and the others keep what they had of the rest', () => {
    fc.assert(
      fc.property(operations, fc.record({ update: manager, object }), (list, last) => {
        const before = run(allShapes, list);
        const after = step(allShapes, last, before);
        const changes = compareValues(shape, before.object, after.object);
        const changed = new Set(
          [changes?.added, changes?.modified].flatMap((set) => [...pathsOf(set ?? new Map())].map(describePath)),
        );
        const gone = new Set([...pathsOf(changes?.removed ?? new Map())].map(describePath));
        const [had, has] = [ownersOf(before.object), ownersOf(after.object)];
        const writer = `${last.update}/Update`;
        for (const owner of new Set([...Object.keys(had), ...Object.keys(has)])) {
          const kept = (had[owner] ?? []).filter((path) => !changed.has(path) && !gone.has(path));
          const expected = owner === writer ? new Set([...kept, ...changed]) : new Set(kept);
          assert.deepEqual(new Set(has[owner] ?? []), expected, owner);
        }
      }),
      { numRuns: sequences },
    );
  });

  test('an apply gives the applier what it asks for, and takes away what nobody else owns', () => {
    fc.assert(
      fc.property(operations, applyOperation, (list, last) => {
        const before = run(allShapes, list);
        const after = step(allShapes, last, before);
        const owned = new Set(ownersOf(after.object)[`${last.apply}/Apply`] ?? []);
        assert.deepEqual(owned, askedFor(last.config));
        const others = Object.entries(ownersOf(after.object)).filter(([name]) => name !== `${last.apply}/Apply`);
        const kept = new Set([...owned, ...others.flatMap(([, paths]) => paths)]);
        const given = (ownersOf(before.object)[`${last.apply}/Apply`] ?? []).filter((path) => !kept.has(path));
        const there = leafTexts(after.object as ApiObject);
        for (const path of given) {
          if (isDefaulted(path)) continue;
          const isPart = [...kept].some((other) => other.startsWith(path));
          assert.ok(isPart || !there.has(path), `${path} was given up`);
        }
      }),
      { numRuns: sequences },
    );
  });

  test('an apply twice is an apply once, without a new revision', () => {
    fc.assert(
      fc.property(operations, applyOperation, (list, last) => {
        const once = run(allShapes, [...list, last]);
        const twice = step(allShapes, last, once);
        assert.deepEqual(twice.object, once.object);
      }),
      { numRuns: sequences },
    );
  });

  test('an update with what is stored changes nothing', () => {
    fc.assert(
      fc.property(operations, manager, (list, update) => {
        const state = run(allShapes, list);
        assert.deepEqual(step(allShapes, { update, object: (stored) => stored }, state).object, state.object);
      }),
      { numRuns: sequences },
    );
  });

  test('an apply without force takes no existing field from others', () => {
    fc.assert(
      fc.property(operations, manager, config, (list, name, fields) => {
        const { object: live } = run(allShapes, list);
        const request = { schema: allShapes, apiVersion: 'v1', subresource: '', nowMs: firstMs, force: false };
        const applied = applyConfiguration({ ...request, manager: name, live, config: identified(fields) });
        if (applied.type === 'conflicts') return;
        const after = ownersOf(applied.object as ApiObject);
        // Containers are removed with their last member.
        const there = existing(applied.object as ApiObject);
        for (const [owner, paths] of Object.entries(ownersOf(live))) {
          if (owner === `${name}/Apply`) continue;
          const taken = paths.filter((path) => !after[owner]?.includes(path));
          assert.deepEqual(
            taken.filter((path) => there.has(path)),
            [],
            owner,
          );
        }
      }),
      { numRuns: sequences },
    );
  });
});

/** The fields an applier owns after applying: those of the configuration, whatever their stored value. */
function askedFor(fields: Fields): ReadonlySet<string> {
  return new Set([...pathsOf(fieldsOf(shape, identified(fields)))].map(describePath));
}

const leafTexts = (content: ApiObject): ReadonlySet<string> =>
  new Set([...pathsOf(withNamedFields(shape, fieldsOf(shape, content)))].map(describePath));

const isDefaulted = (path: string): boolean => path === '.count' || path.endsWith('.protocol');

suite('appliers', () => {
  /** An object without owners is treated as untracked. */
  const tracked: Operation = { apply: 'base', config: { status: { name: 'n' } } };

  test('of different fields come to the same in any order', () => {
    const names = [
      'text',
      'count',
      'data',
      'atomicMap',
      'inner',
      'point',
      'set',
      'atomicList',
      'parts',
      'ports',
      'named',
      'free',
    ];
    fc.assert(
      fc.property(config, fc.subarray(names), (fields, mine) => {
        const first = Object.fromEntries(Object.entries(fields).filter(([name]) => mine.includes(name)));
        const second = Object.fromEntries(Object.entries(fields).filter(([name]) => !mine.includes(name)));
        const a: Operation = { apply: 'a', config: first };
        const b: Operation = { apply: 'b', config: second };
        const [ab, ba] = [run(allShapes, [tracked, a, b]).object, run(allShapes, [tracked, b, a]).object];
        assert.deepEqual(contentOf(ab), contentOf(ba));
        assert.deepEqual(ownersOf(ab), ownersOf(ba));
      }),
      { numRuns: sequences },
    );
  });

  test('that all apply nothing leave only fields of updates', () => {
    fc.assert(
      fc.property(fc.array(applyOperation, { maxLength: 5 }), (list) => {
        const last = ['a', 'b', 'c'].map((apply): Operation => ({ apply, config: {} }));
        const { object: left } = run(allShapes, [tracked, ...list, ...last]);
        assert.deepEqual(contentOf(left), { count: 1, status: { name: 'n' } });
        assert.deepEqual(ownersOf(left), { 'base/Apply': ['.status.name'] });
      }),
      { numRuns: sequences },
    );
  });
});
