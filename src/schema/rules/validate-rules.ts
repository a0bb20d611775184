import type { Clock } from '../../base/time/clock.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import { inOwnTurn } from '../../base/time/turns.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import type { Schema } from '../schema.ts';
import type { RuleEvaluation } from './evaluate-rules.ts';
import { type RuleTree, rulesOf } from './rule-tree.ts';

interface ValidateRulesOptions {
  /** The object that an update replaces, decoded by the same schema. */
  readonly old?: unknown;
  /** Errors found before. Some of them make rules impossible to evaluate. */
  readonly errors: readonly FieldError[];
  /** Called with errors that are passed over because the update does not change the value that has them. Default: none are. */
  readonly onRatcheted?: (error: FieldError) => void;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** See `validate`. */
  readonly inline?: boolean | undefined;
  /** Called when the evaluation starts, for each object; the result when it ends. */
  readonly timeRules?: ((work: 'evaluation') => () => void) | undefined;
}

type Evaluator = typeof RuleEvaluation;

let evaluator: Evaluator | undefined;

/**
 * Loads what evaluates rules. The expression language is not part of the server's start: it is loaded for the first definition
 * or the first object with rules.
 */
async function loadEvaluator(): Promise<Evaluator> {
  const { RuleEvaluation: loaded } = await import('./evaluate-rules.ts');
  evaluator = loaded;
  return loaded;
}

/** Loads it before it is needed: so much code takes most of a turn of the event loop. Errors reach whoever needs it. */
export function preloadRules(): void {
  if (!evaluator) inOwnTurn(() => void loadEvaluator().catch(() => {}));
}

const none: readonly never[] = [];

/**
 * The errors of the rules of a decoded object (`x-kubernetes-validations`, KEP-2876). A promise if something must be loaded
 * or the rules take long: their evaluation is cut into slices of time.
 */
export function validateRules(
  schema: Schema,
  value: unknown,
  options: ValidateRulesOptions,
): readonly FieldError[] | Promise<readonly FieldError[]> {
  const tree = rulesOf(schema);
  if (!tree) return none;
  if (options.errors.some(({ type }) => blocking.has(type))) return [notChecked];
  return evaluator
    ? evaluate(evaluator, tree, value, options)
    : loadEvaluator().then((loaded) => evaluate(loaded, tree, value, options));
}

/** Errors of types and sizes: a rule of such an object may cost more than it was estimated to, or mean nothing. */
const blocking: ReadonlySet<FieldError['type']> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
] as const);

const notChecked = invalid(
  '<nil>',
  'null',
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
);

function evaluate(Loaded: Evaluator, tree: RuleTree, value: unknown, options: ValidateRulesOptions) {
  const { old, onRatcheted, inline, timeRules } = options;
  const evaluation = new Loaded({ old, inline, ...(onRatcheted && { onRatcheted }) });
  const stop = timeRules?.('evaluation');
  const found = runSteps(evaluation, evaluation.steps(tree, value), options.clock);
  if (!stop) return found;
  if (found instanceof Promise) return found.finally(stop);
  stop();
  return found;
}

function runSteps(
  evaluation: RuleEvaluation,
  steps: Generator<void, void>,
  clock: ValidateRulesOptions['clock'],
): readonly FieldError[] | Promise<readonly FieldError[]> {
  if (steps.next().done) return evaluation.errors;
  const slice = new TimeSlice(clock);
  while (!slice.over) if (steps.next().done) return evaluation.errors;
  return finish(evaluation, steps, slice);
}

async function finish(evaluation: RuleEvaluation, steps: Generator<void, void>, slice: TimeSlice) {
  for (;;) {
    if (slice.over) await slice.next();
    if (steps.next().done) return evaluation.errors;
  }
}
