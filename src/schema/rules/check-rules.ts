import { limits } from '../../base/limits.ts';
import { LongWork } from '../../base/long-work.ts';
import type { Steps } from '../../base/time/in-slices.ts';
import type { CelEnvironment } from '../../cel/cel.ts';
import { estimateCost } from '../../cel/estimate.ts';
import { times } from '../../cel/size.ts';
import { schemaExtensions } from '../../dialect/schema-extensions.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import type { Rule } from '../constraint.ts';
import { type Schema, schemaOf } from '../schema.ts';
import { type CompiledExpression, compileMessage, compileRule, isLongRule, ruleEnvironment } from './compile-rule.ts';
import { RuleCosts } from './rule-cost.ts';
import { jsonBytesMin, ruleRequestBytes, ruleSizes } from './rule-size.ts';
import { ruleType } from './rule-type.ts';
import { asRoot } from './visible-schema.ts';

/** Where a schema stands in a definition. */
interface Place {
  readonly path: string;
  /** How many values of it an object has at most; undefined if nothing limits them. */
  readonly count: number | undefined;
  /** The list around it whose items cannot be told apart in an update. */
  readonly uncorrelatable?: string;
}

interface CheckOptions {
  readonly path: string;
  /** Others wait: throws LongWork instead of compiling long expressions. */
  readonly inline?: boolean | undefined;
  /** Errors of the schema. Rules of a part that has one, or is around it, are not looked at. */
  readonly errors: readonly FieldError[];
}

/** Checks the expressions of all rules of a definition's version. `steps` does the work, and may be left alone between steps. */
export class RuleDefinitionCheck {
  readonly errors: FieldError[] = [];
  readonly #options: CheckOptions;
  readonly #costs = new RuleCosts();
  #visited = 0;

  constructor(options: CheckOptions) {
    this.#options = options;
  }

