import { limits } from '../../base/limits.ts';
import type { Steps } from '../../base/time/in-slices.ts';
import type { CelEnvironment } from '../../cel/cel.ts';
import { type CelValueProgram, compileInSteps } from '../../cel/compile.ts';
import { CelCompileError, CelInstantiationError } from '../../cel/error.ts';
import { publishedError } from '../../cel/published-error.ts';
import { type CelType, optionalType, typeName } from '../../cel/type.ts';
import type { Rule } from '../constraint.ts';

/** An expression of a rule: a program, or why it is none, in the words of kube-apiserver. */
export type CompiledExpression =
  | { readonly type: 'program'; readonly program: CelValueProgram }
  | { readonly type: 'error'; readonly detail: string };

/** The variables of a rule on a value of this type. */
export const ruleEnvironment = (self: CelType, { optionalOldSelf }: Rule): CelEnvironment => ({
  self,
  oldSelf: optionalOldSelf === true ? optionalType(self) : self,
});

/** Compiling takes time linear in the length of an expression, some microseconds for each character. */
export const isLongRule = ({ rule, messageExpression = '' }: Rule): boolean =>
  rule.length + messageExpression.length > limits.inlineRuleLength;

/** Compiles `rule`, which must give a bool. */
export function compileRule({ rule }: Rule, environment: CelEnvironment): Steps<CompiledExpression> {
  return compileExpression(rule, environment, {
    result: 'bool',
    failed: 'compilation failed: ',
    noProgram: 'program instantiation failed: ',
    wrongResult: 'cel expression must evaluate to a bool',
  });
}

/** Compiles `messageExpression`, which must give a string. */
export function compileMessage(source: string, environment: CelEnvironment): Steps<CompiledExpression> {
  return compileExpression(source, environment, {
    result: 'string',
    failed: 'messageExpression compilation failed: ',
    noProgram: 'messageExpression instantiation failed: ',
    wrongResult: 'messageExpression must evaluate to a string',
  });
}

interface Expected {
  readonly result: string;
  /** Before the error of the compiler. */
  readonly failed: string;
  /** Before the fault of a constant. */
  readonly noProgram: string;
  readonly wrongResult: string;
}

function* compileExpression(
  source: string,
  environment: CelEnvironment,
  expected: Expected,
): Steps<CompiledExpression> {
  try {
    const program = yield* compileInSteps(source, environment);
    return hasType(program, expected) ? { type: 'program', program } : { type: 'error', detail: expected.wrongResult };
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error;
    if (error instanceof CelInstantiationError) {
      const detail = hasType(error, expected) ? expected.noProgram + error.reason : expected.wrongResult;
      return { type: 'error', detail };
    }
    return { type: 'error', detail: expected.failed + publishedError(error, source) };
  }
}

const hasType = ({ type }: { readonly type: CelType }, { result }: Expected): boolean => typeName(type) === result;
