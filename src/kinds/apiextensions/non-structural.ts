import { limits } from '../../base/limits.ts';
import type { Steps } from '../../base/time/in-slices.ts';
import { describeFieldError, type FieldError, invalid } from '../../meta/field-error.ts';
import { asSchema } from '../../schema/structural/json-schema.ts';
import { isUnsupported, structuralProblemsInSteps } from '../../schema/structural/structural-problems.ts';
import { aggregated } from './accepted-names.ts';
import type { DefinitionCondition, DefinitionVersion } from './custom-resource-definition.ts';

export const nonStructuralSchema = 'NonStructuralSchema';

/** Why the schemas of a definition are not structural. New definitions are refused for it, older ones say so in a condition. */
export class StructuralProblems {
  readonly #errors: (readonly [index: number, errors: readonly FieldError[]])[] = [];
  /** The version whose schema cannot even be looked at. */
  #unsupported: string | undefined;

  constructor(preservesUnknownFields: boolean) {
    if (preservesUnknownFields) this.#errors.push([-1, [invalid('spec.preserveUnknownFields', true, 'must be false')]]);
  }

  /** True if the schema of a version cannot be used. */
  *found(schema: unknown, { name = '' }: DefinitionVersion, index: number): Steps<boolean> {
    const errors = yield* structuralProblemsInSteps(schema, `spec.versions[${index}].schema.openAPIV3Schema`);
    if (errors.length === 0) return false;
    // Looked at last, since nearly all schemas have no problem.
    if (isUnsupported(asSchema(schema))) this.#unsupported ??= name;
    else this.#errors.push([index, errors]);
    return true;
  }

  /** The condition, without its time; undefined if there are no problems. */
  get condition(): DefinitionCondition | undefined {
    if (this.#unsupported !== undefined) {
      const message = `failed to check validation schema for version ${this.#unsupported}: it has keywords that are not supported`;
      return { type: nonStructuralSchema, status: 'Unknown', reason: 'StructuralError', message };
    }
    const errors = this.#errors.toSorted(([a], [b]) => a - b).flatMap(([, found]) => found);
    if (errors.length === 0) return undefined;
    const texts = errors.slice(0, limits.definitionListMax).map((error) => `${error.field}: ${describeFieldError(error)}`);
    return { type: nonStructuralSchema, status: 'True', reason: 'Violations', message: aggregated(texts) };
  }
}
