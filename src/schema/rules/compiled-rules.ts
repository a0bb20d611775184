import type { Steps } from '../../base/time/in-slices.ts';
import type { CelType } from '../../cel/type.ts';
import type { Rule } from '../constraint.ts';
import type { Schema } from '../schema.ts';
import { type CompiledExpression, compileMessage, compileRule, ruleEnvironment } from './compile-rule.ts';
import { ruleFieldPath } from './rule-field-path.ts';
import type { RuleTree } from './rule-tree.ts';
import { ruleType } from './rule-type.ts';

/** A rule that is ready to be evaluated. Its parts are compiled when they are needed first, with pauses in a long one. */
export class CompiledRule {
  readonly source: Rule;
  readonly #schema: Schema;
  readonly #self: CelType;
  #rule: CompiledExpression | undefined;
  #usesOldSelf = false;
  #message: CompiledExpression | undefined;
  #fieldPath: string | undefined;

  constructor(source: Rule, schema: Schema, self: CelType) {
    this.source = source;
    this.#schema = schema;
    this.#self = self;
  }

  get isEmpty(): boolean {
    return this.source.rule.trim() === '';
  }

  /** Undefined until it is compiled. */
  get compiled(): CompiledExpression | undefined {
    return this.#rule;
  }

  *compile(): Steps<CompiledExpression> {
    const rule = yield* compileRule(this.source, ruleEnvironment(this.#self, this.source));
    this.#usesOldSelf = rule.type === 'program' && rule.program.uses('oldSelf');
    this.#rule = rule;
    return rule;
  }

  /** A transition rule: it compares a value with the one that it replaces. Known when it is compiled. */
  get usesOldSelf(): boolean {
    return this.#usesOldSelf;
  }

  /** Undefined if the rule has none. */
  *message(): Steps<CompiledExpression | undefined> {
    const { messageExpression = '' } = this.source;
    if (messageExpression === '') return undefined;
    this.#message ??= yield* compileMessage(messageExpression, ruleEnvironment(this.#self, this.source));
    return this.#message;
  }

  /** Path of errors, relative to the value; empty if the rule has no valid one. */
  get fieldPath(): string {
    const { fieldPath = '' } = this.source;
    if (fieldPath === '') return '';
    this.#fieldPath ??= ruleFieldPath(fieldPath, this.#schema) ?? '';
    return this.#fieldPath;
  }
}

const compiled = new WeakMap<RuleTree, readonly CompiledRule[] | undefined>();

/** The rules of a value itself. Undefined if expressions cannot see it. */
export function compiledRules(tree: RuleTree): readonly CompiledRule[] | undefined {
  if (compiled.has(tree)) return compiled.get(tree);
  const self = ruleType(tree.schema, 'selfType');
  const rules = self && tree.rules.map((rule) => new CompiledRule(rule, tree.schema, self));
  compiled.set(tree, rules);
  return rules;
}
