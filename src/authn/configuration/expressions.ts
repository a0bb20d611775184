import type { Cel, CelProgram } from '../../cel/cel.ts';
import { boolType, type CelType, dynType, listType, mapType, stringType, structType } from '../../cel/type.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';

/** What is known of claims before they are seen: their names are texts. */
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
  /** What the expression is about, and the one variable that it has. */
  readonly over: keyof typeof environments;
  /** Absent: any type, which the values of the claims decide. */
  readonly returns?: 'bool';
  readonly field: string;
}

/** Compiles expressions of a configuration, and collects what is wrong with them. */
export class ExpressionCompiler {
  readonly errors: FieldError[] = [];
  readonly #cel: Pick<Cel, 'compile'> | undefined;

  /** @param cel absent where there are no expressions. */
  constructor(cel: Pick<Cel, 'compile'> | undefined) {
    this.#cel = cel;
  }

  /** Undefined where the expression does not compile. */
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
