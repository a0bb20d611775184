import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { tests as suites } from '@bufbuild/cel-spec/testdata/conformance.js';
import type { CelEnvironment } from './cel.ts';
import { compile } from './compile.ts';
import { CelCompileError, CelEvaluationError } from './error.ts';
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  nullType,
  stringType,
  timestampType,
  uintType,
} from './type.ts';
import { CelMap, CelTypeValue, CelUint, type CelValue, fromJson, isList } from './value.ts';

/**
 * The conformance tests of the language (cel.dev, v0.25.1), except those for unsupported features: protobuf messages,
 * enums and wrappers, namespaces, and extensions that kube-apiserver 1.32 does not offer. Intended differences are
 * listed with their reasons.
 */

const otherSections = new Set([
  'bindings_ext',
  'block_ext',
  'dynamic',
  'encoders_ext',
  'enums',
  'math_ext',
  'namespace',
  'proto2',
  'proto2_ext',
  'proto3',
  'unknowns',
  'wrappers',
]);
const otherExpressions = /cel\.expr|google\.protobuf|TestAllTypes|\.`|^a\.b\.c$/;

/** Like kube-apiserver, rejects lists, maps and conditionals of mixed types. */
const mixesTypes = new Set(
  `comparisons/eq_literal/not_eq_list_null comparisons/eq_literal/eq_list_mixed_type_numbers
  comparisons/eq_literal/not_eq_list_mixed_type_numbers comparisons/eq_literal/not_eq_list_false_vs_types
  comparisons/eq_literal/not_eq_map_null comparisons/eq_literal/eq_map_mixed_type_numbers
  comparisons/eq_literal/not_eq_map_false_vs_types comparisons/eq_literal/eq_map_value_mixed_types
  comparisons/eq_literal/not_eq_list_elem_null comparisons/eq_literal/not_eq_map_value_null
  comparisons/in_list_literal/elem_in_mixed_type_list comparisons/in_list_literal/elem_in_mixed_type_list_cross_type
  comparisons/in_map_literal/key_in_mixed_key_type_map comparisons/in_map_literal/key_in_mixed_key_type_map_cross_type
  conversions/dyn/dyn_heterogeneous_list fields/map_fields/map_key_int64 fields/map_fields/map_key_uint64
  fields/map_fields/map_key_mixed_type fields/map_fields/map_key_mixed_numbers_double_key
  fields/map_fields/map_key_mixed_numbers_uint_key fields/map_fields/map_key_mixed_numbers_int_key
  fields/map_fields/map_value_mix_type fields/in/mixed_numbers_and_keys_present fields/in/mixed_numbers_and_keys_absent
  macros/exists/list_elem_type_shortcircuit macros/exists/list_elem_type_exhaustive
  macros/exists/map_key_type_shortcircuit macros/exists/map_key_type_exhaustive macros/all/list_elem_type_shortcircuit
  macros2/exists/list_elem_type_shortcircuit macros2/exists/list_elem_type_exhaustive
  macros2/exists/map_key_type_shortcircuit macros2/exists/map_key_type_exhaustive
  macros2/all/list_elem_type_shortcircuit macros2/all/list_elem_type_exhaustive
  optionals/optionals/optional_chaining_13 optionals/optionals/map_key_mixed_type_optindex_value
  optionals/optionals/map_key_mixed_numbers_double_key_optindex_value
  optionals/optionals/map_key_mixed_numbers_uint_key_optindex_value
  optionals/optionals/map_key_mixed_numbers_int_key_optindex_value
  type_deductions/flexible_type_parameter_assignment/optional_dyn_promotion_2
  type_deductions/legacy_nullable_types/null_assignable_to_abstract_parameter_candidate`.split(/\s+/),
);

/** Texts of `format` are those of the version that kube-apiserver 1.32 uses (`library/format.test.ts`). */
const otherTexts =
  /^string_ext\/format\/.*(?:scientific notation|infinity support|support for decimal|(?:list|map) support|NaN\/infinity|support for (?:lists|maps))/;

type Json = Readonly<Record<string, unknown>>;

interface Original {
  readonly name?: string;
  readonly expr: string;
  readonly disableCheck?: boolean;
  readonly container?: string;
  readonly typeEnv?: readonly { readonly name: string; readonly ident?: { readonly type: Json } }[];
  readonly bindings?: Readonly<Record<string, { readonly value?: Json }>>;
  readonly value?: Json;
  readonly typedResult?: { readonly result?: Json };
  readonly evalError?: Json;
}

const plainTypes: Readonly<Record<string, CelType>> = {
  BOOL: boolType,
  BYTES: bytesType,
  DOUBLE: doubleType,
  DURATION: durationType,
  INT64: intType,
  STRING: stringType,
  TIMESTAMP: timestampType,
  UINT64: uintType,
};

/** Undefined for unsupported types. */
function typeOf(type: Json | undefined): CelType | undefined {
  if (type === undefined) return undefined;
  if ('dyn' in type) return dynType;
  if ('null' in type) return nullType;
  if ('listType' in type) {
    const element = typeOf((type['listType'] as Json)['elemType'] as Json);
    return element && listType(element);
  }
  if ('mapType' in type) {
    const { keyType, valueType } = type['mapType'] as { readonly keyType: Json; readonly valueType: Json };
    const [key, value] = [typeOf(keyType), typeOf(valueType)];
    return key && value && mapType(key, value);
  }
  return plainTypes[String(type['primitive'] ?? type['wellKnown'])];
}

type Entries = { readonly entries?: readonly { readonly key: Json; readonly value: Json }[] };

/** A canonical text for a value of the test data: equal for equal values. */
function wanted(value: Json): string {
  const [[kind, content] = []] = Object.entries(value);
  switch (kind) {
    case 'doubleValue':
      return `double ${Number(content)}`;
    case 'listValue':
      return `[${((content as { readonly values?: readonly Json[] }).values ?? []).map(wanted)}]`;
    case 'mapValue':
      return `{${((content as Entries).entries ?? []).map((each) => `${wanted(each.key)}: ${wanted(each.value)}`).sort()}}`;
    default:
      return `${kind?.replace('Value', '').replace('64', '')} ${content}`;
  }
}

function got(value: CelValue): string {
  if (value === null) return 'null null';
  if (isList(value)) return `[${value.map(got)}]`;
  if (value instanceof CelMap) {
    return `{${value
      .keys()
      .map((key) => `${got(key)}: ${got(value.get(key) as CelValue)}`)
      .sort()}}`;
  }
  if (value instanceof CelUint) return `uint ${value.value}`;
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('base64')}`;
  if (value instanceof CelTypeValue) return `type ${value.name}`;
  const names: Readonly<Record<string, string>> = { bigint: 'int', number: 'double', boolean: 'bool' };
  return `${names[typeof value] ?? typeof value} ${typeof value === 'object' ? 'of another type' : value}`;
}

