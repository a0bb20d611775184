import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { jsonText } from '../base/json-text.ts';
import { mergePatch } from './merge-patch.ts';

test('RFC 7386 appendix A', () => {
  for (const [target, patch, result] of [
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', '{}'],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', 'null', 'null'],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
    ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
    // Beyond the appendix: lists are not merged; `__proto__` is an ordinary member.
    ['{}', '{"a":[{"b":null}]}', '{"a":[{"b":null}]}'],
    ['{"a":1}', '{"__proto__":{"p":1}}', '{"a":1,"__proto__":{"p":1}}'],
    ['{"__proto__":{"q":1}}', '{"__proto__":{"p":1}}', '{"__proto__":{"q":1,"p":1}}'],
    ['{"__proto__":{"q":1}}', '{"__proto__":null}', '{}'],
    ['{}', '{"__proto__":null,"toString":null}', '{}'],
    ['{}', '{"constructor":{"prototype":{"p":1}}}', '{"constructor":{"prototype":{"p":1}}}'],
  ] as const) {
    assert.equal(JSON.stringify(mergePatch(JSON.parse(target), JSON.parse(patch))), result);
  }
  assert.equal(({} as { p?: unknown }).p, undefined);
});

const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, 0, 2n ** 60n, 'x'),
    fc.array(tie('any'), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor'), tie('any'), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
  ),
})).any;

test('applied twice is applied once; {} changes no object; nothing given is changed', () => {
  fc.assert(
    fc.property(value, value, (target, patch) => {
      const given = jsonText([target, patch]);
      const once = mergePatch(target, patch);
      assert.deepEqual(mergePatch(once, patch), once);
      const object = { target };
      assert.deepEqual(mergePatch(object, {}), object);
      assert.equal(jsonText([target, patch]), given);
    }),
    { numRuns: 1_000 },
  );
});

test('what the patch does not touch is shared', () => {
  const target = { a: { x: 1 }, b: { y: [1] } };
  const merged = mergePatch(target, { a: { z: 1 } }) as typeof target;
  assert.equal(merged.b, target.b);
  assert.deepEqual(target.a, { x: 1 });
});
