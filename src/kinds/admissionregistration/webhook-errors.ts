import { duplicate, errorsOfEach, type FieldError, invalid, notSupported, required } from '../../meta/field-error.ts';
import { isDns1035Label, isDnsSubdomain } from '../../meta/formats.ts';
import { allErrors, type Validation } from '../validation.ts';
import { webhookClientErrors } from '../webhook-client-errors.ts';
import { conditionChecks, conditionErrors, sameConditions } from './condition-errors.ts';
import { expressionErrors } from './expression-errors.ts';
import type { MatchCondition } from './match-condition.ts';
import { failurePolicies, matchPolicies, reinvocationPolicies } from './policy-names.ts';
import { ruleErrors } from './rule-errors.ts';
import type { Webhook } from './webhook-schema.ts';

/** What an update requires. What the stored configuration breaks already may stay, as in published servers. */
interface Requirements {
  /** Names are unique. */
  readonly uniqueNames: boolean;
  /** One of the versions of AdmissionReview is known. */
  readonly knownReviewVersion: boolean;
  /** Dry runs change nothing. */
  readonly noSideEffects: boolean;
}

const strict: Requirements = { uniqueNames: true, knownReviewVersion: true, noSideEffects: true };

/** What every webhook of the stored configuration meets is required of all new ones. */
const requirementsOf = (stored: readonly Webhook[]): Requirements => ({
  uniqueNames: new Set(stored.map(({ name }) => name)).size === stored.length,
  knownReviewVersion: stored.every(({ admissionReviewVersions: versions = [] }) => versions.length === 0 || versions.some(isKnownVersion)),
  noSideEffects: stored.every(({ sideEffects = '' }) => withoutSideEffects.includes(sideEffects)),
});

/** Versions of AdmissionReview that the server can send. */
const knownVersions: readonly string[] = ['v1', 'v1beta1'];
const isKnownVersion = (version: string): boolean => knownVersions.includes(version);

const withoutSideEffects: readonly string[] = ['None', 'NoneOnDryRun'];
const allSideEffects: readonly string[] = ['None', 'NoneOnDryRun', 'Some', 'Unknown'];

/** Errors of the webhooks of a configuration, in the words of kube-apiserver 1.32. */
export function webhooksErrors(webhooks: readonly Webhook[], stored: readonly Webhook[] | undefined): Validation {
  const fields = fieldsErrors(webhooks, stored);
  if (stored && sameConditions(webhooks.map(conditionsOf), stored.map(conditionsOf))) return fields;
  const each = webhooks.map((webhook, index) => [conditionsOf(webhook), `webhooks[${index}].matchConditions`] as const);
  const errors = errorsOfEach(each, ([conditions, path]) => conditionErrors(conditions, path));
  return allErrors(fields, errors, expressionErrors(each.flatMap(([conditions, path]) => conditionChecks(conditions, path))));
}

const conditionsOf = ({ matchConditions = [] }: Webhook): readonly MatchCondition[] => matchConditions;

function fieldsErrors(webhooks: readonly Webhook[], stored: readonly Webhook[] | undefined): FieldError[] {
  const requirements = stored ? requirementsOf(stored) : strict;
  const names = new Set<string>();
  return errorsOfEach(webhooks, (webhook, index) => {
    const path = `webhooks[${index}]`;
    const { name = '', admissionReviewVersions = [] } = webhook;
    const isDuplicate = requirements.uniqueNames && name !== '' && names.has(name);
    names.add(name);
    return [
      ...webhookErrors(webhook, path, requirements),
      ...versionErrors(admissionReviewVersions, `${path}.admissionReviewVersions`, requirements),
      ...(isDuplicate ? [duplicate(`${path}.name`, name)] : []),
    ];
  });
}

function webhookErrors(webhook: Webhook, path: string, { noSideEffects }: Requirements): FieldError[] {
  const { name = '', clientConfig = {}, rules = [], failurePolicy, matchPolicy, sideEffects, timeoutSeconds, reinvocationPolicy } = webhook;
  return [
    ...nameErrors(name, `${path}.name`),
    ...errorsOfEach(rules, (rule, index) => ruleErrors(rule, `${path}.rules[${index}]`)),
    ...choiceErrors(failurePolicy, failurePolicies, `${path}.failurePolicy`),
    ...choiceErrors(matchPolicy, matchPolicies, `${path}.matchPolicy`),
    ...sideEffectsErrors(sideEffects, noSideEffects ? withoutSideEffects : allSideEffects, `${path}.sideEffects`),
    ...timeoutErrors(timeoutSeconds, `${path}.timeoutSeconds`),
    ...choiceErrors(reinvocationPolicy, reinvocationPolicies, `${path}.reinvocationPolicy`),
    ...webhookClientErrors(clientConfig, `${path}.clientConfig`),
  ];
}

function nameErrors(name: string, path: string): FieldError[] {
  if (name === '') return [required(path)];
  const problems = isDnsSubdomain(name);
  if (problems.length > 0) return [invalid(path, name, problems.join(','))];
  return name.split('.').length < 3 ? [invalid(path, name, 'should be a domain with at least three segments separated by dots')] : [];
}

/** An absent value has its default. */
const choiceErrors = (value: string | undefined, choices: readonly string[], path: string): FieldError[] =>
  value === undefined || choices.includes(value) ? [] : [notSupported(path, value, choices)];

const sideEffectsErrors = (value: string | undefined, choices: readonly string[], path: string): FieldError[] =>
  value === undefined ? [required(path, `must specify one of ${choices.join(', ')}`)] : choiceErrors(value, choices, path);

const timeoutErrors = (seconds: number | undefined, path: string): FieldError[] =>
  seconds === undefined || (seconds >= 1 && seconds <= 30) ? [] : [invalid(path, seconds, 'the timeout value must be between 1 and 30 seconds')];

function versionErrors(versions: readonly string[], path: string, { knownReviewVersion }: Requirements): FieldError[] {
  const known = knownVersions.join(', ');
  if (versions.length === 0) return [required(path, `must specify one of ${known}`)];
  const seen = new Set<string>();
  const errors = errorsOfEach(versions, (version, index) => {
    const at = `${path}[${index}]`;
    if (seen.has(version)) return [invalid(at, version, 'duplicate version')];
    seen.add(version);
    return isDns1035Label(version).map((problem) => invalid(at, version, problem));
  });
  if (knownReviewVersion && !versions.some(isKnownVersion)) errors.push(invalid(path, versions, `must include at least one of ${known}`));
  return errors;
}
