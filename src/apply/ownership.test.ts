import { strict as assert } from 'node:assert';
import { suite, test } from 'node:test';
import type { ApiObject } from '../meta/api-object.ts';
import type { StatusError } from '../meta/status-error.ts';
import { applyConfiguration } from './apply.ts';
import {
  allShapes,
  contentOf,
  empty,
  entriesOf,
  firstMs,
  identified,
  type Operation,
  ownersOf,
  run,
  step,
  stepMs,
  withStored,
} from './apply-fixture.ts';
import { applyConflict } from './conflict.ts';
import { fieldSetOfNames } from './fields/field-set.ts';

const base = { schema: allShapes, apiVersion: 'v1', subresource: '', nowMs: firstMs, force: false };

const withEntries =
  (managedFields: readonly unknown[], fields: Readonly<Record<string, unknown>> = {}) =>
  (stored: ApiObject): Readonly<Record<string, unknown>> => ({
    ...stored,
    metadata: { ...stored.metadata, managedFields },
    ...fields,
  });
const timesOf = (object: ApiObject | undefined): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(entriesOf(object).map(({ manager, time }) => [manager, time]));
const minute = (count: number): string => new Date(firstMs + count * stepMs).toISOString().replace('.000', '');

suite('managedFields', () => {
  test('have the form and order of kube-apiserver', () => {
    const { object } = run(allShapes, [
      { update: 'u', object: { text: 'x', data: { k: 'v' } } },
      { apply: 'b', config: { parts: [{ name: 'p', tags: ['t'] }] } },
      { update: 's', subresource: 'status', object: withStored({ status: { name: 'n' } }) },
      { apply: 'a', config: { data: { l: 'w' } } },
    ]);
    assert.equal(
      JSON.stringify(entriesOf(object)),
      JSON.stringify([
        {
          manager: 'b',
          operation: 'Apply',
          apiVersion: 'v1',
          time: minute(1),
          fieldsType: 'FieldsV1',
          fieldsV1: {
            'f:parts': { 'k:{"name":"p"}': { '.': {}, 'f:name': {}, 'f:tags': { 'v:"t"': {} } } },
          },
        },
        {
          manager: 'a',
          operation: 'Apply',
          apiVersion: 'v1',
          time: minute(3),
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:data': { 'f:l': {} } },
        },
        {
          manager: 'u',
          operation: 'Update',
          apiVersion: 'v1',
          time: minute(0),
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:count': {}, 'f:data': { '.': {}, 'f:k': {} }, 'f:text': {} },
        },
        {
          manager: 's',
          operation: 'Update',
          apiVersion: 'v1',
          time: minute(2),
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:status': { '.': {}, 'f:name': {} } },
          subresource: 'status',
        },
      ]),
    );
  });

  test('of one time are in the order of managers, versions and subresources', () => {
    const entry = (manager: string, apiVersion: string, subresource?: string): unknown => ({
      manager,
      operation: 'Update',
      apiVersion,
      time: minute(0),
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:text': {} },
      ...(subresource && { subresource }),
    });
    const sorted = [entry('a', 'v1'), entry('a', 'v1', 'status'), entry('a', 'v2'), entry('b', 'v1')];
    const { object } = run(allShapes, [
      { update: 'x', object: { text: 'x' } },
      { update: 'x', object: withEntries([...sorted].reverse()) },
    ]);
    assert.deepEqual(entriesOf(object), sorted);
  });

  test('move their time when the manager changes something, and only then', () => {
    let state = run(allShapes, [
      { apply: 'a', config: { text: 'x', data: { k: 'v' } } },
      { update: 'u', object: withStored({ flag: true }) },
    ]);
    const expectTimes = (operation: Operation, times: Readonly<Record<string, number>>): void => {
      const stamped = Object.fromEntries(Object.entries(times).map(([name, count]) => [name, minute(count)]));
      state = step(allShapes, operation, state);
      assert.deepEqual(timesOf(state.object), stamped);
    };
    const unchanged = state.object;
    expectTimes({ apply: 'a', config: { text: 'x', data: { k: 'v' } } }, { a: 0, u: 1 });
    expectTimes({ update: 'u', object: withStored({}) }, { a: 0, u: 1 });
    expectTimes({ update: 'new', object: withStored({}) }, { a: 0, u: 1 });
    assert.deepEqual(state.object, unchanged);
    expectTimes({ apply: 'a', config: { text: 'y', data: { k: 'v' } } }, { a: 5, u: 1 });
    // Taken over by another manager: only the new owner's time changes.
    expectTimes({ update: 'u', object: withStored({ data: { k: 'w' } }) }, { a: 5, u: 6 });
    // Shared now: the object is unchanged, its owners are not.
    expectTimes({ apply: 'b', config: { text: 'y' } }, { a: 5, u: 6, b: 7 });
    // Removing what it owned is a change too.
    expectTimes({ update: 'u', object: (stored) => ({ ...stored, flag: false }) }, { a: 5, u: 8, b: 7 });
    expectTimes({ apply: 'b', config: { text: 'y', amount: null } }, { a: 5, u: 8, b: 9 });
    expectTimes({ apply: 'b', config: { text: 'y', amount: null } }, { a: 5, u: 8, b: 9 });
  });

  test('keep their time when the manager removes what others own, and nothing of its own', () => {
    const { object } = run(allShapes, [
      { update: 'u', object: { flag: true } },
      { apply: 'a', config: { text: 'x' } },
      { update: 'u', object: { flag: true } },
    ]);
    assert.deepEqual(ownersOf(object), { 'u/Update': ['.count', '.flag'] });
    assert.deepEqual(timesOf(object), { u: minute(0) });
  });

  test('give up a default that was not applied without a new revision', () => {
    const state = run(allShapes, [
      { apply: 'a', config: { count: 1 } },
      { apply: 'a', config: {} },
    ]);
    assert.deepEqual(contentOf(state.object), { count: 1 });
    assert.deepEqual(ownersOf(state.object), {});
    // Set to another value, then given up: the default returns.
    const again = run(allShapes, [
      { apply: 'a', config: { count: 5, text: 'x' } },
      { apply: 'a', config: { text: 'x' } },
    ]);
    assert.deepEqual(contentOf(again.object), { text: 'x', count: 1 });
    assert.deepEqual(ownersOf(again.object), { 'a/Apply': ['.text'] });
  });

  test('that are no-ops after defaulting keep their times', () => {
    const operations: Operation[] = [
      { update: 'u', object: { text: 'x' } },
      { apply: 'a', config: { count: null } },
    ];
    const first = run(allShapes, [...operations.slice(0, 1), { apply: 'a', config: { count: null }, force: true }]);
    const second = step(allShapes, { apply: 'a', config: { count: null } }, first);
    assert.deepEqual(second.object, first.object);
  });

  test('keep ten owners by update, and join the oldest', () => {
    const operations: Operation[] = [{ update: 'first', object: { text: 'x' } }];
    for (let i = 0; i < 12; i++) {
      operations.push({
        update: `u${i}`,
        object: (stored) => ({ ...stored, data: { ...(stored['data'] as object), [`k${i}`]: 'v' } }),
      });
    }
    operations.push({ apply: 'a', config: { data: { a: 'v' } } });
    const { object } = run(allShapes, operations);
    const owners = ownersOf(object);
    assert.equal(Object.keys(owners).length, 11);
    assert.deepEqual(owners['ancient-changes/Update'], [
      '.count',
      '.data',
      '.data.k0',
      '.data.k1',
      '.data.k2',
      '.text',
    ]);
    assert.deepEqual(owners['u11/Update'], ['.data.k11']);
    assert.equal(timesOf(object)['ancient-changes'], minute(3));
  });
});

