import { limits } from '../../base/limits.ts';
import { LongWork } from '../../base/long-work.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import { inspectPattern } from '../pattern.ts';
import { BoundedErrors } from './bounded-errors.ts';
import { type JsonSchema, textOf } from './json-schema.ts';
import { partsOf } from './parts-of.ts';

/**
 * Patterns that are invalid, or too expensive to compile, one by one or all together. Equal patterns are compiled once.
 * Takes most of the time that a schema is checked. `inline`: others wait, so it throws LongWork instead of taking long.
 */
export function patternErrors(schema: JsonSchema, path: string, inline = false): readonly FieldError[] {
  const inspector = new Inspector(inline);
  inspector.visit(schema, path);
  return inspector.errors.list;
}

class Inspector {
  readonly errors = new BoundedErrors();
  readonly #problems = new Map<string, string | undefined>();
  readonly #inline: boolean;
  #work = 0;

  constructor(inline: boolean) {
    this.#inline = inline;
  }

  visit(schema: JsonSchema, path: string): void {
    if (this.errors.full) return;
    const pattern = textOf(schema, 'pattern');
    const problem = pattern === undefined ? undefined : this.#problemOf(pattern);
    if (problem !== undefined) this.errors.add(invalid(`${path}.pattern`, pattern, problem));
    for (const [step, part] of partsOf(schema)) this.visit(part, `${path}.${step}`);
  }

  #problemOf(pattern: string): string | undefined {
    if (this.#problems.has(pattern)) return this.#problems.get(pattern);
    // A large one is not even begun: its instructions are about as many as its characters.
    if (this.#inline && this.#work + 2 * pattern.length > limits.inlinePatternsWork) throw new LongWork();
    if (this.#work > limits.schemaPatternsWorkMax)
      return 'is one too many: the patterns before it are too large in all';
    const { problem, work } = inspectPattern(pattern);
    this.#work += work;
    this.#problems.set(pattern, problem);
    return problem;
  }
}