/** The value of a variable as JSON data; undefined if JSON cannot represent it. */
function dataOf(value: Json): unknown {
  const [[kind, content] = []] = Object.entries(value);
  if (kind === 'int64Value') return BigInt(String(content));
  if (kind === 'listValue') return ((content as { readonly values?: readonly Json[] }).values ?? []).map(dataOf);
  if (kind === 'mapValue') {
    const { entries = [] } = content as Entries;
    if (!entries.every(({ key }) => 'stringValue' in key)) return undefined;
    return Object.fromEntries(entries.map(({ key, value: each }) => [key['stringValue'], dataOf(each)]));
  }
  return ['stringValue', 'boolValue', 'doubleValue', 'nullValue'].includes(kind ?? '') ? content : undefined;
}

interface Setting {
  readonly environment: CelEnvironment;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** Undefined if the test covers an unsupported feature. */
function settingOf(test: Original): Setting | undefined {
  if (test.disableCheck || test.container || otherExpressions.test(test.expr)) return undefined;
  const declared = (test.typeEnv ?? []).map(({ name, ident }) => [name, typeOf(ident?.type)] as const);
  const bound = Object.entries(test.bindings ?? {}).map(([name, { value }]) => [name, value && dataOf(value)] as const);
  if ([...declared, ...bound].some(([, each]) => each === undefined)) return undefined;
  const open = bound.map(([name]) => [name, dynType] as const);
  return {
    environment: Object.fromEntries([...open, ...declared]) as CelEnvironment,
    variables: Object.fromEntries(bound),
  };
}

function run(test: Original, { environment, variables }: Setting): void {
  const program = (): ReturnType<typeof compile> => compile(test.expr, environment);
  runAs(test, program, () => program().evaluate(variables) as CelValue);
  const values = Object.fromEntries(Object.entries(variables).map(([name, data]) => [name, fromJson(data)]));
  runAs(test, program, () => finish(program().evaluateInSteps(values)));
}

/** The result of an evaluation in slices, without pauses. */
function finish(steps: Generator<void, CelValue>): CelValue {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

function runAs(test: Original, program: () => unknown, evaluate: () => CelValue): void {
  if (test.evalError) {
    assert.throws(evaluate, (error) => error instanceof CelEvaluationError || error instanceof CelCompileError);
    return;
  }
  const expected = test.value ?? test.typedResult?.result;
  if (expected === undefined && test.typedResult) void program();
  else assert.equal(`${test.expr} is ${got(evaluate())}`, `${test.expr} is ${wanted(expected ?? { boolValue: true })}`);
}

describe('the conformance tests of the language', () => {
  let ran = 0;
  for (const suite of suites.suites ?? []) {
    if (otherSections.has(suite.name)) continue;
    it(suite.name, () => {
      for (const section of suite.suites ?? []) {
        for (const { original } of section.tests ?? []) {
          const test = original as unknown as Original;
          const setting = settingOf(test);
          if (setting === undefined) continue;
          ran++;
          const name = `${suite.name}/${section.name}/${test.name}`;
          if (otherTexts.test(name)) continue;
          if (!mixesTypes.has(name)) run(test, setting);
          else assert.throws(() => run(test, setting), { name: 'CelCompileError', message: /expected type/ }, name);
        }
      }
    });
  }

  it('are many', () => assert.ok(ran > 1_200, `${ran}`));
});
