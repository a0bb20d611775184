import { strict as assert } from 'node:assert';
import { suite, test } from 'node:test';
import { allShapes, contentOf, type Operation, ownersOf, run, withStored } from './apply-fixture.ts';

interface Case {
  readonly name: string;
  readonly operations: readonly Operation[];
  /** Without apiVersion, kind and metadata. */
  readonly content?: Readonly<Record<string, unknown>>;
  readonly owners?: Readonly<Record<string, readonly string[]>>;
}

const check = (title: string, cases: readonly Case[]): void => {
  suite(title, () => {
    for (const { name, operations, content, owners } of cases) {
      test(name, () => {
        const { object } = run(allShapes, operations);
        // Defaulted, and not relevant here.
        const { count: _, ...rest } = contentOf(object);
        if (content) assert.deepEqual(rest, content);
        if (owners) assert.deepEqual(ownersOf(object), owners);
      });
    }
  });
};

check('an update', [
  {
    name: 'owns all of a new object but what the server keeps, containers too',
    operations: [
      { update: 'a', object: { text: 'x', data: { k: 'v' }, set: ['s'], parts: [{ name: 'p', value: 1 }] } },
    ],
    owners: {
      'a/Update': [
        '.count',
        '.data',
        '.data.k',
        '.parts',
        '.parts[name="p"]',
        '.parts[name="p"].name',
        '.parts[name="p"].value',
        '.set',
        '.set[="s"]',
        '.text',
      ],
    },
  },
  {
    name: 'takes what it changes from whoever owned it, and nothing else',
    operations: [
      { update: 'a', object: { data: { one: '1', two: '2' } } },
      { update: 'b', object: withStored({ data: { one: '1', two: 'other', three: '3' } }) },
    ],
    owners: { 'a/Update': ['.count', '.data', '.data.one'], 'b/Update': ['.data.three', '.data.two'] },
  },
  {
    name: 'takes from appliers too, without a conflict',
    operations: [
      { apply: 'a', config: { data: { one: '1', two: '2' } } },
      { update: 'b', object: withStored({ data: { one: 'other', two: '2' } }) },
    ],
    content: { data: { one: 'other', two: '2' } },
    owners: { 'a/Apply': ['.data.two'], 'b/Update': ['.data.one'] },
  },
  {
    name: 'frees what it removes, for all owners, and owns nothing of it',
    operations: [
      { apply: 'a', config: { data: { one: '1', two: '2' } } },
      { update: 'b', object: withStored({ data: { two: '2' } }) },
    ],
    owners: { 'a/Apply': ['.data.two'] },
  },
  {
    name: 'of the same manager adds to its entry',
    operations: [
      { update: 'a', object: { text: 'x' } },
      { update: 'a', object: withStored({ text: 'y', flag: true }) },
    ],
    owners: { 'a/Update': ['.count', '.flag', '.text'] },
  },
  {
    name: 'through a subresource has an entry of its own',
    operations: [
      { update: 'a', object: { text: 'x' } },
      { update: 'a', subresource: 'status', object: withStored({ status: { name: 's' } }) },
    ],
    owners: { 'a/Update': ['.count', '.text'], 'a/Update/status': ['.status', '.status.name'] },
  },
  {
    name: 'owns an atomic value whole when any of it changes',
    operations: [
      { update: 'a', object: { atomicMap: { k: '1' }, point: { x: 1 }, atomicList: [{ x: 1 }] } },
      { update: 'b', object: withStored({ atomicMap: { k: '1', l: '2' }, point: { x: 2 }, atomicList: [{ x: 3 }] }) },
    ],
    owners: { 'a/Update': ['.count'], 'b/Update': ['.atomicList', '.atomicMap', '.point'] },
  },
  {
    name: 'owns no order of a set or a keyed list',
    operations: [
      { update: 'a', object: { set: ['x', 'y'], parts: [{ name: 'p' }, { name: 'q' }] } },
      { update: 'b', object: withStored({ set: ['y', 'x'], parts: [{ name: 'q' }, { name: 'p' }] }) },
    ],
    content: { set: ['y', 'x'], parts: [{ name: 'q' }, { name: 'p' }] },
    owners: {
      'a/Update': [
        '.count',
        '.parts',
        '.parts[name="p"]',
        '.parts[name="p"].name',
        '.parts[name="q"]',
        '.parts[name="q"].name',
        '.set',
        '.set[="x"]',
        '.set[="y"]',
      ],
    },
  },
]);

