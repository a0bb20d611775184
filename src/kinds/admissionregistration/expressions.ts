import type { Steps } from '../../base/time/in-slices.ts';
import { type CelValueProgram, compileInSteps } from '../../cel/compile.ts';
import { CelCompileError, CelInstantiationError } from '../../cel/error.ts';
import { mutations, objectType, patchType } from '../../cel/library/mutations.ts';
import { publishedError } from '../../cel/published-error.ts';
import { boolType, type CelType, listType, nullType, resultTypeName, stringType } from '../../cel/type.ts';
import { expressionEnvironment, type ObjectTypes, typeOfVariable } from './expression-types.ts';

/**
 * What an expression is for:
 * - `condition`: whether a webhook is called or a policy is evaluated, or whether an object is valid;
 * - `message`: why it is not, without `authorizer`;
 * - `auditAnnotation`: the value of an annotation;
 * - `variable`: a value that other expressions use;
 * - `applyConfiguration`, `jsonPatch`: a change of an object, which `mutation-results.ts` reads from the value.
 */
export type ExpressionRole = 'condition' | 'message' | 'auditAnnotation' | 'variable' | MutationRole;

type MutationRole = 'applyConfiguration' | 'jsonPatch';

/** An expression that can be evaluated by `ExpressionEvaluation`, or why there is none, in the words of kube-apiserver. */
export type CompiledExpression =
  | { readonly type: 'program'; readonly source: string; readonly program: CelValueProgram }
  | {
      readonly type: 'error';
      readonly source: string;
      readonly detail: string;
      /** A constant in it has no value, which kube-apiserver tells as an error of its own. */
      readonly isInternal?: true;
    };

/** Types that a result may have. Default: any. */
const results: Readonly<Partial<Record<ExpressionRole, readonly CelType[]>>> = {
  condition: [boolType],
  message: [stringType],
  auditAnnotation: [stringType, nullType],
  applyConfiguration: [objectType],
  jsonPatch: [listType(patchType)],
};

interface CompilerOptions {
  /** There is `params`: of policies with a `paramKind`. */
  readonly hasParams?: boolean;
  /** There is `variables`: of policies with variables. */
  readonly hasVariables?: boolean;
  /** Types to check expressions against; without them, fields of objects are known only at evaluation. */
  readonly types?: ObjectTypes;
}

/**
 * Compiles the expressions of a webhook or policy (KEP-3716, KEP-3488). Variables are added in their order; an expression sees
 * those that were added before it was compiled. Long expressions are compiled with pauses for whoever iterates.
 */
export class ExpressionCompiler {
  /** Variables by name, for evaluations. */
  readonly variables = new Map<string, CompiledExpression>();
  readonly #options: CompilerOptions;
  /** Grows with each variable. */
  readonly #variableTypes: Record<string, CelType> | undefined;

  constructor(options: CompilerOptions = {}) {
    this.#options = options;
    // Without a prototype: `__proto__` is a name like others.
    this.#variableTypes = options.hasVariables ? Object.create(null) : undefined;
  }

  *compile(source: string, role: ExpressionRole): Steps<CompiledExpression> {
    const program = yield* this.#program(source, role);
    if (program instanceof CelCompileError && !(program instanceof CelInstantiationError)) {
      return { type: 'error', source, detail: `compilation failed: ${publishedError(program, source)}` };
    }
    const problem = typeProblem(program.type, results[role]);
    if (problem !== undefined) return { type: 'error', source, detail: problem };
    if (!(program instanceof CelInstantiationError)) return { type: 'program', source, program };
    return { type: 'error', source, detail: `program instantiation failed: ${program.reason}`, isInternal: true };
  }

  *#program(source: string, role: ExpressionRole): Steps<CelValueProgram | CelCompileError> {
    const { hasParams = false, types = {} } = this.#options;
    const names = { params: hasParams, authorizer: role !== 'message', variables: this.#variableTypes };
    try {
      const extension = role === 'applyConfiguration' || role === 'jsonPatch' ? { extension: mutations } : {};
      return yield* compileInSteps(source, expressionEnvironment(names, types), extension);
    } catch (error) {
      if (error instanceof CelCompileError) return error;
      throw error;
    }
  }

  /** What is wrong with an expression of any result, for the types that were given. */
  *typeError(source: string): Steps<string | undefined> {
    const compiled = yield* this.#program(source, 'variable');
    if (compiled instanceof CelInstantiationError) return undefined;
    return compiled instanceof CelCompileError ? publishedError(compiled, source) : undefined;
  }

  /** Compiles a variable. One that does not compile is a fault of the expressions that use it. */
  *addVariable(name: string, source: string): Steps<CompiledExpression> {
    const compiled = yield* this.compile(source, 'variable');
    const type: CelType = compiled.type === 'program' ? typeOfVariable(compiled.program.type) : { kind: 'dyn' };
    this.variables.set(name, compiled);
    if (this.#variableTypes) this.#variableTypes[name] = type;
    return compiled;
  }
}

function typeProblem(type: CelType, wanted: readonly CelType[] | undefined): string | undefined {
  const names = wanted?.map(resultTypeName);
  const name = resultTypeName(type);
  if (names === undefined || names.includes(name)) return undefined;
  return names.length === 1 ? `must evaluate to ${names[0]} but got ${name}` : `must evaluate to one of [${names.join(' ')}] but got ${name}`;
}
