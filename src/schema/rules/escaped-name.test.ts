import assert from 'node:assert/strict';
import { test } from 'node:test';
import { escapedName } from './escaped-name.ts';

/** KEP-2876, "Field names". */

const reserved =
  'true false null in as break const continue else for function if import let loop package namespace return var void while';

test('reserved words are between underscores', () => {
  for (const name of reserved.split(' ')) assert.equal(escapedName(name), `__${name}__`);
});

const rows: Readonly<Record<string, string | undefined>> = {
  plain: 'plain',
  _: '_',
  a1: 'a1',
  'a-b': 'a__dash__b',
  'a.b/c': 'a__dot__b__slash__c',
  a__b: 'a__underscores__b',
  a___b: 'a__underscores___b',
  __namespace__: '__underscores__namespace__underscores__',
  '.a': '__dot__a',
  '-': '__dash__',
  self: 'self',
  int: 'int',
  While: 'While',
  '1a': undefined,
  '': undefined,
  'a b': undefined,
  a$: undefined,
  ü: undefined,
};
for (const [name, escaped] of Object.entries(rows)) {
  test(JSON.stringify(name), () => assert.equal(escapedName(name), escaped));
}
