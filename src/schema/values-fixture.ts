import fc from 'fast-check';
import { formatMicroTime } from '../meta/time.ts';
import { decode } from './decode.ts';
import type { Field, Schema, StructSchema, Variant } from './schema.ts';

/** Values of a schema in the form of JSON, null and forms that are not canonical included. Required fields are present. */
const valuesOf = (schema: Schema, depth: number): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 1, arbitrary: fc.constant(null) }, { weight: 6, arbitrary: presentValuesOf(schema, depth) });

/** The same without null. Below `depth` structs are empty. */
export function presentValuesOf(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  switch (schema.type) {
    case 'string':
      return fc.string();
    case 'boolean':
      return fc.boolean();
    case 'number':
      return fc.double({ noDefaultInfinity: true, noNaN: true });
    case 'integer':
      return schema.format === 'int32' ? fc.integer() : fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    case 'intOrString':
      return fc.oneof(fc.integer(), fc.string());
    case 'any':
      if (schema.variants) return fc.oneof(...schema.variants.map((variant) => variantsOf(variant, depth - 1)));
      return schema.of === 'value' ? fc.jsonValue() : fc.dictionary(fc.string(), fc.jsonValue());
    case 'bytes':
      return fc.uint8Array().map((each) => Buffer.from(each).toString('base64'));
    case 'time':
      return fc
        .date({ min: new Date(0), max: new Date('9999-01-01'), noInvalidDate: true })
        .map((each) => (schema.precision === 'micro' ? formatMicroTime(each.getTime()) : each.toISOString()));
    case 'quantity':
      return fc.constantFrom('1', '0.5', '1024Ki', '1e3', '12m', 5, 0.25);
    case 'map':
      return fc.dictionary(fc.oneof(fc.string(), fc.constant('__proto__')), elementsOf(schema.values, depth - 1));
    case 'list':
      return fc.array(elementsOf(schema.items, depth - 1), { maxLength: 3 });
    case 'struct':
      return structsOf(schema, depth);
  }
}

/** In canonical form: no schema decodes them. */
function variantsOf({ schema: declared }: Variant, depth: number): fc.Arbitrary<unknown> {
  const schema = typeof declared === 'function' ? declared() : declared;
  const elements = schema.type === 'list' ? schema.items : schema;
  const element =
    elements.type === 'struct'
      ? structsOf(elements, depth).map((each) => decode(elements, each).value)
      : presentValuesOf(elements, depth);
  return schema.type === 'list' ? fc.array(element, { minLength: 1, maxLength: 2 }) : element;
}

/** null stands for a struct without its required fields. */
const elementsOf = (schema: Schema, depth: number): fc.Arbitrary<unknown> =>
  schema.type === 'struct' && Object.values(schema.fields).some(({ required }) => required)
    ? presentValuesOf(schema, depth)
    : valuesOf(schema, depth);

function structsOf({ fields }: StructSchema, depth: number): fc.Arbitrary<unknown> {
  const fieldValues = ({ schema, required }: Field): fc.Arbitrary<unknown> => {
    if (typeof schema === 'function') return fc.constant(null);
    if (required) return presentValuesOf(schema, depth - 1);
    return depth <= 0 ? fc.constant(null) : valuesOf(schema, depth - 1);
  };
  // `apiVersion` and `kind`, which are the caller's.
  const own = Object.entries(fields).filter(([, { number }]) => number !== 0);
  const requiredKeys = own.filter(([, { required }]) => required).map(([name]) => name);
  return fc.record(Object.fromEntries(own.map(([name, field]) => [name, fieldValues(field)])), { requiredKeys });
}
