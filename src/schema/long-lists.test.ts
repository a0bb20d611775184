import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { systemClock } from '../base/time/clock.ts';
import { objectMeta } from '../kinds/meta/object-meta.ts';
import { validateRules } from './rules/validate-rules.ts';
import { buildStructuralSchema } from './structural/structural-schema.ts';
import { validate } from './validate.ts';

const count = 100_000;
/** A hundred times what linear work takes; quadratic work takes hours. */
const deadlineMs = 30_000;

const text = { type: 'string' };
const item = { type: 'object', properties: { key: text, value: text }, required: ['key'] };
const rules = { 'x-kubernetes-validations': [{ rule: 'self == oldSelf || true' }] };
const kinds: Readonly<Record<string, readonly [schema: unknown, make: (at: number) => unknown]>> = {
  'a set': [{ type: 'array', items: text, 'x-kubernetes-list-type': 'set', ...rules }, (at) => `text ${at}`],
  'a map': [
    {
      ...{ type: 'array', items: item, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['key'] },
      ...rules,
    },
    (at) => ({ key: `key ${at}`, value: `${at}` }),
  ],
};

for (const [what, [json, make]] of Object.entries(kinds)) {
  const schema = buildStructuralSchema({ type: 'object', properties: { list: json } }, { objectMeta });
  const list = Array.from({ length: count }, (_, at) => make(at));
  const check = (sent: readonly unknown[], old?: unknown) => validate(schema, { list: sent }, '', { old });
  const fieldsOf = (sent: readonly unknown[], old?: unknown): readonly string[] =>
    runInNewContext('check(sent, old)', { check, sent, old }, { timeout: deadlineMs }).map(
      ({ field }: { readonly field: string }) => field,
    );

  test(`${what} of ${count} items is checked in linear time`, () => {
    assert.deepEqual(fieldsOf(list), []);
    assert.deepEqual(fieldsOf(list, { list: list.toReversed() }), []);
    assert.deepEqual(fieldsOf([...list, make(7)]), [`list[${count}]`]);
    assert.equal(fieldsOf([...list, ...list]).length, 1_000, 'what is reported is bounded');
  });

  test(`${what} of ${count} items is compared by rules in linear time`, async () => {
    const options = { old: { list: list.toReversed() }, errors: [], clock: systemClock };
    const begun = { validateRules, schema, object: { list }, options };
    const errors = runInNewContext('validateRules(schema, object, options)', begun, { timeout: deadlineMs });
    assert.deepEqual(await errors, []);
  });
}
