import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WorkSlices } from '../../base/time/work-slices.ts';
import type { DiscoveredResource } from '../../client/discovery-client.ts';
import type { ApiObject, ObjectMeta } from '../../meta/api-object.ts';
import { isKept, nodeOf, OwnershipGraph } from './ownership-graph.ts';

const resourceOf = (resource: string): DiscoveredResource => ({
  apiVersion: 'v1',
  kind: 'Any',
  resource,
  namespaced: true,
  singular: '',
  verbs: [],
});
const things = resourceOf('things');
const others = resourceOf('others');

const object = (uid: string, owners: readonly string[], more: ObjectMeta = {}): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Any',
  metadata: {
    uid,
    name: `name-${uid}`,
    namespace: 'ns',
    ownerReferences: owners.map((owner) => ({ apiVersion: 'v1', kind: 'Any', name: `name-${owner}`, uid: owner })),
    ...more,
  },
});
const node = (uid: string, owners: readonly string[] = [], resource = things) => nodeOf(resource, object(uid, owners));
const uids = (nodes: Iterable<{ readonly uid: string }>): readonly string[] =>
  Array.from(nodes, ({ uid }) => uid).sort();

describe('whether an object is kept', () => {
  for (const [metadata, kept, waits, orphans] of [
    [{}, false, false, false],
    [{ finalizers: ['foregroundDeletion', 'orphan'] }, false, false, false],
    [{ deletionTimestamp: 't' }, false, false, false],
    [{ deletionTimestamp: 't', finalizers: ['example.com/x'] }, false, false, false],
    [{ deletionTimestamp: 't', finalizers: ['foregroundDeletion'] }, true, true, false],
    [{ deletionTimestamp: 't', finalizers: ['x/y', 'orphan'] }, true, false, true],
  ] as const) {
    it(JSON.stringify(metadata), () => {
      const found = nodeOf(things, object('a', [], metadata as ObjectMeta));
      assert.deepEqual([isKept(found), found.waitsForDependents, found.orphansDependents], [kept, waits, orphans]);
      assert.ok(isKept(nodeOf(things, object('a', ['b'], metadata as ObjectMeta))));
    });
  }
});

describe('the graph', () => {
  it('knows the dependents of owners inside and outside the graph', () => {
    const graph = new OwnershipGraph();
    for (const each of [node('a', ['o']), node('b', ['o', 'a']), node('c')]) graph.see(each);
    assert.deepEqual(uids(graph.dependentsOf('o')), ['a', 'b']);
    assert.deepEqual(uids(graph.dependentsOf('a')), ['b']);
    assert.deepEqual(graph.dependentsOf('c'), []);
    assert.deepEqual(uids(graph.nodes()), ['a', 'b']);
  });

  it('follows changes of owners, and returns the previous state', () => {
    const graph = new OwnershipGraph();
    const first = node('a', ['o', 'p']);
    assert.equal(graph.see(first), undefined);
    assert.equal(graph.see(node('a', ['p', 'q'])), first);
    assert.deepEqual(
      ['o', 'p', 'q'].map((owner) => graph.dependentsOf(owner).length),
      [0, 1, 1],
    );
    graph.see(node('a'));
    assert.equal(graph.get('a'), undefined);
    assert.deepEqual([graph.size, graph.countOf(things)], [0, 0]);
  });

  it('removes an object, not its dependents', () => {
    const graph = new OwnershipGraph();
    const [a, b] = [node('a', ['o']), node('b', ['a'])];
    for (const each of [a, b]) graph.see(each);
    assert.equal(graph.forget('a'), a);
    assert.equal(graph.forget('a'), undefined);
    assert.deepEqual(uids(graph.dependentsOf('a')), ['b']);
    assert.deepEqual(graph.dependentsOf('o'), []);
  });

  it('counts by resource', () => {
    const graph = new OwnershipGraph();
    for (const each of [node('a', ['o']), node('b', ['o'], others), node('c', ['o'], others), node('d', [], others)]) {
      graph.see(each);
    }
    graph.see(node('b', ['p'], others));
    assert.deepEqual([graph.countOf(things), graph.countOf(others), graph.countOf(resourceOf('none'))], [1, 2, 0]);
    graph.see(node('b', ['p'], things));
    assert.deepEqual([graph.countOf(things), graph.countOf(others)], [2, 1]);
    for (const uid of ['a', 'b', 'c']) graph.forget(uid);
    assert.deepEqual([graph.countOf(things), graph.countOf(others)], [0, 0]);
  });

  it('knows which owners are absent, by namespace, for as long as they have dependents', () => {
    const graph = new OwnershipGraph();
    graph.noteAbsent('o', 'ns');
    assert.equal(graph.isAbsent('o', 'ns'), false);
    for (const each of [node('a', ['o', 'p']), node('b', ['o'])]) graph.see(each);
    graph.noteAbsent('o', 'ns');
    assert.deepEqual(
      [graph.isAbsent('o', 'ns'), graph.isAbsent('o', ''), graph.isAbsent('p', 'ns')],
      [true, false, false],
    );
    graph.forget('a');
    graph.see(node('b', ['q', 'o']));
    assert.equal(graph.isAbsent('o', 'ns'), true);
    graph.see(node('b', ['q']));
    graph.see(node('b', ['o']));
    assert.equal(graph.isAbsent('o', 'ns'), false);
  });

  it('supports an object that owns itself', () => {
    const graph = new OwnershipGraph();
    graph.see(node('a', ['a']));
    assert.deepEqual(uids(graph.dependentsOf('a')), ['a']);
    graph.forget('a');
    assert.deepEqual([graph.size, graph.dependentsOf('a').length], [0, 0]);
  });
});

describe('whether an object waits for itself', () => {
  const finalizers = ['foregroundDeletion'];
  for (const [what, owners, expected] of [
    ['one without owners', { a: '' }, false],
    ['one that owns itself', { a: 'a' }, false],
    ['one that waits for a dependent', { a: '', b: 'a' }, false],
    ['two', { a: 'b', b: 'a' }, true],
    ['two, of which one does not block', { a: 'b', b: 'A' }, false],
    ['two, of which one is not in foreground deletion', { a: 'B', B: 'a' }, false],
    ['three', { a: 'b', b: 'c', c: 'a' }, true],
    ['one that waits for a cycle', { a: '', b: 'ac', c: 'b' }, false],
    ['one that a cycle waits for', { a: 'b', b: 'c', c: 'b' }, false],
    ['each that waits for all', { a: 'abc', b: 'abc', c: 'abc' }, true],
  ] as const) {
    it(`${what}: ${expected ? 'yes' : 'no'}`, async () => {
      const graph = new OwnershipGraph();
      for (const [uid, letters] of Object.entries(owners)) {
        // A capital letter: it does not wait, or does not block.
        const ownerReferences = [...letters].map((owner) => ({
          ...{ apiVersion: 'v1', kind: 'Any', name: owner },
          ...(owner in owners ? { uid: owner, blockOwnerDeletion: true } : { uid: owner.toLowerCase() }),
        }));
        const deleted = { deletionTimestamp: 't', finalizers };
        const waits = uid === uid.toLowerCase() ? deleted : {};
        graph.see(nodeOf(things, object(uid, [], { ...waits, ownerReferences })));
      }
      const first = graph.get('a');
      assert.ok(first);
      assert.equal(await graph.waitsForItself(first, new WorkSlices(2)), expected);
    });
  }
});
