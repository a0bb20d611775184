import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LongWork } from '../../base/long-work.ts';
import { systemClock } from '../../base/time/clock.ts';
import { objectMeta } from '../../kinds/meta/object-meta.ts';
import { buildStructuralSchema, readStructuralSchema } from '../structural/structural-schema.ts';
import { ruleErrors } from './rule-errors.ts';
import { validateRules } from './validate-rules.ts';

/** What cannot be interrupted, and takes long, is left to another thread. */

const schemaOf = (rule: string, more: Readonly<Record<string, unknown>> = {}) => ({
  type: 'object',
  properties: { spec: { type: 'string', ...more, 'x-kubernetes-validations': [{ rule, message: 'wrong' }] } },
});
const objectOf = (spec: string) => ({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'a' }, spec });
const errorsOf = async (rule: string, spec: string, inline: boolean) => {
  const schema = buildStructuralSchema(schemaOf(rule), { objectMeta });
  return (await validateRules(schema, objectOf(spec), { errors: [], clock: systemClock, inline })).map(
    ({ detail }) => detail,
  );
};

const text = 'ab '.repeat(100_000);
const long = `${Array.from({ length: 400 }, (_, at) => `self != '${at}'`).join(' && ')}`;

describe('rules that take long', () => {
  const left: Readonly<Record<string, readonly [rule: string, spec: string]>> = {
    'a pattern in a long text': ["self.matches('^(aaaaaaaaaaaaaaaaaaaaaaaa|a|b| )*$')", text],
    'all finds in a long text': ["self.findAll('(aaaaaaaaaaaaaaaaaaaa|a|b| )+').size() == 1", text],
    'a longer text of replacements': ["self.replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaaaa').size() > 0", text],
    'a long expression': [long, 'a'],
  };
  for (const [what, [rule, spec]] of Object.entries(left)) {
    it(`are left to another thread: ${what}`, async () => {
      await assert.rejects(errorsOf(rule, spec, true), LongWork);
      assert.deepEqual(await errorsOf(rule, spec, false), []);
    });
  }

  const done: Readonly<Record<string, readonly [rule: string, spec: string]>> = {
    'a pattern in a short text': ["self.matches('^(aa|a|b| )*$')", 'ab'.repeat(50)],
    'parts of a text': ["self.split(' ').all(part, part.size() < 3)", text.slice(0, 3_000)],
    'a short expression': ["self != 'a' && !self.startsWith('x')", 'ab'],
  };
  for (const [what, [rule, spec]] of Object.entries(done)) {
    it(`are evaluated at once if they are short: ${what}`, async () => {
      assert.deepEqual(await errorsOf(rule, spec, true), []);
    });
  }
});

describe('definitions that take long', () => {
  const options = { path: '~', objectMeta, validateMetadata: () => [], inline: true };

  it('are left to another thread: a long expression', async () => {
    await assert.rejects(async () => ruleErrors(schemaOf(long, { maxLength: 5 }), options), LongWork);
    assert.deepEqual(await ruleErrors(schemaOf(long, { maxLength: 5 }), { ...options, inline: false }), []);
    assert.deepEqual(await ruleErrors(schemaOf("self != 'a'", { maxLength: 5 }), options), []);
  });

  it('are left to another thread: many large patterns', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 10 }, (_, at) => [`f${at}`, { type: 'string', pattern: `^a{500}${at}$` }]),
    );
    const schema = { type: 'object', properties };
    assert.throws(() => readStructuralSchema(schema, options), LongWork);
    assert.deepEqual(readStructuralSchema(schema, { ...options, inline: false }).errors, []);
  });
});
