import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { errorsOfEach, type FieldError, invalid } from '../../meta/field-error.ts';
import { isQualifiedName } from '../../schema/formats.ts';
import type { Kind, StrategyContext } from '../kind.ts';

/** Finalizer names without a domain that have a meaning in every kind; the dialect's own name is the third. */
const standardNames: ReadonlySet<string> = new Set(['orphan', 'foregroundDeletion']);

const isStandard = (name: string, dialect: Dialect): boolean => standardNames.has(name) || name === dialect.name;

/** Finalizers must name who answers for them: a qualified name with a domain, or one of the few standard names. */
export const validateFinalizerNames = (names: readonly string[], dialect: Dialect, field: string): FieldError[] =>
  errorsOfEach(names, (name) => [
    ...isQualifiedName(name).map((problem) => invalid(field, name, problem)),
    ...validateDomain(name, dialect, field),
  ]);

const validateDomain = (name: string, dialect: Dialect, field: string): FieldError[] =>
  name.includes('/') || isStandard(name, dialect)
    ? []
    : [invalid(field, name, 'name is neither a standard finalizer name nor is it fully qualified')];

/**
 * A kind with the rule that the finalizers in its metadata have a domain: core kinds but Events, roles and bindings. Kinds
 * of other groups take any qualified name, as published. What is a qualified name is checked for every kind alike.
 */
export function withFinalizerRule(kind: Kind): Kind {
  const check = (object: ApiObject, { dialect }: StrategyContext): FieldError[] =>
    errorsOfEach(object.metadata.finalizers ?? [], (name, index) =>
      validateDomain(name, dialect, `metadata.finalizers[${index}]`),
    );
  const { strategy } = kind;
  return {
    ...kind,
    strategy: {
      ...strategy,
      validateCreate: (object, context) => [
        ...check(object, context),
        ...(strategy.validateCreate?.(object, context) ?? []),
      ],
      validateUpdate: (object, old, context) => [
        ...check(object, context),
        ...(strategy.validateUpdate?.(object, old, context) ?? []),
      ],
    },
  };
}