check('an apply', [
  {
    name: 'owns the leaves, the keys and the elements that it names, not what holds them',
    operations: [
      {
        apply: 'a',
        config: {
          data: { k: 'v' },
          set: ['s'],
          inner: { name: 'n' },
          named: { m: { name: 'n' } },
          parts: [{ name: 'p', tags: ['t'] }],
          free: { deep: { list: [1] } },
        },
      },
    ],
    owners: {
      'a/Apply': [
        '.data.k',
        '.free.deep',
        '.free.deep.list',
        '.inner.name',
        '.named.m',
        '.named.m.name',
        '.parts[name="p"]',
        '.parts[name="p"].name',
        '.parts[name="p"].tags[="t"]',
        '.set[="s"]',
      ],
    },
  },
  {
    name: 'of the same value shares the field',
    operations: [
      { apply: 'a', config: { data: { k: 'v' } } },
      { apply: 'b', config: { data: { k: 'v' } } },
      { apply: 'c', config: { data: { k: 'other' } }, conflicts: ['a: .data.k', 'b: .data.k'] },
      { apply: 'a', config: { data: { k: 'other' } }, conflicts: ['b: .data.k'] },
    ],
    content: { data: { k: 'v' } },
    owners: { 'a/Apply': ['.data.k'], 'b/Apply': ['.data.k'] },
  },
  {
    name: 'by force takes the field from all others',
    operations: [
      { apply: 'a', config: { data: { k: 'v', l: '1' } } },
      { update: 'b', object: withStored({ data: { k: 'w', l: '1' } }) },
      { apply: 'c', config: { data: { k: 'w' } } },
      { apply: 'd', config: { data: { k: 'forced' } }, force: true },
    ],
    content: { data: { k: 'forced', l: '1' } },
    owners: { 'a/Apply': ['.data.l'], 'd/Apply': ['.data.k'] },
  },
  {
    name: 'conflicts with what the same manager wrote by updates',
    operations: [
      { update: 'a', object: { text: 'x' } },
      { apply: 'a', config: { text: 'y' }, conflicts: ['a: .text'] },
    ],
    content: { text: 'x' },
  },
  {
    name: 'conflicts with nobody over a field that nobody owns',
    operations: [
      { apply: 'a', config: { text: 'x' } },
      { apply: 'b', config: { count: 5 } },
    ],
    owners: { 'a/Apply': ['.text'], 'b/Apply': ['.count'] },
  },
  {
    name: 'that leaves a field out gives it up; it goes when nobody else has it',
    operations: [
      { apply: 'a', config: { text: 'x', data: { k: 'v', l: 'w' } } },
      { apply: 'b', config: { data: { l: 'w' } } },
      { apply: 'a', config: {} },
    ],
    content: { data: { l: 'w' } },
    owners: { 'b/Apply': ['.data.l'] },
  },
  {
    name: 'that leaves a field out leaves it to an updater that changed it',
    operations: [
      { apply: 'a', config: { text: 'x', inner: { value: 1 } } },
      { update: 'b', object: withStored({ inner: { value: 2 } }) },
      { apply: 'a', config: { text: 'x' } },
    ],
    content: { text: 'x', inner: { value: 2 } },
    owners: { 'a/Apply': ['.text'], 'b/Update': ['.inner.value'] },
  },
  {
    name: 'never removes what it did not apply',
    operations: [
      { update: 'b', object: { text: 'x', data: { k: 'v' } } },
      { apply: 'a', config: { data: { l: 'w' } } },
      { apply: 'a', config: {} },
    ],
    content: { text: 'x', data: { k: 'v' } },
  },
  {
    name: 'removes elements of lists, and keeps those in which others own something',
    operations: [
      { apply: 'a', config: { parts: [{ name: 'p', value: 1 }, { name: 'q', tags: ['x'] }, { name: 'r' }] } },
      { apply: 'b', config: { parts: [{ name: 'q', tags: ['y'] }] } },
      { apply: 'a', config: { parts: [{ name: 'r' }] } },
    ],
    content: { parts: [{ name: 'q', tags: ['y'] }, { name: 'r' }] },
    owners: {
      'a/Apply': ['.parts[name="r"]', '.parts[name="r"].name'],
      'b/Apply': ['.parts[name="q"]', '.parts[name="q"].name', '.parts[name="q"].tags[="y"]'],
    },
  },
  {
    name: 'keeps what an updater has put into an element that another applier has',
    operations: [
      { apply: 'a', config: { parts: [{ name: 'p' }, { name: 'q', tags: ['x'] }] } },
      { apply: 'b', config: { parts: [{ name: 'q', tags: ['y'] }] } },
      { update: 'c', object: withStored({ parts: [{ name: 'p' }, { name: 'q', tags: ['x', 'y', 'z'] }] }) },
      { apply: 'a', config: { parts: [{ name: 'p' }] } },
    ],
    content: { parts: [{ name: 'p' }, { name: 'q', tags: ['y', 'z'] }] },
  },
  {
    name: 'removes an element with all that an updater has put into it',
    operations: [
      { apply: 'a', config: { parts: [{ name: 'p' }, { name: 'q', tags: ['x'] }] } },
      { update: 'c', object: withStored({ parts: [{ name: 'p' }, { name: 'q', tags: ['x', 'z'] }] }) },
      { apply: 'a', config: { parts: [{ name: 'p' }] } },
    ],
    content: { parts: [{ name: 'p' }] },
    owners: { 'a/Apply': ['.parts[name="p"]', '.parts[name="p"].name'] },
  },
  {
    name: 'removes a struct with the last of its fields',
    operations: [
      { apply: 'a', config: { inner: { name: 'n', value: 1 } } },
      { apply: 'a', config: {} },
    ],
    content: {},
    owners: {},
  },
  {
    name: 'leaves a struct to those who own something in it',
    operations: [
      { apply: 'a', config: { inner: { name: 'n' } } },
      { update: 'b', object: withStored({ inner: { name: 'n', value: 1 } }) },
      { apply: 'a', config: {} },
    ],
    content: { inner: { value: 1 } },
    owners: { 'b/Update': ['.inner.value'] },
  },
  {
    name: 'of an empty object owns it and empties it of its own',
    operations: [
      { apply: 'a', config: { inner: { name: 'n' } } },
      { apply: 'a', config: { inner: {} } },
    ],
    content: { inner: {} },
    owners: { 'a/Apply': ['.inner'] },
  },
  {
    name: 'of an empty object leaves what others have in it',
    operations: [
      { apply: 'a', config: { inner: { name: 'n' } } },
      { update: 'b', object: withStored({ inner: { name: 'n', value: 1 } }) },
      { apply: 'a', config: { inner: {} } },
    ],
    content: { inner: { value: 1 } },
    owners: { 'a/Apply': ['.inner'], 'b/Update': ['.inner.value'] },
  },
  {
    name: 'of null owns the field, and takes nothing of others from it',
    operations: [
      { apply: 'a', config: { inner: { name: 'n' } } },
      { update: 'b', object: withStored({ inner: { name: 'o', value: 1 } }) },
      { apply: 'a', config: { inner: null } },
    ],
    content: { inner: { name: 'o', value: 1 } },
    owners: { 'a/Apply': ['.inner'], 'b/Update': ['.inner.name', '.inner.value'] },
  },
  {
    name: 'of null for a struct that it alone had removes it',
    operations: [
      { apply: 'a', config: { inner: { name: 'n' } } },
      { apply: 'a', config: { inner: null } },
      { apply: 'a', config: { inner: null } },
    ],
    content: {},
    owners: { 'a/Apply': ['.inner'] },
  },
  {
    name: 'of null for a struct that another made, and that it alone had filled, is a conflict',
    operations: [
      { update: 'b', object: { inner: {} } },
      { apply: 'a', config: { inner: { name: 'n' } } },
      { apply: 'a', config: { inner: null }, conflicts: ['b: .inner'] },
      { apply: 'a', config: { inner: null }, force: true },
    ],
    content: {},
    owners: { 'a/Apply': ['.inner'], 'b/Update': ['.count'] },
  },
  {
    name: 'that gives up its part of a struct leaves it, empty, to whoever made it',
    operations: [
      { update: 'b', object: { inner: {} } },
      { apply: 'a', config: { inner: { name: 'n' } } },
      { apply: 'a', config: {} },
    ],
    content: { inner: {} },
    owners: { 'b/Update': ['.count', '.inner'] },
  },
  {
    name: 'of null for a value of another is a conflict',
    operations: [
      { update: 'b', object: { text: 'x' } },
      { apply: 'a', config: { text: null }, conflicts: ['b: .text'] },
      { apply: 'a', config: { text: null }, force: true },
    ],
    content: {},
    owners: { 'a/Apply': ['.text'], 'b/Update': ['.count'] },
  },
  {
    name: 'of an empty list or map that nobody fills owns the map only',
    operations: [{ apply: 'a', config: { set: [], data: {}, atomicList: [] } }],
    content: {},
    owners: { 'a/Apply': ['.atomicList', '.data'] },
  },
  {
    name: 'of an empty list leaves the elements of others',
    operations: [
      { update: 'b', object: { set: ['x'] } },
      { apply: 'a', config: { set: [] } },
    ],
    content: { set: ['x'] },
  },
  {
    name: 'of a value that is dropped because it is zero agrees with its absence, whoever wants it',
    operations: [
      { apply: 'a', config: { flag: false, text: '' } },
      { apply: 'b', config: { flag: false, text: '' } },
      { apply: 'c', config: { flag: true }, conflicts: ['a: .flag', 'b: .flag'] },
    ],
    content: {},
    owners: { 'a/Apply': ['.flag', '.text'], 'b/Apply': ['.flag', '.text'] },
  },
  {
    name: 'of a value written in another form agrees with it',
    operations: [
      { apply: 'a', config: { amount: '1000m', parts: [{ name: 'p', limits: { cpu: '0.5' } }] } },
      { apply: 'b', config: { amount: 1, parts: [{ name: 'p', limits: { cpu: '500m' } }] } },
    ],
    content: { amount: '1', parts: [{ name: 'p', limits: { cpu: '500m' } }] },
  },
  {
    name: 'of an atomic value replaces it, defaults within included',
    operations: [
      { apply: 'a', config: { atomicMap: { k: '1' }, point: { x: 1 }, atomicList: [{ x: 1 }] } },
      { apply: 'b', config: { point: { x: 1, y: 7 }, atomicList: [{ x: 1 }] } },
      { apply: 'c', config: { atomicMap: { l: '2' } }, conflicts: ['a: .atomicMap'] },
      { apply: 'c', config: { atomicMap: { l: '2' } }, force: true },
    ],
    content: { atomicMap: { l: '2' }, point: { x: 1, y: 7 }, atomicList: [{ x: 1, y: 7 }] },
    owners: {
      'a/Apply': ['.atomicList', '.point'],
      'b/Apply': ['.atomicList', '.point'],
      'c/Apply': ['.atomicMap'],
    },
  },
  {
    name: 'finds elements by several keys, with defaults for those left out',
    operations: [
      {
        apply: 'a',
        config: {
          ports: [
            { port: 80, name: 'web' },
            { port: 80, protocol: 'UDP' },
          ],
        },
      },
      { apply: 'b', config: { ports: [{ port: 80, protocol: 'TCP', name: 'web' }] } },
      {
        apply: 'b',
        config: { ports: [{ port: 80, name: 'other' }] },
        conflicts: ['a: .ports[port=80,protocol="TCP"].name'],
      },
    ],
    content: {
      ports: [
        { port: 80, protocol: 'TCP', name: 'web' },
        { port: 80, protocol: 'UDP' },
      ],
    },
    owners: {
      'a/Apply': [
        '.ports[port=80,protocol="TCP"]',
        '.ports[port=80,protocol="TCP"].name',
        '.ports[port=80,protocol="TCP"].port',
        '.ports[port=80,protocol="UDP"]',
        '.ports[port=80,protocol="UDP"].port',
        '.ports[port=80,protocol="UDP"].protocol',
      ],
      'b/Apply': [
        '.ports[port=80,protocol="TCP"]',
        '.ports[port=80,protocol="TCP"].name',
        '.ports[port=80,protocol="TCP"].port',
        '.ports[port=80,protocol="TCP"].protocol',
      ],
    },
  },
  {
    name: 'takes values without a schema apart by their objects, and their lists as they are',
    operations: [
      { apply: 'a', config: { free: { deep: { a: 1 }, list: [1, { x: 1 }] } } },
      { apply: 'b', config: { free: { deep: { b: 2 } } } },
      { apply: 'b', config: { free: { deep: { b: 2 }, list: [1] } }, conflicts: ['a: .free.list'] },
      { apply: 'b', config: { free: { deep: 5 } }, conflicts: ['a: .free.deep'] },
      { apply: 'a', config: { free: { list: [1, { x: 1 }] } } },
    ],
    content: { free: { deep: { b: 2 }, list: [1, { x: 1 }] } },
    owners: { 'a/Apply': ['.free.list'], 'b/Apply': ['.free.deep', '.free.deep.b'] },
  },
  {
    name: 'of metadata owns labels and annotations, not what the server keeps',
    operations: [
      {
        apply: 'a',
        config: {
          metadata: { labels: { l: '1' }, generation: 9, uid: 'u', creationTimestamp: null, resourceVersion: '5' },
        },
      },
    ],
    owners: { 'a/Apply': ['.metadata.labels.l'] },
  },
  {
    name: 'of a list of atomic structs by key owns each whole',
    operations: [
      { apply: 'a', config: { metadata: { ownerReferences: [{ uid: 'u', name: 'n' }] } } },
      {
        apply: 'b',
        config: { metadata: { ownerReferences: [{ uid: 'u', name: 'm' }] } },
        conflicts: ['a: .metadata.ownerReferences[uid="u"]'],
      },
    ],
    owners: { 'a/Apply': ['.metadata.ownerReferences[uid="u"]'] },
  },
]);