test('joined owners have no subresource', () => {
  const write = (manager: string): Operation => ({
    update: manager,
    subresource: 'status',
    object: (stored) => ({ ...stored, data: { ...(stored['data'] as object), [manager]: 'v' } }),
  });
  const managers = Array.from({ length: 12 }, (_, index) => `u${index}`);
  const owners = Object.keys(ownersOf(run(allShapes, managers.map(write)).object));
  assert.ok(owners.includes('ancient-changes/Update'), owners.join());
  assert.equal(owners.length, 10);
});

suite('managedFields that a client sends with an update', () => {
  const stored: readonly Operation[] = [
    { apply: 'a', config: { text: 'x' } },
    { update: 'u', object: withStored({ flag: true }) },
  ];
  const owners = { 'a/Apply': ['.text'], 'u/Update': ['.flag'] };
  const entry = {
    manager: 'm',
    operation: 'Update',
    apiVersion: 'v1',
    time: minute(9),
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:text': {} },
  };
  const cases: readonly {
    readonly name: string;
    readonly operation: Operation;
    readonly owners: Readonly<Record<string, readonly string[]>>;
  }[] = [
    {
      name: 'take the place of the stored',
      operation: { update: 'w', object: withEntries([entry]) },
      owners: { 'm/Update': ['.text'] },
    },
    {
      name: 'are looked at before the change',
      operation: { update: 'w', object: withEntries([entry], { text: 'y' }) },
      owners: { 'w/Update': ['.text'] },
    },
    { name: 'are kept when none are sent', operation: { update: 'w', object: { text: 'x', flag: true } }, owners },
    { name: 'are kept when an empty list is sent', operation: { update: 'w', object: withEntries([]) }, owners },
    { name: 'are forgotten by one empty entry', operation: { update: 'w', object: withEntries([{}]) }, owners: {} },
    {
      name: 'are forgotten before the change, which the writer owns',
      operation: { update: 'w', object: withEntries([{}], { text: 'y' }) },
      owners: { 'w/Update': ['.text'] },
    },
    {
      name: 'are not forgotten by two empty entries',
      operation: { update: 'w', object: withEntries([{}, {}]) },
      owners,
    },
    {
      name: 'are not forgotten through a subresource',
      operation: { update: 'w', subresource: 'status', object: withEntries([{}]) },
      owners,
    },
    {
      name: 'without fields take the place of the stored',
      operation: { update: 'w', object: withEntries([{ ...entry, fieldsV1: {} }]) },
      owners: {},
    },
    {
      name: 'without fields do not end tracking',
      operation: { update: 'w', object: withEntries([{ ...entry, fieldsV1: {} }], { text: 'y' }) },
      owners: { 'w/Update': ['.text'] },
    },
    {
      name: 'are not taken through a subresource',
      operation: { update: 'w', subresource: 'status', object: withEntries([entry]) },
      owners,
    },
    ...[
      { ...entry, operation: 'Delete' },
      { ...entry, apiVersion: '' },
      { ...entry, fieldsType: 'FieldsV2' },
      { ...entry, fieldsType: undefined },
      { ...entry, fieldsV1: { text: {} } },
      { ...entry, fieldsV1: { 'f:text': 5 } },
      { ...entry, fieldsV1: { 'f:parts': { 'k:{name}': {} } } },
      { ...entry, fieldsV1: JSON.parse(`${'{"f:a":'.repeat(100)}{}${'}'.repeat(100)}`) },
    ].map((malformed, index) => ({
      name: `are not taken when one is no entry: ${index}`,
      operation: { update: 'w', object: withEntries([entry, malformed]) },
      owners,
    })),
    {
      name: 'may name fields that nobody can own, without harm',
      operation: {
        update: 'w',
        object: withEntries([{ ...entry, fieldsV1: { 'f:metadata': { 'f:name': {} }, 'f:__proto__': { 'f:x': {} } } }]),
      },
      owners: { 'm/Update': ['.__proto__.x', '.metadata.name'] },
    },
  ];
  for (const { name, operation, owners: expected } of cases) {
    test(name, () => assert.deepEqual(ownersOf(run(allShapes, [...stored, operation]).object), expected));
  }

  test('cannot make an apply remove identity fields', () => {
    const identity = { 'f:metadata': { '.': {}, 'f:name': {}, 'f:uid': {} }, 'f:kind': {} };
    const forged = { ...entry, manager: 'a', operation: 'Apply', fieldsV1: identity };
    const { object } = run(allShapes, [
      { update: 'u', object: { metadata: { uid: 'u' }, text: 'x' } },
      { update: 'w', object: withEntries([forged]) },
      { apply: 'a', config: {} },
    ]);
    assert.equal(object?.metadata.name, 'thing');
    assert.equal(object?.metadata['uid'], 'u');
    assert.equal(object?.kind, 'Thing');
  });
});

