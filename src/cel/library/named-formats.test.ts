import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compile } from '../compile.ts';
import { typeName } from '../type.ts';

/** The formats of kube-apiserver 1.32 by name: `format.dns1123Label().validate(text)`. */

const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const label1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const name =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const value =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const long = (max: number): string => `must be no more than ${max} characters`;
const a = (count: number): string => 'a'.repeat(count);

type Row = readonly [text: string, ...problems: string[]];

const formats: Readonly<Record<string, readonly Row[]>> = {
  dns1123Label: [
    ['web-1'],
    ['1'],
    [a(63)],
    ['Web', label],
    ['web-', label],
    ['', label],
    ['a.b', 'must not contain dots'],
    [a(64), long(63)],
    [`${a(64)}_`, long(63), label],
  ],
  dns1123Subdomain: [['a.b-c.1'], [a(253)], ['a..b', subdomain], ['a_b', subdomain], [a(254), long(253)]],
  dns1035Label: [['web-1'], ['1web', label1035], ['a.b', label1035], [a(64), long(63)]],
  qualifiedName: [
    ['Any_name.1'],
    ['example.com/Any'],
    ['two words', `name part ${name}`],
    ['/name', 'prefix part must be non-empty'],
    ['example.com/', 'name part must be non-empty', `name part ${name}`],
    ['Upper/name', `prefix part ${subdomain}`],
    ['a/b/c', `a qualified name ${name} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`],
    [a(64), `name part ${long(63)}`],
  ],
  dns1123LabelPrefix: [['web-'], ['web'], [`${a(63)}-`], ['-', label], ['web_-x', label]],
  dns1123SubdomainPrefix: [['a.b-'], ['a.-'], ['a_b-x', subdomain]],
  dns1035LabelPrefix: [['web-'], ['1-x-', label1035], ['-', label1035]],
  labelValue: [[''], ['My_value.1'], ['-a', value], ['a b', value], [a(64), long(63)]],
  uri: [
    ['https://example.com/a?b=c'],
    ['/absolute/path'],
    ['', 'parse "": empty url'],
    ['relative', 'parse "relative": invalid URI for request'],
  ],
  uuid: [
    ['123e4567-e89b-12d3-a456-426614174000'],
    ['123E4567E89B12D3A456426614174000'],
    ['123e4567', 'does not match the UUID format'],
  ],
  byte: [['aGVsbG8='], ['aGVsbG8', 'invalid base64'], ['', 'invalid base64'], ['a?==', 'invalid base64']],
  date: [['2024-02-29'], ['2023-02-29', 'invalid date'], ['2024-2-9', 'invalid date']],
  datetime: [
    ['2024-02-29T12:00:00Z'],
    ['2024-02-29T12:00:00.5+01:00'],
    ['2024-02-30T12:00:00Z', 'invalid datetime'],
    ['2024-02-29', 'invalid datetime'],
  ],
};

const evaluate = (source: string): unknown => compile(source, {}).evaluate({});

for (const [format, rows] of Object.entries(formats)) {
  describe(format, () => {
    for (const [text, ...problems] of rows) {
      test(JSON.stringify(text), () => {
        const result = `format.${format}().validate(${JSON.stringify(text)})`;
        assert.equal(evaluate(`${result}.hasValue()`), problems.length > 0);
        assert.deepEqual(evaluate(`${result}.orValue([])`), problems);
      });
    }

    test('by name', () => {
      assert.equal(evaluate(`format.named('${format}').hasValue()`), true);
      assert.equal(evaluate(`format.named('${format}').value() == format.${format}()`), true);
    });

    test('equals no other', () => {
      const others = Object.keys(formats).filter((other) => other !== format);
      for (const other of others) assert.equal(evaluate(`format.${format}() == format.${other}()`), false, other);
      assert.equal(
        evaluate(`[${others.map((other) => `format.${other}()`)}].exists(f, f == format.${format}())`),
        false,
      );
    });
  });
}

test('a format that does not exist', () => {
  assert.equal(evaluate("format.named('Dns1123Label').hasValue()"), false);
  assert.equal(evaluate("format.named('toString').hasValue()"), false);
  assert.throws(() => evaluate("format.named('none').value()"), { message: 'optional.none() dereference' });
});

describe('types', () => {
  const types: Readonly<Record<string, string>> = {
    'format.uuid()': 'kubernetes.NamedFormat',
    "format.named('uuid')": 'optional_type(kubernetes.NamedFormat)',
    "format.uuid().validate('a')": 'optional_type(list(string))',
  };
  for (const [source, type] of Object.entries(types)) {
    test(source, () => assert.equal(typeName(compile(source, {}).type), type));
  }

  const errors: Readonly<Record<string, RegExp>> = {
    'format.uuid().validate(1)': /no matching overload for 'validate' applied to 'kubernetes\.NamedFormat\.\(int\)'/,
    "format.uuid('a')": /no matching overload for 'format\.uuid'/,
    'format.named(1)': /no matching overload for 'format\.named' applied to '\(int\)'/,
    "'a'.validate('a')": /no matching overload for 'validate'/,
    "format.uuid() == 'uuid'": /no matching overload for '_==_' applied to '\(kubernetes\.NamedFormat, string\)'/,
    "format.none().validate('a')": /undeclared reference to '(format|none)'/,
    'format.uuid': /undeclared reference to 'format'/,
  };
  for (const [source, message] of Object.entries(errors)) {
    test(source, () => assert.throws(() => compile(source, {}), { name: 'CelCompileError', message }));
  }
});
