import { limits } from '../../base/limits.ts';
import type { Cel, CelEnvironment, CelProgram } from '../../cel/cel.ts';
import { boolType, listType, mapType, stringType, structType } from '../../cel/type.ts';
import { duplicate, type FieldError, invalid, required, tooMany } from '../../meta/field-error.ts';
import type { ReviewSpec } from './review.ts';

const strings = listType(stringType);

const selector = (name: string) =>
  structType(name, {
    rawSelector: stringType,
    requirements: listType(
      structType('SelectorRequirement', { key: stringType, operator: stringType, values: strings }),
    ),
  });

/** Variables of conditions: `request` has the form of a SubjectAccessReview's `spec` in version `v1`. */
const environment: CelEnvironment = {
  request: structType('SubjectAccessReviewSpec', {
    resourceAttributes: structType('ResourceAttributes', {
      namespace: stringType,
      verb: stringType,
      group: stringType,
      version: stringType,
      resource: stringType,
      subresource: stringType,
      name: stringType,
      fieldSelector: selector('FieldSelectorAttributes'),
      labelSelector: selector('LabelSelectorAttributes'),
    }),
    nonResourceAttributes: structType('NonResourceAttributes', { path: stringType, verb: stringType }),
    user: stringType,
    groups: strings,
    extra: mapType(stringType, strings),
    uid: stringType,
  }),
};

export type Match =
  /** All conditions are true: call the webhook. */
  | { readonly type: 'match' }
  /** A condition is false, even if others failed: skip the webhook. */
  | { readonly type: 'excluded' }
  /** No condition is false, and at least one could not be evaluated. One error for each of those. */
  | { readonly type: 'failed'; readonly errors: readonly string[] };

const match: Match = { type: 'match' };
const excluded: Match = { type: 'excluded' };

/** Conditions under which a webhook is called (spec section 5.7). */
export class MatchConditions {
  readonly #programs: readonly CelProgram[];

  constructor(programs: readonly CelProgram[]) {
    this.#programs = programs;
  }

  /** The expressions, in order. */
  get sources(): readonly string[] {
    return this.#programs.map(({ source }) => source);
  }

  /** Evaluates the conditions in order, each with its own cost limit. */
  evaluate(request: ReviewSpec): Match {
    const errors: string[] = [];
    for (const [index, program] of this.#programs.entries()) {
      try {
        const value = program.evaluate({ request });
        if (value === false) return excluded;
        if (value !== true) errors.push(`match condition ${index} is neither true nor false`);
      } catch (error) {
        // The failure policy decides about any kind of error.
        errors.push(`match condition ${index} failed: ${error instanceof Error ? error.message : error}`);
      }
    }
    return errors.length === 0 ? match : { type: 'failed', errors };
  }
}

/**
 * Compiles the conditions in the list at `path`. Reports expressions that are empty, duplicate, do not compile, or are not
 * boolean. Use the conditions only if there are no errors.
 */
export function compileMatchConditions(
  expressions: readonly string[],
  path: string,
  cel: Pick<Cel, 'compile'>,
): { readonly conditions: MatchConditions; readonly errors: readonly FieldError[] } {
  if (expressions.length > limits.matchConditionsMax) {
    return {
      conditions: new MatchConditions([]),
      errors: [tooMany(path, expressions.length, limits.matchConditionsMax)],
    };
  }
  const errors: FieldError[] = [];
  const programs: CelProgram[] = [];
  for (const [index, expression] of expressions.entries()) {
    const field = `${path}[${index}].expression`;
    if (expression.trim() === '') errors.push(required(field));
    else if (expressions.indexOf(expression) < index) errors.push(duplicate(field, expression));
    else {
      try {
        programs.push(cel.compile(expression, environment, { returns: [boolType] }));
      } catch (error) {
        errors.push(
          invalid(field, expression, `compilation failed: ${error instanceof Error ? error.message : error}`),
        );
      }
    }
  }
  return { conditions: new MatchConditions(programs), errors };
}
