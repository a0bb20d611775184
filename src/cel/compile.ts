import { Environment } from '@marcbachmann/cel-js';
import type { CelCompileOptions, CelEnvironment, CelProgram } from './cel.ts';
import { CelCompileError, CelEvaluationError } from './error.ts';
import { type CelType, dynType, typeName } from './type.ts';

/** A stand-in until the engine is there: no static types, no costs. */
export function compile(source: string, environment: CelEnvironment, options: CelCompileOptions = {}): CelProgram {
  const library = new Environment({ enableOptionalTypes: true });
  for (const variable of Object.keys(environment)) library.registerVariable(variable, 'dyn');
  const checked = library.check(source);
  if (!checked.valid) throw new CelCompileError(checked.error?.message ?? 'does not compile');
  const type: CelType =
    checked.type === 'bool' ? { kind: 'bool' } : checked.type === 'string' ? { kind: 'string' } : dynType;
  if (options.returns !== undefined && !options.returns.some((each) => each.kind === type.kind)) {
    throw new CelCompileError(
      `must evaluate to ${options.returns.map(typeName).join(' or ')} but got ${typeName(type)}`,
    );
  }
  return {
    source,
    type,
    evaluate(variables) {
      try {
        return library.evaluate(source, variables as Record<string, unknown>) as unknown;
      } catch (error) {
        throw new CelEvaluationError(error instanceof Error ? error.message : String(error));
      }
    },
    selects: (variable, field) => source.includes(`${variable}.${field}`) || source.includes(`${variable}.?${field}`),
    selectsField: (field) => source.includes(`.${field}`) || source.includes(`.?${field}`),
  };
}
