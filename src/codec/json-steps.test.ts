import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseStored, stringifyJson } from './json.ts';
import { parseStoredInSteps } from './json-steps.ts';

const long = 'x'.repeat(40_000);
const many = Array.from({ length: 20_000 }, (_, at) => `value ${at}`);
const wide = Object.fromEntries(many.map((text, at) => [`field "${at}"`, { text }]));

const documents: Readonly<Record<string, string>> = {
  'a small object': '{"a":1}',
  'a large list': stringifyJson(many),
  'a large object': stringifyJson(wide),
  'a large text': JSON.stringify(long),
  'large parts between small ones': stringifyJson({ a: 1, b: many, c: 2, d: wide, e: long, f: [] }),
  'large parts beside each other': stringifyJson([many, many, wide, [[many]], 'last']),
  'large parts in large parts': stringifyJson({ a: { b: { c: [wide, { d: many }] } } }),
  'integers beyond 2^53': `{"a":${stringifyJson(many)},"b":9007199254740993,"c":${stringifyJson(many)}}`,
  'names of properties that objects have': `{"__proto__":${stringifyJson(many)},"constructor":${stringifyJson(wide)},"a":{"__proto__":1}}`,
  'quotes, backslashes and brackets in texts': stringifyJson({ 'a\\': many, '}"]': ['{[\\"', ...many], '\\"': '\\' }),
  'white space': JSON.stringify({ a: many, b: [wide, wide], c: 1 }, undefined, 2).replaceAll('},', '} ,'),
  'empty parts': `{"a":[],"b":{},"c":${stringifyJson(many)},"d":[],"e":{}}`,
};

const wrong: readonly string[] = [
  `${stringifyJson(many)}]`.slice(0, -2),
  `{"a":${stringifyJson(many)}`,
  `${stringifyJson(many).slice(0, -1)},]`,
  `"${long}`,
];

function parsed(bytes: Buffer): { readonly value: unknown; readonly steps: number } {
  const parsing = parseStoredInSteps(bytes);
  for (let steps = 1; ; steps++) {
    const { done, value } = parsing.next();
    if (done) return { value, steps };
  }
}

describe('JSON parsed in steps', () => {
  for (const [what, text] of Object.entries(documents)) {
    it(`is the same: ${what}`, () => {
      const bytes = Buffer.from(text);
      const { value, steps } = parsed(bytes);
      const whole = parseStored(bytes);
      assert.deepEqual(value, whole);
      assert.equal(stringifyJson(value), stringifyJson(whole));
      if (bytes.length > 200_000) assert.ok(steps > bytes.length / 100_000, `${steps} steps for ${bytes.length} bytes`);
    });
  }

  it('is the same for random documents', () => {
    let state = 7;
    const below = (count: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * count);
    };
    const randomValue = (depth: number): unknown => {
      const kind = depth > 3 ? below(3) : below(6);
      if (kind === 0) return below(1_000_000);
      if (kind === 1) return 'text "\\ é'.repeat(below(400));
      if (kind === 2) return [null, true, long, 2n ** 60n][below(4)];
      const parts = Array.from({ length: below(depth < 2 ? 40 : 6) }, () => randomValue(depth + 1));
      return kind === 3
        ? parts
        : Object.fromEntries(parts.map((part, at) => [`${at % 3 === 0 ? '\\' : ''}${at}`, part]));
    };
    for (let round = 0; round < 10; round++) {
      const text = stringifyJson([randomValue(0), randomValue(0)]);
      assert.equal(stringifyJson(parsed(Buffer.from(text)).value), stringifyJson(parseStored(Buffer.from(text))));
    }
  });

  for (const text of wrong) {
    it(`is refused if it is none: ${text.slice(0, 12)}...${text.slice(-12)}`, () => {
      assert.throws(() => parsed(Buffer.from(text)));
    });
  }
});