suite('an object without owners', () => {
  const untracked = { object: identified({ text: 'x', data: { k: 'v' } }), nowMs: firstMs };

  test('gets none by an update', () => {
    const { object } = step(allShapes, { update: 'u', object: withStored({ text: 'y' }) }, untracked);
    assert.deepEqual(entriesOf(object), []);
  });

  test('has its fields before the first apply owned by before-first-apply', () => {
    const { object } = step(allShapes, { apply: 'a', config: { data: { l: 'w' } } }, untracked);
    assert.deepEqual(ownersOf(object), {
      'a/Apply': ['.data.l'],
      'before-first-apply/Update': ['.data', '.data.k', '.text'],
    });
    const conflicts = ['before-first-apply: .text'];
    step(allShapes, { apply: 'a', config: { text: 'y' }, conflicts }, untracked);
  });

  test('is a new one for a create, and for an apply that creates', () => {
    const created = step(allShapes, { update: '', object: { text: 'x' } }, empty);
    assert.deepEqual(ownersOf(created.object), { 'unknown/Update': ['.count', '.text'] });
    const applied = step(allShapes, { apply: 'a', config: { text: 'x' } }, empty);
    assert.deepEqual(ownersOf(applied.object), { 'a/Apply': ['.text'] });
  });
});

suite('fields that an endpoint does not write', () => {
  const main = { resetFields: fieldSetOfNames(['status']) };
  const status = { resetFields: fieldSetOfNames(['text'], ['metadata', 'labels']) };

  test('are owned by nobody through it', () => {
    const { object } = run(allShapes, [
      { apply: 'a', config: { text: 'x', status: { name: 'n' } }, options: main },
      { update: 'u', object: withStored({ status: { name: 'm' } }), options: main },
      {
        apply: 'a',
        subresource: 'status',
        config: { text: 'y', metadata: { labels: { l: '1' } }, status: { name: 'm', value: 1 } },
        options: status,
      },
    ]);
    assert.deepEqual(ownersOf(object), {
      'a/Apply': ['.text'],
      'a/Apply/status': ['.status.name', '.status.value'],
    });
  });
});

