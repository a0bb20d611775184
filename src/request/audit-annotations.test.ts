import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { AuditAnnotations } from './audit-annotations.ts';

describe('audit annotations', () => {
  const rows: readonly (readonly [key: string, value: string, refused: RegExp | undefined])[] = [
    ['example.com/decision', 'allow', undefined],
    ['example.com/first', 'x', undefined],
    ['example.com/first', 'y', /has a value already/],
    ['a/B_c.9', '', undefined],
    ['no-domain', 'x', /form/],
    ['a/b/c', 'x', /form/],
    ['Example.com/a', 'x', /form/],
    ['a./b', 'x', /form/],
    ['a/', 'x', /form/],
    ['a/-b', 'x', /form/],
    [`a/${'b'.repeat(63)}`, 'x', undefined],
    [`a/${'b'.repeat(64)}`, 'x', /form/],
    [`${'a'.repeat(61)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}/${'e'.repeat(63)}`, 'x', undefined],
    [`${'a'.repeat(62)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}/e`, 'x', /form/],
    ['__proto__', 'x', /form/],
    ['a/big', 'x'.repeat(limits.auditAnnotationsBytesMax), /fit/],
  ];
  for (const [key, value, refused] of rows) {
    it(`${key.slice(0, 30)} ${refused ? 'is refused' : 'is taken'}`, () => {
      const annotations = new AuditAnnotations();
      annotations.annotate('example.com/first', 'x');
      const why = annotations.annotate(key, value);
      if (refused) assert.match(why ?? '', refused);
      else assert.equal(why, undefined);
      assert.equal(
        new Map(annotations).get(key),
        refused && key !== 'example.com/first' ? undefined : refused ? 'x' : value,
      );
    });
  }

  it('holds a bounded number of them', () => {
    const annotations = new AuditAnnotations();
    const refused = Array.from({ length: limits.auditAnnotationsMax + 1 }, (_, at) =>
      annotations.annotate(`a/k${at}`, ''),
    );
    assert.equal(refused.filter((why) => why !== undefined).length, 1);
    assert.equal(annotations.size, limits.auditAnnotationsMax);
  });
});
