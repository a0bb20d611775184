import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { type BuiltSchemas, SchemaMemory } from './built-schemas.ts';

class Schemas implements BuiltSchemas {
  readonly name: string;
  readonly parts: number;
  isUsed = false;
  readonly #dropped: string[];

  constructor(name: string, parts: number, dropped: string[]) {
    this.name = name;
    this.parts = parts;
    this.#dropped = dropped;
  }

  drop(): void {
    this.#dropped.push(this.name);
  }
}

const third = limits.schemaPartsBuiltMax / 3;

/** What is added and used, one after the other (`+a`: added, `a`: used), and what is dropped. */
const cases: readonly (readonly [what: string, steps: string, dropped: string])[] = [
  ['all that have room stay', '+a +b +c', ''],
  ['the oldest goes', '+a +b +c +d', 'a'],
  ['one that was used stays', '+a +b +c a +d', 'b'],
  ['once for each use', '+a +b +c a +d +e +f +g', 'b c d a'],
  ['if all were used, the oldest goes', '+a +b +c a b c +d', 'a'],
  ['what was built again is new', '+a +b +c +d +a +e', 'a b c'],
  ['as many go as are needed', '+a +b +c +D', 'a b c'],
  ['one that has no room beside others stays alone', '+D', ''],
  ['and goes before the next', '+D +a', 'D'],
];

for (const [what, steps, dropped] of cases) {
  test(`schemas that are built: ${what}`, () => {
    const memory = new SchemaMemory();
    const seen: string[] = [];
    const all = new Map<string, Schemas>();
    for (const step of steps.split(' ')) {
      const name = step.replace('+', '');
      if (step === name) {
        (all.get(name) as Schemas).isUsed = true;
        continue;
      }
      const added = new Schemas(name, name === 'D' ? 4 * third : third, seen);
      all.set(name, added);
      memory.add(added);
    }
    assert.equal(seen.join(' '), dropped);
  });
}

test('a thread may keep fewer', () => {
  const memory = new SchemaMemory();
  memory.partsMax = third;
  const dropped: string[] = [];
  for (const name of ['a', 'b']) memory.add(new Schemas(name, third, dropped));
  assert.deepEqual(dropped, ['a']);
});