test('an apply that gives something up leaves what nobody owns in what is left', () => {
  const { object } = run(allShapes, [
    { apply: 'a', config: { parts: [{ name: 'p' }, { name: 'q', tags: ['x'] }] } },
    { apply: 'b', config: { parts: [{ name: 'q' }] } },
    { update: 'c', object: withStored({ parts: [{ name: 'p' }, { name: 'q', value: 5, tags: ['x'] }] }) },
    {
      update: 'w',
      object: (stored) => withEntries(entriesOf(stored).filter(({ manager }) => manager !== 'c'))(stored),
    },
    { apply: 'a', config: { parts: [{ name: 'p' }] } },
  ]);
  assert.deepEqual(contentOf(object)['parts'], [{ name: 'p' }, { name: 'q', value: 5 }]);
});

suite('conflicts', () => {
  const conflictsAfter = (operations: readonly Operation[], config: Readonly<Record<string, unknown>>): StatusError => {
    const live = run(allShapes, operations).object;
    const applied = applyConfiguration({ ...base, manager: 'z', live, config: identified(config) });
    assert.equal(applied.type, 'conflicts');
    return applyConflict(applied.type === 'conflicts' ? applied.conflicts : []);
  };

  test('have the message of kube-apiserver for a single one', () => {
    const error = conflictsAfter([{ update: 'u', object: { data: { k: 'v' } } }], { data: { k: 'w' } });
    assert.equal(error.message, 'Apply failed with 1 conflict: conflict with "u" using v1: .data.k');
    assert.deepEqual(error.toStatus(), {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: error.message,
      reason: 'Conflict',
      details: {
        causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "u" using v1', field: '.data.k' }],
      },
      code: 409,
    });
  });

  test('are sorted by manager and field, and name appliers without a version', () => {
    const error = conflictsAfter(
      [
        { apply: 'b', config: { text: 'x', parts: [{ name: 'p', value: 1 }] } },
        { update: 'a', subresource: 'status', object: withStored({ status: { name: 'n' } }) },
        { apply: 'a', config: { text: 'x' } },
      ],
      { text: 'y', parts: [{ name: 'p', value: 2 }], status: { name: 'm' } },
    );
    assert.equal(
      error.message,
      [
        'Apply failed with 4 conflicts: conflicts with "a":',
        '- .text',
        'conflicts with "a" with subresource "status" using v1:',
        '- .status.name',
        'conflicts with "b":',
        '- .text',
        '- .parts[name="p"].value',
      ].join('\n'),
    );
  });

  test('are counted all, and shown in bounded number', () => {
    const data = Object.fromEntries(Array.from({ length: 1500 }, (_, index) => [`k${index}`, 'v']));
    const other = Object.fromEntries(Object.keys(data).map((key) => [key, 'w']));
    const error = conflictsAfter([{ update: 'u', object: { data } }], { data: other });
    assert.match(error.message, /^Apply failed with 1500 conflicts: /);
    assert.equal(error.details?.causes?.length, 1000);
  });
});