check('the order of lists', [
  {
    name: 'is the live one where the configuration says no other',
    operations: [
      { update: 'b', object: { set: ['a', 'b', 'c', 'd'] } },
      { apply: 'a', config: { set: ['b', 'd'] } },
    ],
    content: { set: ['a', 'b', 'c', 'd'] },
  },
  {
    name: 'is that of the configuration for its own; others stay between those that both have',
    operations: [
      { update: 'b', object: { set: ['a', 'b', 'x', 'y'] } },
      { apply: 'a', config: { set: ['b', 'a', 'n'] } },
    ],
    content: { set: ['b', 'x', 'y', 'a', 'n'] },
  },
  {
    name: 'puts new elements before the next one that both have',
    operations: [
      { update: 'b', object: { set: ['x', 'a', 'y'] } },
      { apply: 'a', config: { set: ['n', 'a'] } },
    ],
    content: { set: ['x', 'n', 'a', 'y'] },
  },
  {
    name: 'can be changed without changing owners',
    operations: [
      { apply: 'a', config: { parts: [{ name: 'p' }, { name: 'q' }] } },
      { apply: 'a', config: { parts: [{ name: 'q' }, { name: 'p' }] } },
    ],
    content: { parts: [{ name: 'q' }, { name: 'p' }] },
  },
]);

