import type { Cel, CelProgram } from '../../cel/cel.ts';
import { boolType, type CelType, dynType, listType, mapType, stringType, structType } from '../../cel/type.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';

/** Types of the variables: names of claims are strings, values are dynamic. */
const claims = { claims: mapType(stringType, dynType) };

const user = {
  user: structType('UserInfo', {
    username: stringType,
    uid: stringType,
    groups: listType(stringType),
    extra: mapType(stringType, listType(stringType)),
  }),
};

const environments = { claims, user } as const;

interface ExpressionOptions {
  /** What the expression is evaluated on; also the name of its only variable. */
  readonly over: keyof typeof environments;
  /** Default: any type, as it depends on the claim values. */
  readonly returns?: 'bool';
  readonly field: string;
}

/** Compiles the expressions of a configuration and collects their errors. */
export class ExpressionCompiler {
  readonly errors: FieldError[] = [];
  readonly #cel: Pick<Cel, 'compile'> | undefined;

  /** @param cel undefined if there are no expressions. */
  constructor(cel: Pick<Cel, 'compile'> | undefined) {
    this.#cel = cel;
  }

  /** Undefined if the expression does not compile. */
  compile(source: string, { over, returns, field }: ExpressionOptions): CelProgram | undefined {
    if (!this.#cel) throw new TypeError('an expression where none was expected');
    try {
      return this.#cel.compile(source, environments[over], returns && { returns: [types[returns]] });
    } catch (error) {
      this.errors.push(invalid(field, source, `compilation failed: ${error instanceof Error ? error.message : error}`));
      return undefined;
    }
  }
}

const types: Readonly<Record<'bool', CelType>> = { bool: boolType };