suite('a configuration that cannot be applied', () => {
  const attempt = (config: Readonly<Record<string, unknown>>): void => {
    applyConfiguration({ ...base, manager: 'a', live: undefined, config: identified(config) });
  };
  const cases: readonly [config: Readonly<Record<string, unknown>>, problem: string][] = [
    [{ parts: [{ name: 'p' }, { name: 'p' }] }, '.parts: duplicate entries for key [name="p"]'],
    [{ set: ['x', 'x'] }, '.set: duplicate entries for key [="x"]'],
    [
      { ports: [{ port: 1 }, { port: 1, protocol: 'TCP' }] },
      '.ports: duplicate entries for key [port=1,protocol="TCP"]',
    ],
    [
      { ports: [{ protocol: 'TCP' }] },
      '.ports: element 0: the element omits key field "port" (and it has no default value)',
    ],
    [{ parts: [null] }, '.parts: element 0: a list that is merged by keys may not have a null element'],
    [{ set: ['x', null] }, '.set: element 1: a set may not have a null element'],
    [{ parts: [{ name: 'p', value: 'one' }] }, '.parts[0].value: expected integer, got string'],
    [{ parts: { name: 'p' } }, '.parts: expected array, got object'],
    [{ inner: [] }, '.inner: expected object, got array'],
    [{ data: { k: 5 } }, '.data.k: expected string, got number'],
    [{ atomicList: [{ x: 'one' }] }, '.atomicList[0].x: expected integer, got string'],
    [{ free: 5 }, '.free: expected object, got number'],
  ];
  for (const [config, problem] of cases) {
    test(problem, () =>
      assert.throws(() => attempt(config), {
        code: 400,
        message: `failed to create typed patch object (/thing; /v1, Kind=Thing): ${problem}`,
      }),
    );
  }

  test('reports all its problems', () => {
    assert.throws(() => attempt({ text: 5, count: 'x' }), {
      message:
        'failed to create typed patch object (/thing; /v1, Kind=Thing): errors:\n  .text: expected string, got number\n  .count: expected integer, got string',
    });
  });

  test('has managedFields', () => {
    assert.throws(() => attempt({ metadata: { managedFields: [] } }), {
      code: 400,
      message: 'metadata.managedFields must be nil',
    });
    attempt({ metadata: { managedFields: null } });
  });

  test('reports and drops unknown fields', () => {
    const config = identified({ txet: 1, parts: [{ name: 'p', size: 1 }], point: { z: 1 }, data: { any: 'key' } });
    const applied = applyConfiguration({ ...base, manager: 'a', live: undefined, config });
    assert.deepEqual(applied.unknown, ['txet', 'parts[0].size', 'point.z']);
    assert.equal(applied.type, 'applied');
    if (applied.type === 'applied') assert.equal(JSON.stringify(applied.object).includes('size'), false);
  });

  test('has hostile names, which are names like any other', () => {
    const config = JSON.parse(
      '{"apiVersion":"v1","kind":"Thing","metadata":{"name":"t","labels":{"__proto__":"x","constructor":"y"}},"data":{"__proto__":"z"},"free":{"__proto__":{"polluted":1}},"__proto__":{"text":"x"}}',
    );
    const applied = applyConfiguration({ ...base, manager: 'a', live: undefined, config });
    assert.equal(applied.type, 'applied');
    if (applied.type !== 'applied') return;
    assert.deepEqual(applied.unknown, ['__proto__']);
    const object = JSON.parse(JSON.stringify(applied.object));
    assert.deepEqual(ownersOf(object), {
      'a/Apply': [
        '.data.__proto__',
        '.free.__proto__',
        '.free.__proto__.polluted',
        '.metadata.labels.__proto__',
        '.metadata.labels.constructor',
      ],
    });
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
    const again = applyConfiguration({ ...base, manager: 'a', live: object, config });
    assert.equal(again.type === 'applied' && again.changed, false);
  });
});
