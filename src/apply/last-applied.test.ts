import { strict as assert } from 'node:assert';
import { suite, test } from 'node:test';
import { limits } from '../base/limits.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { applyConfiguration } from './apply.ts';
import { allShapes, firstMs, identified, ownersOf, run } from './apply-fixture.ts';
import { describePath } from './fields/field-path.ts';

const annotation = 'client.example/last-applied';
const clientSideApply = { manager: 'client', annotation };

/** An object created and updated with client-side apply. */
function merged(fields: Readonly<Record<string, unknown>>, lastApplied: unknown): ApiObject {
  const text = typeof lastApplied === 'string' ? lastApplied : JSON.stringify(lastApplied);
  const object = { ...fields, metadata: { annotations: { [annotation]: text } } };
  return run(allShapes, [{ update: 'client-side', object }]).object as ApiObject;
}

function apply(live: ApiObject, config: Readonly<Record<string, unknown>>, manager = 'client') {
  return applyConfiguration({
    schema: allShapes,
    apiVersion: 'v1',
    subresource: '',
    nowMs: firstMs,
    force: false,
    manager,
    live,
    config: identified(config),
    clientSideApply,
  });
}

function conflictsOf(applied: ReturnType<typeof apply>): readonly string[] {
  return applied.type === 'conflicts' ? applied.conflicts.map(({ path }) => describePath(path)) : [];
}

suite('a client that merged by itself and now applies', () => {
  const live = merged(
    { text: 'x', inner: { name: 'n' }, flag: true },
    identified({ text: 'x', inner: { name: 'other' } }),
  );

  test('has no conflicts over fields it applied that are unchanged', () => {
    const applied = apply(live, { text: 'y' });
    assert.equal(applied.type, 'applied');
    if (applied.type !== 'applied') return;
    assert.equal(applied.object['text'], 'y');
    assert.deepEqual(ownersOf(applied.object as ApiObject)['client/Apply'], ['.text']);
  });

  test('has conflicts over the other fields only', () => {
    assert.deepEqual(conflictsOf(apply(live, { text: 'y', inner: { name: 'm' }, flag: false })), [
      '.flag',
      '.inner.name',
    ]);
  });

  test('has its annotation kept up to date, sorted, without itself', () => {
    const applied = apply(live, {
      text: 'y',
      metadata: { annotations: { z: '<&>', [annotation]: live.metadata.annotations?.[annotation] } },
    });
    assert.equal(applied.type, 'applied');
    if (applied.type !== 'applied') return;
    const { annotations } = applied.object['metadata'] as ApiObject['metadata'];
    assert.equal(
      annotations?.[annotation],
      '{"apiVersion":"v1","kind":"Thing","metadata":{"annotations":{"z":"\\u003c\\u0026\\u003e"},"name":"thing"},"text":"y"}\n',
    );
  });

  test('changes nothing by applying the same once more', () => {
    const first = apply(live, { text: 'y' });
    assert.equal(first.type, 'applied');
    if (first.type !== 'applied') return;
    const second = apply(first.object as ApiObject, { text: 'y' });
    assert.equal(second.type === 'applied' && second.changed, false);
  });

  test('loses an annotation that would be too large', () => {
    const applied = apply(live, { text: 'x'.repeat(limits.annotationBytesMax) });
    assert.equal(applied.type, 'applied');
    if (applied.type !== 'applied') return;
    assert.deepEqual((applied.object['metadata'] as ApiObject['metadata']).annotations, {});
  });

  for (const [name, lastApplied] of [
    ['is no JSON', '{'],
    ['is no object', '5'],
    ['is of another version', { ...identified({ text: 'x' }), apiVersion: 'v2' }],
    ['has values of the wrong type', identified({ text: 5 })],
    ['is empty', ''],
  ] as const) {
    test(`has conflicts when the annotation ${name}`, () => {
      assert.deepEqual(conflictsOf(apply(merged({ text: 'x' }, lastApplied), { text: 'y' })), ['.text']);
    });
  }

  test('is the one with that name', () => {
    assert.deepEqual(conflictsOf(apply(live, { text: 'y' }, 'another')), ['.text']);
    const applied = apply(live, { count: 1 }, 'another');
    assert.equal(applied.type, 'applied');
    if (applied.type !== 'applied') return;
    assert.deepEqual(
      applied.object['metadata'] && (applied.object['metadata'] as ApiObject['metadata']).annotations,
      live.metadata.annotations,
    );
  });
});