check('elements that a live list has twice', [
  {
    name: 'are owned whole',
    operations: [
      {
        update: 'u',
        object: {
          set: ['1', '1', '3'],
          parts: [
            { name: 'p', value: 1 },
            { name: 'p', value: 2 },
          ],
        },
      },
    ],
    owners: { 'u/Update': ['.count', '.parts', '.parts[name="p"]', '.set', '.set[="1"]', '.set[="3"]'] },
  },
  {
    name: 'are taken by whoever adds or removes one',
    operations: [
      { update: 'u', object: { set: ['1', '3', '4', '4'] } },
      { update: 'v', object: withStored({ set: ['1', '1', '3', '4'] }) },
    ],
    owners: { 'u/Update': ['.count', '.set', '.set[="3"]'], 'v/Update': ['.set[="1"]', '.set[="4"]'] },
  },
  {
    name: 'are taken by whoever changes one',
    operations: [
      {
        update: 'u',
        object: {
          parts: [
            { name: 'p', value: 1 },
            { name: 'p', value: 2 },
          ],
        },
      },
      {
        update: 'v',
        object: withStored({
          parts: [
            { name: 'p', value: 1 },
            { name: 'p', value: 3 },
          ],
        }),
      },
    ],
    owners: { 'u/Update': ['.count', '.parts'], 'v/Update': ['.parts[name="p"]'] },
  },
  {
    name: 'stay when a configuration does not name them',
    operations: [
      { update: 'u', object: { set: ['1', '1', '3'] } },
      { apply: 'a', config: { set: ['5'] } },
    ],
    content: { set: ['1', '1', '3', '5'] },
  },
  {
    name: 'become the one of the configuration, which conflicts with their owner',
    operations: [
      {
        update: 'u',
        object: {
          set: ['1', '1', '3'],
          parts: [
            { name: 'p', value: 1 },
            { name: 'p', value: 2 },
          ],
        },
      },
      { apply: 'a', config: { set: ['1'] }, conflicts: ['u: .set[="1"]'] },
      { apply: 'a', config: { set: ['1'], parts: [{ name: 'p', value: 5 }] }, force: true },
    ],
    content: { set: ['1', '3'], parts: [{ name: 'p', value: 5 }] },
    owners: {
      'a/Apply': ['.parts[name="p"]', '.parts[name="p"].name', '.parts[name="p"].value', '.set[="1"]'],
      'u/Update': ['.count', '.parts', '.set', '.set[="3"]'],
    },
  },
]);
