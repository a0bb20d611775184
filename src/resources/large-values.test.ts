import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allAtOnce } from '../base/time/in-slices.ts';
import { within } from '../base/waits-fixture.ts';
import { encodeObject } from '../codec/json.ts';
import type { Definition } from '../kinds/apiextensions/custom-resource-definition.ts';
import { customKinds } from '../kinds/custom/custom-kinds.ts';
import { DefinedSchemas } from '../kinds/custom/defined-schemas.ts';
import { Normaliser } from './custom-versions.ts';

const list = { type: 'array', items: { type: 'object', properties: { text: { type: 'string', default: 'none' } } } };
const definition = {
  spec: {
    ...{ group: 'example.com', names: { kind: 'Widget', plural: 'widgets' } },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true },
        schema: { openAPIV3Schema: { type: 'object', properties: { list } } },
      },
    ],
  },
  status: { acceptedNames: { kind: 'Widget', plural: 'widgets' } },
} as unknown as Definition;

function normaliser(): Normaliser {
  const schemas = new DefinedSchemas('1', () => Buffer.from(JSON.stringify(definition)));
  return new Normaliser(allAtOnce(customKinds(definition, schemas)).kinds);
}

const metadata = { name: 'a', creationTimestamp: '2026-01-01T00:00:00Z' };
const stored = (items: readonly unknown[]): Buffer =>
  encodeObject({ apiVersion: 'example.com/v1', kind: 'Widget', metadata, list: items });

const many = Array.from({ length: 30_000 }, (_, at) => (at % 2 === 0 ? { text: `text ${at}` } : {}));

test('large values are brought into their form in slices of time, before they are asked for', async () => {
  const value = stored(many);
  const expected = normaliser().normalise(value);
  assert.notDeepEqual(expected, value, 'defaults are added');
  let now = 0;
  const { normalise, ready } = normaliser();
  const waiting = ready({ monotonic: () => now++ }, value);
  assert.ok(waiting);
  let [turns, isReady] = [0, false];
  const preparing = waiting.then(() => {
    isReady = true;
  });
  const turn = async (): Promise<void> => {
    if (isReady) return;
    await new Promise((resolve) => setImmediate(resolve));
    turns++;
    await turn();
  };
  await within(Promise.all([preparing, turn()]), 'the value is not ready');
  assert.ok(turns > 5, `${turns} turns`);
  assert.equal(ready({ monotonic: () => 0 }, value), undefined, 'once');
  // The result is there: the value is not read again.
  value.fill(0);
  assert.deepEqual(normalise(value), expected);
});

test('small values wait for nothing', () => {
  const { normalise, ready } = normaliser();
  const clock = { monotonic: () => 0 };
  const value = stored([{}]);
  assert.equal(ready(clock, value), undefined);
  assert.equal(ready(clock), undefined);
  assert.deepEqual(normalise(value), stored([{ text: 'none' }]));
});

test('a large value that is none is refused by whoever decodes it', async () => {
  const { normalise, ready } = normaliser();
  const value = stored(many).subarray(0, -1);
  await within(ready({ monotonic: () => 0 }, value) ?? Promise.resolve(), 'the value is not ready');
  assert.throws(() => normalise(value));
});
