import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { WireReader } from '../../../base/protobuf-wire.ts';
import { decodeOpenapi } from './decode-fixture.ts';
import { type Descriptors, type Fields, type FieldType, isChoice, type NumberedField } from './descriptor.ts';
import { encodeOpenapi } from './encode.ts';
import { bytesV2, bytesV3, documentV2, documentV3 } from './published-fixture.ts';
import { openapiV2 } from './v2.ts';
import { openapiV3 } from './v3.ts';

for (const [version, document, bytes, descriptors] of [
  [2, documentV2, bytesV2, openapiV2()],
  [3, documentV3, bytesV3, openapiV3()],
] as const) {
  describe(`OpenAPI ${version} in protobuf`, () => {
    test('has the bytes of kube-apiserver', () => {
      const encoded = encodeOpenapi(document, version);
      assert.deepEqual(decodeOpenapi(encoded, version), decodeOpenapi(bytes, version));
      assert.deepEqual(encoded, bytes);
    });

    test('the fixture has every field', () => {
      const met = new Set<string>();
      decodeOpenapi(bytes, version, met);
      const known = Object.entries(descriptors as Descriptors).flatMap(([name, descriptor]) =>
        isChoice(descriptor) ? [] : numbersOf(descriptor).map((number) => `${name} ${number}`),
      );
      assert.deepEqual([...met].sort(), known.sort());
    });

    test('every field type is a scalar or a known message, and field numbers are unique', () => {
      for (const [name, descriptor] of Object.entries(descriptors as Descriptors)) {
        if (isChoice(descriptor)) continue;
        for (const [, type] of typedFields(descriptor)) assert.ok(isType(descriptors, type), `${name}: ${type}`);
        const numbers = numbersOf(descriptor);
        assert.equal(new Set(numbers).size, numbers.length, name);
      }
    });

    test('values of the wrong type and without a field are omitted', () => {
      for (const [what, part] of [
        ['a number for a text', { info: { title: 1 } }],
        ['null for a text', { info: { title: null } }],
        ['a text for a message', { info: 'x' }],
        ['a property that is not known', { info: { nosuch: 'x', toString: 'x', __proto__x: 'x' } }],
        ['a name of an object in general', { info: JSON.parse('{"__proto__":{"title":"x"}}') }],
      ] as const) {
        assert.deepEqual(decodeOpenapi(encodeOpenapi(part, version), version), { info: {} }, what);
      }
      assert.equal(encodeOpenapi(null, version).length, 0);
      assert.equal(encodeOpenapi({ nosuch: { title: 'x' } }, version).length, 0);
    });

    test('names from outside stay names', () => {
      const names = ['__proto__', 'constructor', 'x-a', '', '"\\'];
      const schemas = `{${names.map((name) => `${JSON.stringify(name)}:{"format":"f"}`).join()}}`;
      const root = version === 2 ? `{"definitions":${schemas}}` : `{"components":{"schemas":${schemas}}}`;
      const decoded = decodeOpenapi(encodeOpenapi(JSON.parse(root), version), version);
      assert.deepEqual(decoded, JSON.parse(root));
    });
  });
}

const typedFields = ({ fields, others }: Fields): readonly NumberedField[] => [
  ...Object.values(fields),
  ...(others ? [others] : []),
];

const numbersOf = (descriptor: Fields): readonly number[] => [
  ...typedFields(descriptor).map(([number]) => number),
  ...(descriptor.extensions === undefined ? [] : [descriptor.extensions]),
];

const isType = (descriptors: Descriptors, type: FieldType): boolean => {
  const single = type.replace(/\[\]$|\{\}$/, '');
  return ['string', 'bool', 'double', 'int64', 'any'].includes(single) || Object.hasOwn(descriptors, single);
};

test('numbers beyond a double, and values that are not numbers', () => {
  const schema = (fields: object): unknown => {
    const encoded = encodeOpenapi({ definitions: { A: fields } }, 2);
    return (decodeOpenapi(encoded, 2) as { definitions: { A: unknown } }).definitions.A;
  };
  assert.deepEqual(schema({ maxLength: 2n ** 62n }), { maxLength: 2n ** 62n });
  assert.deepEqual(schema({ maxLength: -1 }), { maxLength: -1 });
  assert.deepEqual(schema({ maxLength: 1.5, minLength: 0, maximum: 0, minimum: -0.5 }), { minimum: -0.5 });
});

test('extensions are YAML text, a value of any type', () => {
  for (const [value, yaml] of [
    ['list', 'list\n'],
    [['a', 'b'], '- a\n- b\n'],
    [[{ group: '', version: 'v1', kind: 'A' }], '- group: ""\n  version: v1\n  kind: A\n'],
    ['merge,retainKeys', 'merge,retainKeys\n'],
    [true, 'true\n'],
    [null, 'null\n'],
  ] as const) {
    const encoded = encodeOpenapi({ 'x-a': value }, 2);
    const reader = new WireReader(encoded);
    reader.next();
    assert.equal(reader.field, 16);
    assert.deepEqual(decodeOpenapi(encoded, 2), { 'x-a': value });
    assert.ok(encoded.includes(Buffer.from(yaml)), yaml);
  }
});
