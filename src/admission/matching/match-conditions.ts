import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import { CelBudget } from '../../cel/budget.ts';
import type { ExpressionInput } from '../../kinds/admissionregistration/evaluate-expressions.ts';
import type { CompiledExpression } from '../../kinds/admissionregistration/expressions.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import { type AuthorizeInExpression, RequestDecisions } from './request-decisions.ts';

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
interface JudgedRequest extends Pick<ExpressionInput, 'request' | 'object' | 'oldObject'> {
  readonly attributes: AdmissionAttributes;
  readonly authorize: AuthorizeInExpression;
  readonly clock: Clock;
}

/** The conditions under which a webhook is called, or a policy evaluated (KEP-3716). */
export class MatchConditions {
  readonly #sources: readonly string[];
  #compiled: Promise<readonly CompiledExpression[]> | undefined;

  private constructor(sources: readonly string[]) {
    this.#sources = sources;
  }

  /** Undefined if there is none. */
  static of(written: readonly WrittenCondition[] = []): MatchConditions | undefined {
    return written.length === 0 ? undefined : new MatchConditions(written.map(({ expression = '' }) => expression));
  }

  /** All are evaluated until one is false, since that outweighs those that fail. */
  async evaluate({ attributes, authorize, clock, ...objects }: JudgedRequest): Promise<Match> {
    this.#compiled ??= compile(this.#sources);
    const compiled = await this.#compiled;
    const { ExpressionEvaluation } = await import('../../kinds/admissionregistration/evaluate-expressions.ts');
    const { group, resource, subresource, namespace } = attributes.info;
    const evaluation = new ExpressionEvaluation(
      {
        ...objects,
        decisions: new RequestDecisions(attributes, authorize),
        requestResource: { group, resource, subresource, namespace, name: attributes.name },
      },
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

/** The language is loaded when the first condition is needed. */
async function compile(sources: readonly string[]): Promise<readonly CompiledExpression[]> {
  const { ExpressionCompiler } = await import('../../kinds/admissionregistration/expressions.ts');
  const compiler = new ExpressionCompiler();
  return sources.map((source) => compiler.compile(source, 'condition'));
}
