import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { limits } from '../base/limits.ts';
import { noJitter } from '../base/time/backoff-fixture.ts';
import { until } from '../base/waits-fixture.ts';
import { openMemoryStore } from '../store/drivers/memory/memory-store.ts';
import type { Revision } from '../store/store.ts';
import type { CacheEntry } from './cache.ts';
import { configMap, configMaps, keyOf, openCache, parsed, RecordingWatch } from './cache-fixture.ts';
import { ConsistencyChecker } from './consistency-checker.ts';

interface ObjectState {
  readonly namespace: string;
  readonly name: string;
  readonly app: string;
}

/** A change of an object. */
interface ModelChange {
  readonly revision: Revision;
  readonly before: ObjectState | undefined;
  readonly now: ObjectState | undefined;
}

interface Selection {
  readonly namespace?: string;
  readonly name?: string;
  readonly app?: string;
}

const selects = (selection: Selection, state: ObjectState | undefined): state is ObjectState =>
  state !== undefined &&
  (selection.namespace === undefined || state.namespace === selection.namespace) &&
  (selection.name === undefined || state.name === selection.name) &&
  (selection.app === undefined || state.app === selection.app);

/** The events that a watch must deliver for a change. */
function eventsOf(selection: Selection, { before, now, revision }: ModelChange): readonly string[] {
  const was = selects(selection, before);
  const type = selects(selection, now) ? (was ? 'MODIFIED' : 'ADDED') : was ? 'DELETED' : undefined;
  const shown = type === 'DELETED' ? before : now;
  return type && shown ? [`${type} ${shown.namespace}/${shown.name} ${shown.app}@${revision}`] : [];
}

const namespaces = fc.constantFrom('x', 'y');
const names = fc.constantFrom('a', 'b', 'c');
const apps = fc.constantFrom('web', 'db');

const steps = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({ type: fc.constant('put' as const), namespace: namespaces, name: names, app: apps }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('remove' as const), namespace: namespaces, name: names }) },
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('watch' as const),
      selection: fc.record({ namespace: namespaces, name: names, app: apps }, { requiredKeys: [] }),
      /** Start of the watch as a fraction of the writes so far: 0 before all, 1 after all. */
      start: fc.double({ min: 0, max: 1, noNaN: true }),
      /** Whether the watch is opened with the value that its selection requires. */
      requires: fc.boolean(),
      takesMax: fc.constantFrom(1, 2, 5, Number.POSITIVE_INFINITY),
    }),
  },
  { weight: 3, arbitrary: fc.constant({ type: 'resume' as const }) },
  { weight: 4, arbitrary: fc.constant({ type: 'settle' as const }) },
  // Histories and snapshots expire: watches that start earlier read the store's history.
  { weight: 1, arbitrary: fc.constant({ type: 'age' as const }) },
);

test('watches and snapshots agree with a simple model', async (context) => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 20 }), fc.array(steps, { maxLength: 80 }), async (early, late) => {
      const store = openMemoryStore();
      const first = await store.head();
      const log: ModelChange[] = [];
      const state = new Map<string, ObjectState>();
      const states = new Map<Revision, readonly string[]>([[first, []]]);
      const watches: { readonly after: Revision; readonly selection: Selection; readonly kept: RecordingWatch }[] = [];

      const write = async (namespace: string, name: string, now: ObjectState | undefined): Promise<void> => {
        const key = keyOf(name, namespace);
        const before = state.get(key);
        const there = await store.get(key);
        if (!now && !there) return;
        const value = now && configMap(name, { namespace, labels: { app: now.app } });
        const { revision } = !value
          ? await store.delete(key, there?.revision ?? 0)
          : there
            ? await store.update(key, value, there.revision)
            : await store.create(key, value);
        if (now) state.set(key, now);
        else state.delete(key);
        log.push({ revision, before, now });
        states.set(revision, [...state.keys()].sort());
      };
      for (const step of early) {
        if (step.type === 'put') await write(step.namespace, step.name, step);
        if (step.type === 'remove') await write(step.namespace, step.name, undefined);
      }

      const { cache, clock, configMaps: collection } = await openCache(context, { store });
      try {
        for (const step of late) {
          if (step.type === 'put') await write(step.namespace, step.name, step);
          else if (step.type === 'remove') await write(step.namespace, step.name, undefined);
          else if (step.type === 'settle') await cache.fresh();
          else if (step.type === 'resume') for (const { kept } of watches) kept.resume();
          else if (step.type === 'age') clock.advance(limits.historyMs + limits.cacheSweepMs);
          else {
            const after = [first, ...log.map(({ revision }) => revision)][Math.floor(step.start * log.length)] ?? first;
            const { app, ...scope } = step.selection;
            const matches = app === undefined ? {} : { matches: (entry: CacheEntry) => entry.label('app') === app };
            const requires = app !== undefined && step.requires ? { requires: { label: 'app', value: app } } : {};
            const kept = new RecordingWatch(collection, { after, ...scope, ...matches, ...requires }, step.takesMax);
            watches.push({ after, selection: step.selection, kept });
          }
        }
        await cache.fresh();
        for (const { after, selection, kept } of watches) {
          const expected = log
            .filter(({ revision }) => revision > after)
            .flatMap((change) => eventsOf(selection, change));
          await until(() => {
            // Resumes all: watches that catch up together wait for each other until a timeout, and this clock stands still.
            for (const other of watches) other.kept.resume();
            return kept.events.length >= expected.length && kept.watcher.revision === cache.revision;
          });
          const told = kept.events.map(({ type, entry, revision }) => {
            assert.equal(parsed(entry.bytes).metadata.resourceVersion, String(revision));
            return `${type} ${entry.namespace}/${entry.name} ${entry.label('app')}@${revision}`;
          });
          assert.deepEqual(told, expected);
        }
        for (const [revision, expected] of states) {
          const snapshot = collection.snapshotAt(revision);
          const shown = snapshot && Array.from(snapshot.entries(configMaps.prefix), ({ key }) => key);
          if (shown || revision === cache.revision) assert.deepEqual(shown, expected);
        }
        const snapshot = collection.snapshot();
        for (const value of ['web', 'db', 'none']) {
          for (const prefix of [configMaps.prefix, `${configMaps.prefix}x/`]) {
            const found = snapshot.entriesWith({ label: 'app', value }, prefix);
            assert.ok(found);
            const expected = [...snapshot.entries(prefix)].filter((entry) => entry.label('app') === value);
            assert.deepEqual([...found], expected);
          }
        }
        assert.equal(snapshot.entriesWith({ label: 'other', value: 'web' }, configMaps.prefix), undefined);
        const checker = new ConsistencyChecker({
          cache,
          store,
          clock,
          random: noJitter,
          logger: { error() {}, warn() {}, info() {}, debug() {} },
        });
        assert.deepEqual((await checker.check()).mismatches, []);
      } finally {
        await cache.close();
      }
      assert.equal(clock.pending, 0);
    }),
    { numRuns: 400 },
  );
});
