import type { CelType } from '../../cel/type.ts';
import type { Rule } from '../constraint.ts';
import type { Schema } from '../schema.ts';
import { type CompiledExpression, compileMessage, compileRule, ruleEnvironment } from './compile-rule.ts';
import { ruleFieldPath } from './rule-field-path.ts';
import type { RuleTree } from './rule-tree.ts';
import { ruleType } from './rule-type.ts';

/** A rule that is ready to be evaluated. Its parts are compiled when they are needed first. */
export class CompiledRule {
  readonly source: Rule;
  readonly #schema: Schema;
  readonly #self: CelType;
  #rule: CompiledExpression | undefined;
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

  get isCompiled(): boolean {
    return this.#rule !== undefined;
  }

  get rule(): CompiledExpression {
    this.#rule ??= compileRule(this.source, ruleEnvironment(this.#self, this.source));
    return this.#rule;
  }

  /** A transition rule: it compares a value with the one that it replaces. */
  get usesOldSelf(): boolean {
    return this.rule.type === 'program' && this.rule.program.uses('oldSelf');
  }

  /** Undefined if the rule has none. */
  get message(): CompiledExpression | undefined {
    const { messageExpression = '' } = this.source;
    if (messageExpression === '') return undefined;
    this.#message ??= compileMessage(messageExpression, ruleEnvironment(this.#self, this.source));
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
