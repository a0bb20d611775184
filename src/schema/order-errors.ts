import type { FieldError } from '../meta/field-error.ts';
import { checkOrder } from './field-lists.ts';
import { type Schema, schemaOf } from './schema.ts';

/**
 * Errors of the schema among those of the kind's own validation, in the order of fields, in which kube-apiserver validates
 * them together. Errors of either validation stay in their order: where that of the kind is another one, the kind knows.
 */
export function mergeErrors(
  schema: Schema,
  ofSchema: readonly FieldError[],
  ofKind: readonly FieldError[],
): readonly FieldError[] {
  if (ofSchema.length === 0) return ofKind;
  if (ofKind.length === 0 || schema.structural) return [...ofSchema, ...ofKind];
  const merged: FieldError[] = [];
  let next = 0;
  for (const error of ofKind) {
    for (
      let other = ofSchema[next];
      other && compareFields(schema, other.field, error.toldAfter ?? error.field) <= 0;
      other = ofSchema[++next]
    ) {
      merged.push(other);
    }
    merged.push(error);
  }
  return [...merged, ...ofSchema.slice(next)];
}

/** Negative if the first path comes before the second one. 0 if they are the same, one is within the other, or nothing orders them. */
function compareFields(root: Schema, one: string, other: string): number {
  const steps = stepsOf(one);
  const others = stepsOf(other);
  let schema: Schema | undefined = root;
  for (let at = 0; at < Math.min(steps.length, others.length); at++) {
    const [step = '', another = ''] = [steps[at], others[at]];
    if (schema === undefined) return 0;
    if (step !== another) return compareSteps(schema, step, another);
    schema = partOf(schema, step);
  }
  return 0;
}

const stepsOf = (path: string): readonly string[] => path.match(/\[[^\]]*\]|[^.[]+/g) ?? [];

function compareSteps(schema: Schema, one: string, other: string): number {
  if (schema.type === 'list') return Number(one.slice(1, -1)) - Number(other.slice(1, -1));
  if (schema.type !== 'struct') return 0;
  const names = checkOrder(schema);
  const [first, second] = [placeOf(names, one), placeOf(names, other)];
  return first < 0 || second < 0 ? 0 : first - second;
}

/** Published errors of labels and annotations of a template leave out `metadata`. */
function placeOf(names: readonly string[], step: string): number {
  const place = names.indexOf(step);
  return place < 0 && (step === 'labels' || step === 'annotations') ? names.indexOf('metadata') : place;
}

function partOf(schema: Schema, step: string): Schema | undefined {
  if (schema.type === 'list') return schema.items;
  if (schema.type === 'map') return schema.values;
  if (schema.type !== 'struct' || !Object.hasOwn(schema.fields, step)) return undefined;
  const field = schema.fields[step];
  return field && schemaOf(field);
}

/** What may not change is looked at last, but for kinds that freeze: those look at it once they know the metadata. */
export function withChanges(
  schema: Schema,
  errors: readonly FieldError[],
  ofChange: readonly FieldError[],
): readonly FieldError[] {
  const freezes = schema.type === 'struct' && schema.freeze !== undefined;
  if (!freezes || ofChange.length === 0) return [...errors, ...ofChange];
  const [ofMetadata, others] = [errors.filter(isOfMetadata), errors.filter((error) => !isOfMetadata(error))];
  return [...ofMetadata, ...ofChange, ...others];
}

const isOfMetadata = ({ field }: FieldError): boolean => field.startsWith('metadata');
