import { limits } from '../../base/limits.ts';
import { inOwnTurn } from '../../base/time/turns.ts';
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
 * Errors of the expressions of rules in the schema of a definition's version: those that do not compile, and those that may cost
 * too much. A promise, unless the schema has no rules or is not structural; `readStructuralSchema` reports all other errors.
 */
export function ruleErrors(
  schema: unknown,
  options: StructuralOptions,
): readonly FieldError[] | Promise<readonly FieldError[]> {
  const json = asSchema(schema);
  if (survey(json, options.path).tooLarge || !hasRules(json) || isUnsupported(json)) return [];
  const { schema: valid, errors } = readStructuralSchema(json, options);
  if (valid) return check(valid, errors, options);
  // Keywords that are wrong elsewhere do not matter; a structure that is wrong does.
  const refused = schemaErrors(json, options.path);
  if (errors.length > refused.length) return [];
  return check(buildStructuralSchema(json, options), refused, options);
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

async function check(
  schema: StructSchema,
  errors: readonly FieldError[],
  { path }: StructuralOptions,
): Promise<readonly FieldError[]> {
  const { RuleDefinitionCheck } = await import('./check-rules.ts');
  const checked = new RuleDefinitionCheck({ path, errors });
  const steps = checked.steps(schema);
  for (let count = 1; !steps.next().done; count++) {
    if (count % limits.ruleStepsPerTurn === 0) await new Promise<void>((resolve) => inOwnTurn(resolve));
  }
  return checked.errors;
}
