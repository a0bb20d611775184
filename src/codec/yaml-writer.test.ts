import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import * as library from 'yaml';
import { parseYaml } from './yaml.ts';
import { formatYaml } from './yaml-writer.ts';

test('the form of objects', () => {
  const value = {
    apiVersion: 'v1',
    metadata: { name: 'a-b', labels: { 'example.com/a': 'yes', n: '0644' }, creationTimestamp: '2006-01-02T15:04:05Z' },
    spec: {
      list: [{ image: 'host:5000/a:1.2', args: ['-x', '', 'a b'] }, [[1, 2n ** 60n], []], {}],
      cpu: '100m',
      none: null,
    },
    data: {
      script: '#!/bin/sh\necho  a \n\nexit\n',
      end: 'a\nb',
      more: 'a\n\n\n',
      blank: ' a\n',
      tab: 'a\tb',
      absent: undefined,
    },
  };
  assert.equal(
    formatYaml(value),
    `apiVersion: v1
metadata:
  name: a-b
  labels:
    example.com/a: "yes"
    "n": "0644"
  creationTimestamp: "2006-01-02T15:04:05Z"
spec:
  list:
  - image: host:5000/a:1.2
    args:
    - "-x"
    - ""
    - a b
  - - - 1
      - 1152921504606846976
    - []
  - {}
  cpu: 100m
  none: null
data:
  script: "#!/bin/sh\\necho  a \\n\\nexit\\n"
  end: |-
    a
    b
  more: |+
    a


  blank: " a\\n"
  tab: "a\\tb"
`.replace('"#!/bin/sh\\necho  a \\n\\nexit\\n"', '|\n    #!/bin/sh\n    echo  a \n\n    exit'),
  );
  assert.equal(formatYaml('a'), 'a\n');
  assert.equal(formatYaml([]), '[]\n');
  assert.equal(formatYaml({}), '{}\n');
});

test('half a surrogate pair, which YAML does not have, is written as U+FFFD', () => {
  for (const half of ['\ud800', '\udfff', 'a\ud800b', 'a\n\udc00b']) {
    for (const value of [half, { [half]: [half] }]) {
      const whole: unknown = JSON.parse(JSON.stringify(value).replaceAll(/\\ud[89a-f]../g, '\\ufffd'));
      assert.deepEqual(parseYaml(Buffer.from(formatYaml(value))).value, whole);
    }
  }
});

/** Strings with characters that are special in YAML. */
const hostile = fc
  .array(
    fc.constantFrom(
      'a',
      '1',
      ' ',
      '\n',
      '\t',
      '-',
      ':',
      '#',
      '"',
      "'",
      '\\',
      '.',
      '0x',
      'e',
      '~',
      '&',
      '*',
      '%',
      '|',
      '\r',
      '\u0085',
      '\u2028',
      '\ufeff',
      '\u{1f600}',
      '\ud800',
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''));
const words = fc.constantFrom(
  'yes',
  'No',
  'null',
  '~',
  '1_0',
  '0o7',
  '1e3',
  '.inf',
  '<<',
  '=',
  '---',
  '...',
  '2006-01-02',
  '12:30:45',
  '!!str',
  '? a',
  '- a',
);
const texts = fc.oneof(hostile, words, fc.string({ unit: 'binary' })).map((text) => text.toWellFormed());
const scalars = fc.oneof(
  texts,
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
);
const { value: values } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalars,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(texts, tie('value'), { maxKeys: 4 }),
  ),
}));

/** JSON text with bigints and -0 normalized. */
const plainText = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? Number(part) : part));

test('reads back as the same value, by us and by the library under both versions of YAML', () => {
  fc.assert(
    fc.property(values, (value) => {
      const text = formatYaml(value);
      assert.equal(plainText(parseYaml(Buffer.from(text)).value), plainText(value));
      assert.equal(plainText(library.parse(text, { version: '1.2' })), plainText(value));
      assert.equal(plainText(library.parse(text, { version: '1.1' })), plainText(value));
    }),
    { numRuns: 200 },
  );
});

test('long names of fields', () => {
  const value = { ['a b:'.repeat(1000)]: { b: 1 }, ['-'.repeat(2000)]: 2 };
  assert.deepEqual(parseYaml(Buffer.from(formatYaml(value))).value, value);
});
