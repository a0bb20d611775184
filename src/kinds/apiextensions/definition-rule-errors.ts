import { ruleErrors } from '../../schema/rules/rule-errors.ts';
import type { StrategyContext } from '../kind.ts';
import { validateEmbeddedMetadata } from '../meta/embedded-metadata-validation.ts';
import { objectMeta } from '../meta/object-meta.ts';
import { allErrors, type Validation } from '../validation.ts';
import type { Definition } from './custom-resource-definition.ts';
import { changedSchemas } from './versions-errors.ts';

/** Errors of the expressions of rules, in schemas that are new or changed. */
export function definitionRuleErrors(definition: Definition, old: Definition | undefined, { inline, timeRules }: Pick<StrategyContext, 'inline' | 'timeRules'>): Validation {
  const schemas = changedSchemas(definition.spec?.versions ?? [], old?.spec?.versions ?? []);
  const options = { inline, timeRules, objectMeta, validateMetadata: validateEmbeddedMetadata };
  return allErrors(...schemas.map(({ json, path }) => ruleErrors(json, { ...options, path })));
}