  *steps(schema: Schema): Generator<void, void> {
    const { path } = this.#options;
    yield* this.#visit(schema.type === 'struct' ? asRoot(schema) : schema, { path, count: 1 });
    this.errors.push(...this.#costs.totalErrors(path));
  }

  *#visit(schema: Schema, place: Place): Generator<void, void> {
    for (const [part, at] of partsOf(schema, place)) {
      if (this.errors.length >= limits.findingsMax) return;
      yield* this.#visit(part, at);
    }
    const { rules = [] } = schema;
    if (rules.length > 0 && !this.#hasErrors(place.path)) yield* this.#checkRules(schema, rules, place);
    else if (++this.#visited % limits.ruleCostPerStep === 0) yield;
  }

  #hasErrors(path: string): boolean {
    return this.#options.errors.some(
      ({ field }) => field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`),
    );
  }

  *#checkRules(schema: Schema, rules: readonly Rule[], place: Place): Generator<void, void> {
    const at = `${place.path}.${schemaExtensions.validations}`;
    const type = ruleType(schema, 'selfType');
    if (!type) {
      const cause = 'unable to convert structural schema to CEL declarations';
      const detail = `internal error: failed to construct type information for ${schemaExtensions.validations} rules: ${cause}`;
      this.errors.push({ type: 'InternalError', field: at, detail });
      return;
    }
    for (const [index, rule] of rules.entries()) {
      if (this.errors.length >= limits.findingsMax) return;
      if (this.#options.inline && isLongRule(rule)) throw new LongWork();
      const checked = { rule, schema, place, environment: ruleEnvironment(type, rule), at: `${at}[${index}]` };
      yield* this.#checkRule(checked);
      yield;
    }
  }

  *#checkRule(checked: CheckedRule): Steps<void> {
    const { rule, schema, place, at, environment } = checked;
    const compiled = yield* compileRule(rule, environment);
    const path = `${at}.rule`;
    if (compiled.type === 'error') {
      this.errors.push(invalidRule(path, rule, compiled.detail), ...oldSelfErrors(compiled, checked));
      return;
    }
    const count = place.count ?? Math.floor(ruleRequestBytes / (jsonBytesMin(schema) + 1));
    const each = yield* estimateCost(rule.rule, environment, ruleSizes(schema));
    this.errors.push(...this.#costs.add(path, times(each, count), 'rule'), ...oldSelfErrors(compiled, checked));
    yield* this.#checkMessage(checked);
  }

  *#checkMessage({ rule, schema, at, environment }: CheckedRule): Steps<void> {
    const { messageExpression = '' } = rule;
    if (messageExpression === '') return;
    const compiled = yield* compileMessage(messageExpression, environment);
    const path = `${at}.messageExpression`;
    if (compiled.type === 'error') {
      this.errors.push(invalidRule(path, rule, compiled.detail));
      return;
    }
    const cost = yield* estimateCost(messageExpression, environment, ruleSizes(schema));
    this.errors.push(...this.#costs.add(path, cost, 'messageExpression'));
  }
}

const goPointer = (value: unknown): string => (value === undefined || value === null ? 'nil' : '0xc000000000');

/** The rule is shown as Go prints it. */
function invalidRule(path: string, rule: Rule, detail: string): FieldError {
  const { message = '', messageExpression = '', reason, fieldPath = '', optionalOldSelf } = rule;
  const texts = { Rule: rule.rule, Message: message, MessageExpression: messageExpression };
  const fields = [
    ...Object.entries(texts).map(([name, text]) => `${name}:${JSON.stringify(text)}`),
    `Reason:(*apiextensions.FieldValueErrorReason)(${goPointer(reason)})`,
    `FieldPath:${JSON.stringify(fieldPath)}`,
    `OptionalOldSelf:(*bool)(${goPointer(optionalOldSelf)})`,
  ];
  return { ...invalid(path, rule, detail), shown: `apiextensions.ValidationRule{${fields.join(', ')}}` };
}

interface CheckedRule {
  readonly rule: Rule;
  readonly schema: Schema;
  readonly place: Place;
  readonly environment: CelEnvironment;
  /** Path of the rule. */
  readonly at: string;
}

/** `oldSelf` must have a meaning, and `optionalOldSelf` must be about one. */
function oldSelfErrors(compiled: CompiledExpression, { rule, place, at }: CheckedRule): readonly FieldError[] {
  if (compiled.type === 'program' && compiled.program.uses('oldSelf')) {
    if (place.uncorrelatable === undefined) return [];
    const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelatable}`;
    return [invalid(`${at}.rule`, rule.rule, detail)];
  }
  if (rule.optionalOldSelf === undefined || rule.optionalOldSelf === null) return [];
  return [invalid(`${at}.optionalOldSelf`, rule.optionalOldSelf, 'may not be set if oldSelf is not used in rule')];
}

/** The schemas within a schema, in the order in which kube-apiserver looks at them. */
function* partsOf(schema: Schema, { path, count, ...inherited }: Place): Generator<readonly [Schema, Place]> {
  const within = multiply(count, countMax(schema));
  switch (schema.type) {
    case 'map':
      yield [schema.values, { path: `${path}.additionalProperties`, count: within, ...inherited }];
      return;
    case 'struct': {
      const { fields } = schema.embedded ? asRoot(schema) : schema;
      if (typeof schema.additional === 'object') {
        yield [schema.additional, { path: `${path}.additionalProperties`, count: within, ...inherited }];
      }
      for (const [name, field] of Object.entries(fields)) {
        const part = schemaOf(field);
        if (part.structural) yield [part, { path: `${path}.properties[${name}]`, count: within, ...inherited }];
      }
      return;
    }
    case 'list': {
      const { uncorrelatable = schema.listType === 'map' ? undefined : path } = inherited;
      const place = { path: `${path}.items`, count: within, ...(uncorrelatable !== undefined && { uncorrelatable }) };
      yield [schema.items, place];
      return;
    }
    case 'any':
      if (schema.object) yield* partsOf(schema.object, { path, count, ...inherited });
      if (schema.list) yield* partsOf(schema.list, { path, count, ...inherited });
  }
}

/** By how much a schema multiplies its parts; undefined if nothing limits them. */
function countMax({ type, constraint }: Schema): number | undefined {
  if (type === 'list') return constraint?.maxItems;
  return type === 'map' ? constraint?.maxProperties : 1;
}

const multiply = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? undefined : a * b;
