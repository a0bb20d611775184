import { type FieldError, invalid } from '../../meta/field-error.ts';
import { problemOfPattern } from '../pattern.ts';
import { BoundedErrors } from './bounded-errors.ts';
import { type JsonSchema, textOf } from './json-schema.ts';
import { partsOf } from './parts-of.ts';

/** Patterns that are invalid, or too expensive to compile. Compiles each pattern, which takes most of the time. */
export function patternErrors(schema: JsonSchema, path: string): readonly FieldError[] {
  const errors = new BoundedErrors();
  visit(schema, path, errors, new Map());
  return errors.list;
}

function visit(
  schema: JsonSchema,
  path: string,
  errors: BoundedErrors,
  problems: Map<string, string | undefined>,
): void {
  if (errors.full) return;
  const pattern = textOf(schema, 'pattern');
  if (pattern !== undefined) {
    if (!problems.has(pattern)) problems.set(pattern, problemOfPattern(pattern));
    const problem = problems.get(pattern);
    if (problem !== undefined) errors.add(invalid(`${path}.pattern`, pattern, problem));
  }
  for (const [step, part] of partsOf(schema)) visit(part, `${path}.${step}`, errors, problems);
}
