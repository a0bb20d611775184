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

/** What conditions may use: `request` is the question, in the form of a SubjectAccessReview's `spec` in version `v1`. */
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
  /** All conditions are true: the webhook is to be asked. */
  | { readonly type: 'match' }
  /** One is false, whatever became of the others: the webhook has nothing to do with it. */
  | { readonly type: 'excluded' }
  /** None is false, and at least one came to no value. One error for each of those. */
  | { readonly type: 'failed'; readonly errors: readonly string[] };

const match: Match = { type: 'match' };
const excluded: Match = { type: 'excluded' };

/** The conditions under which a webhook is asked (spec section 5.7). */
export class MatchConditions {
  readonly #programs: readonly CelProgram[];

  constructor(programs: readonly CelProgram[]) {
    this.#programs = programs;
  }

  /** The expressions, in their order. */
  get sources(): readonly string[] {
    return this.#programs.map(({ source }) => source);
  }

  /** Evaluates the conditions in their order, each within its own bound of cost. */
  evaluate(request: ReviewSpec): Match {
    const errors: string[] = [];
    for (const [index, program] of this.#programs.entries()) {
      try {
        const value = program.evaluate({ request });
        if (value === false) return excluded;
        if (value !== true) errors.push(`match condition ${index} is neither true nor false`);
      } catch (error) {
        // Whatever the fault is: what becomes of the question is for the failure policy to say.
        errors.push(`match condition ${index} failed: ${error instanceof Error ? error.message : error}`);
      }
    }
    return errors.length === 0 ? match : { type: 'failed', errors };
  }
}

/**
 * Compiles the expressions of the list of conditions at `path`. Errors say which of them is empty, stands twice, does not
 * compile or is no boolean; the conditions are only to be used where there are none.
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
