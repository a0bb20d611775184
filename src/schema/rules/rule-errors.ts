import { inTurns } from '../../base/time/in-slices.ts';
import type { FieldError } from '../../meta/field-error.ts';
import { isRecord } from '../own-property.ts';
import type { StructSchema } from '../schema.ts';
import { asSchema, type JsonSchema } from '../structural/json-schema.ts';
import { rulesIn } from '../structural/rule-text-errors.ts';
import { schemaErrors } from '../structural/schema-errors.ts';
import { isUnsupported } from '../structural/structural-problems.ts';
import {
  buildStructuralSchema,
  readStructuralSchema,
  type StructuralOptions,
} from '../structural/structural-schema.ts';
import { survey } from '../structural/survey.ts';

/**
 * Errors of the rules in the schema of a definition's version: defaults that break them; else expressions that do not compile or
 * may cost too much. A promise, unless the schema has no rules or is not structural; `readStructuralSchema` reports all other
 * errors.
 */
export function ruleErrors(
  schema: unknown,
  options: StructuralOptions & Pick<CheckedSchema, 'timeRules'>,
): readonly FieldError[] | Promise<readonly FieldError[]> {
  const json = asSchema(schema);
  if (survey(json, options.path).tooLarge || !hasRules(json) || isUnsupported(json)) return [];
  const { path, inline, timeRules } = options;
  const { schema: valid, errors, ofDefaults = [] } = readStructuralSchema(json, options);
  if (valid) return check({ json, schema: valid, path, inline, timeRules, ofDefaults, refused: [] });
  // Keywords that are wrong elsewhere do not matter; a structure that is wrong does.
  const refused = schemaErrors(json, path);
  if (errors.length > refused.length + ofDefaults.length) return [];
  return check({ json, schema: buildStructuralSchema(json, options), path, inline, timeRules, ofDefaults, refused });
}

/** Whether any schema within has rules. The schema must be small enough to be read. */
function hasRules(schema: JsonSchema): boolean {
  if (rulesIn(schema).length > 0) return true;
  for (const keyword in schema) {
    const value = schema[keyword];
    if (keyword === 'properties' && isRecord(value)) {
      for (const name in value) if (hasRules(asSchema(value[name]))) return true;
    } else if ((keyword === 'items' || keyword === 'additionalProperties') && isRecord(value) && hasRules(value)) {
      return true;
    }
  }
  return false;
}

interface CheckedSchema {
  readonly json: JsonSchema;
  readonly schema: StructSchema;
  readonly path: string;
  readonly inline: boolean | undefined;
  /** Called when expressions are going to be compiled; the result when they are. */
  readonly timeRules?: ((work: 'compilation') => () => void) | undefined;
  /** Errors of defaults and of keywords that were found before. */
  readonly ofDefaults: readonly FieldError[];
  readonly refused: readonly FieldError[];
}

async function check(checked: CheckedSchema): Promise<readonly FieldError[]> {
  const [{ checkDefaultRules }, { RuleDefinitionCheck }] = await Promise.all([
    import('./default-rule-errors.ts'),
    import('./check-rules.ts'),
  ]);
  const broken: FieldError[] = [];
  await inTurns(checkDefaultRules(checked, broken));
  // Expressions are not looked at while a default is wrong, as in kube-apiserver.
  if (broken.length + checked.ofDefaults.length > 0) return broken;
  const ofRules = new RuleDefinitionCheck({ path: checked.path, inline: checked.inline, errors: checked.refused });
  const stop = checked.timeRules?.('compilation');
  await inTurns(ofRules.steps(checked.schema)).finally(stop);
  return ofRules.errors;
}
