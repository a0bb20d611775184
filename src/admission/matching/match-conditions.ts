import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import { inSlices, type Steps } from '../../base/time/in-slices.ts';
import { CelBudget } from '../../cel/budget.ts';
import type { ExpressionInput } from '../../kinds/admissionregistration/evaluate-expressions.ts';
import type { CompiledExpression, ExpressionCompiler } from '../../kinds/admissionregistration/expressions.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import { CompiledByWritten, type CompiledOnce } from './compiled-once.ts';
import { type RequestDecisions, requestResource } from './request-decisions.ts';

/** A condition as a configuration or policy has it. */
export interface WrittenCondition {
  readonly name?: string;
  readonly expression?: string;
}

type Match =
  /** All conditions are true. */
  | { readonly type: 'match' }
  /** A condition is false, even if others failed. */
  | { readonly type: 'excluded' }
  /** No condition is false, and at least one could not be evaluated. One message for each of those. */
  | { readonly type: 'failed'; readonly errors: readonly string[] };

/** A request, in the version in which a webhook or policy is shown it. */
export type JudgedObjects = Pick<ExpressionInput, 'request' | 'object' | 'oldObject' | 'params'>;

interface JudgedRequest extends JudgedObjects {
  readonly attributes: AdmissionAttributes;
  readonly decisions: RequestDecisions;
  readonly clock: Clock;
}

/** The conditions under which a webhook is called, or a policy evaluated (KEP-3716). */
export class MatchConditions {
  readonly #compiled: CompiledConditions;

  private constructor(compiled: CompiledConditions) {
    this.#compiled = compiled;
  }

  /** Undefined if there is none. `hasParams`: they may use `params`. */
  static of(written: readonly WrittenCondition[] = [], hasParams = false): MatchConditions | undefined {
    if (written.length === 0) return undefined;
    return new MatchConditions(known.of(written, (clock) => compile(written, hasParams, clock)));
  }

  /** All are evaluated until one is false, since that outweighs those that fail. */
  async evaluate({ attributes, decisions, clock, ...objects }: JudgedRequest): Promise<Match> {
    const compiled = await this.#compiled.get(clock);
    const { ExpressionEvaluation } = await import('../../kinds/admissionregistration/evaluate-expressions.ts');
    const evaluation = new ExpressionEvaluation(
      { ...objects, decisions, requestResource: requestResource(attributes) },
      { budget: new CelBudget(limits.matchConditionsCostMax), clock },
    );
    const errors: string[] = [];
    for (const each of compiled) {
      const evaluating = evaluation.evaluate(each);
      const result = evaluating instanceof Promise ? await evaluating : evaluating;
      if (result.type !== 'value') errors.push(result.message);
      else if (result.value !== true) return excluded;
    }
    return errors.length === 0 ? match : { type: 'failed', errors };
  }
}

const match: Match = { type: 'match' };
const excluded: Match = { type: 'excluded' };

type CompiledConditions = CompiledOnce<readonly CompiledExpression[]>;

const known = new CompiledByWritten<readonly WrittenCondition[], readonly CompiledExpression[]>();

async function compile(
  written: readonly WrittenCondition[],
  hasParams: boolean,
  clock: Clock,
): Promise<readonly CompiledExpression[]> {
  const { ExpressionCompiler } = await import('../../kinds/admissionregistration/expressions.ts');
  return inSlices(compileEach(written, new ExpressionCompiler({ hasParams })), clock);
}

function* compileEach(written: readonly WrittenCondition[], compiler: ExpressionCompiler): Steps<CompiledExpression[]> {
  const compiled: CompiledExpression[] = [];
  for (const { expression = '' } of written) {
    yield;
    compiled.push(yield* compiler.compile(expression, 'condition'));
  }
  return compiled;
}
