import { getOrAdd } from '../../base/collections/get-or-add.ts';
import type { Rule } from '../constraint.ts';
import { fieldListsOf } from '../field-lists.ts';
import { type Field, isScalar, type Schema, type StructSchema, schemaOf } from '../schema.ts';
import { asRoot, isVisible } from './visible-schema.ts';

/** The part of a schema that has rules: only values on the way to one are looked at. */
export interface RuleTree {
  /** As expressions see it. */
  readonly schema: Schema;
  readonly rules: readonly Rule[];
  readonly fields: ReadonlyMap<string, RuleTree>;
  /** Of the values of a map, or of undeclared fields. */
  readonly others: RuleTree | undefined;
  readonly items: RuleTree | undefined;
}

const trees = new WeakMap<Schema, { readonly tree: RuleTree | undefined }>();

/** The rules of objects of a kind; undefined if it has none. Only structural schemas have rules. */
export function rulesOf(schema: Schema): RuleTree | undefined {
  if (!schema.structural) return undefined;
  return treeOf(schema, 'root');
}

/** The rules of values of a part of such a schema. */
export const rulesOfPart = (schema: Schema): RuleTree | undefined => treeOf(schema, 'part');

/** Of all equal parts of a schema that are one object there is one tree. */
function treeOf(schema: Schema, place: 'root' | 'part'): RuleTree | undefined {
  // Most schemas are these: nothing is kept of them.
  if (!schema.rules && isScalar(schema)) return undefined;
  return getOrAdd(trees, schema, () => ({ tree: build(schema, place) })).tree;
}

const noRules: readonly never[] = [];
const noFields: ReadonlyMap<string, RuleTree> = new Map();

function build(given: Schema, place: 'root' | 'part'): RuleTree | undefined {
  const isObject = given.type === 'struct' && (place === 'root' || given.embedded === true);
  const schema = isObject ? asRoot(given) : given;
  const { rules = noRules } = schema;
  const fields = schema.type === 'struct' ? fieldsOf(schema) : noFields;
  const others = othersOf(schema);
  const items = schema.type === 'list' ? treeOf(schema.items, 'part') : undefined;
  if (rules.length === 0 && fields.size === 0 && !others && !items) return undefined;
  return { schema, rules, fields, others, items };
}

function othersOf(schema: Schema): RuleTree | undefined {
  if (schema.type === 'map') return treeOf(schema.values, 'part');
  return schema.type === 'struct' && typeof schema.additional === 'object'
    ? treeOf(schema.additional, 'part')
    : undefined;
}

/** Fields without a type have no rules either, as in kube-apiserver. */
function fieldsOf(struct: StructSchema): ReadonlyMap<string, RuleTree> {
  const fields = new Map<string, RuleTree>();
  for (const name of fieldListsOf(struct).names) {
    const schema = schemaOf(struct.fields[name] as Field);
    const tree = schema.structural && treeOf(schema, 'part');
    if (tree && isVisible(schema)) fields.set(name, tree);
  }
  return fields.size === 0 ? noFields : fields;
}
