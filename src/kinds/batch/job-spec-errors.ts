import { limits } from '../../base/limits.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { boundedCount, duplicate, errorsOfEach, type FieldError, invalid, notSupported, notSupportedOf, required, toldAfter, tooLong } from '../../meta/field-error.ts';
import { isDnsSubdomain, isQualifiedName } from '../../meta/formats.ts';
import { shownAsGo } from '../../schema/go-text.ts';
import { validatePodTemplate } from '../core/pod/pod-template-spec.ts';
import { readIndexes } from './index-intervals.ts';
import { exitCodes, type JobSpec, successPolicySchema } from './job-schema.ts';

/** Rules of a job's spec, apart from its selector, which jobs of a template get later. */
export const validateJobSpec = (spec: JobSpec, path: string, dialect: Dialect): FieldError[] => [
  ...(spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined
    ? toldAfter(`${path}.maxFailedIndexes`, [required(`${path}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified')])
    : []),
  ...(spec.managedBy === undefined ? [] : validateManager(spec.managedBy, `${path}.managedBy`)),
  ...validateCompletionMode(spec, path),
  ...validateFailurePolicy(spec, `${path}.podFailurePolicy.rules`),
  ...validateSuccessPolicy(spec, `${path}.successPolicy`),
  ...validateReplacement(spec, `${path}.podReplacementPolicy`),
  ...validatePodTemplate(spec.template ?? {}, `${path}.template`, dialect),
  ...toldAfter(`${path}.template`, validateRestarts(spec, `${path}.template.spec.restartPolicy`)),
];

function validateManager(manager: string, path: string): FieldError[] {
  if (manager === '') return [required(path)];
  return [...validatePrefixedPath(manager, path), ...(Buffer.byteLength(manager) > limits.jobManagerBytesMax ? [tooLong(path, limits.jobManagerBytesMax)] : [])];
}

function validatePrefixedPath(manager: string, path: string): FieldError[] {
  const slash = manager.indexOf('/');
  const [domain, rest] = [manager.slice(0, Math.max(slash, 0)), manager.slice(slash + 1)];
  if (domain === '' || rest === '') return [invalid(path, manager, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  return [
    ...isDnsSubdomain(domain).map((problem) => invalid(path, domain, problem)),
    ...(httpPath.test(rest) ? [] : [invalid(path, rest, `Invalid path (regex used for validation is '${httpPath.source.slice(1, -1)}')`)]),
  ];
}

const httpPath = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

const modes = ['NonIndexed', 'Indexed'];

function validateCompletionMode(spec: JobSpec, path: string): FieldError[] {
  const { completionMode = 'NonIndexed', backoffLimitPerIndex, maxFailedIndexes } = spec;
  if (!modes.includes(completionMode)) return [notSupportedOf(`${path}.completionMode`, completionMode, modes)];
  if (completionMode === 'Indexed') return validateIndexed(spec, path);
  return Object.entries({ backoffLimitPerIndex, maxFailedIndexes }).flatMap(([name, value]) => (value === undefined ? [] : [invalid(`${path}.${name}`, value, 'requires indexed completion mode')]));
}

function validateIndexed({ completions, parallelism = 0, maxFailedIndexes, backoffLimitPerIndex }: JobSpec, path: string): FieldError[] {
  const failures = maxFailedIndexes ?? 0;
  const many = completions !== undefined && completions > limits.jobCompletionsSoftMax && backoffLimitPerIndex !== undefined;
  const most = limits.jobParallelismOfManyMax;
  const rule = `must be less than or equal to ${most} when completions are above ${limits.jobCompletionsSoftMax} and used with backoff limit per index`;
  return [
    ...(completions === undefined ? [required(`${path}.completions`, 'when completion mode is Indexed')] : []),
    ...(parallelism > limits.jobIndexesMax ? [invalid(`${path}.parallelism`, parallelism, `must be less than or equal to ${limits.jobIndexesMax} when completion mode is Indexed`)] : []),
    ...(completions !== undefined && failures > completions ? [invalid(`${path}.maxFailedIndexes`, failures, 'must be less than or equal to completions')] : []),
    ...(failures > limits.jobIndexesMax ? [invalid(`${path}.maxFailedIndexes`, failures, `must be less than or equal to ${limits.jobIndexesMax}`)] : []),
    ...(many && maxFailedIndexes === undefined ? [required(`${path}.maxFailedIndexes`, `must be specified when completions is above ${limits.jobCompletionsSoftMax}`)] : []),
    ...(many && parallelism > most ? [invalid(`${path}.parallelism`, parallelism, rule)] : []),
    ...(many && failures > most ? [invalid(`${path}.maxFailedIndexes`, failures, rule)] : []),
  ];
}

type FailureRule = NonNullable<NonNullable<JobSpec['podFailurePolicy']>['rules']>[number];

const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore'];
const listed = (values: readonly string[]): string => `[${values.map((value) => JSON.stringify(value)).join(' ')}]`;

function validateFailurePolicy(spec: JobSpec, path: string): FieldError[] {
  const rules = spec.podFailurePolicy?.rules ?? [];
  const { containers = [], initContainers = [] } = spec.template?.spec ?? {};
  const names = new Set([...containers, ...initContainers].map(({ name }) => name));
  return [...boundedCount(path, rules.length, limits.jobRulesMax), ...errorsOfEach(rules, (rule, index) => validateFailureRule(spec, rule, `${path}[${index}]`, names))];
}

function validateFailureRule({ backoffLimitPerIndex }: JobSpec, { action = '', onExitCodes, onPodConditions = [] }: FailureRule, path: string, names: ReadonlySet<string>): FieldError[] {
  const unlimited = action === 'FailIndex' && backoffLimitPerIndex === undefined;
  const [codes, conditions] = [onExitCodes !== undefined, onPodConditions.length > 0];
  return [
    ...(action === '' ? [required(`${path}.action`, `valid values: ${listed(actions)}`)] : []),
    ...(unlimited ? [invalid(`${path}.action`, action, 'requires the backoffLimitPerIndex to be set')] : []),
    ...(action !== '' && !actions.includes(action) ? [notSupported(`${path}.action`, action, actions)] : []),
    ...(onExitCodes ? validateExitCodes(onExitCodes, `${path}.onExitCodes`, names) : []),
    ...boundedCount(`${path}.onPodConditions`, onPodConditions.length, limits.jobRulesMax),
    ...errorsOfEach(onPodConditions, (pattern, index) => validatePattern(pattern, `${path}.onPodConditions[${index}]`)),
    ...(codes && conditions ? [invalid(path, undefined, 'specifying both OnExitCodes and OnPodConditions is not supported')] : []),
    ...(codes || conditions ? [] : [invalid(path, undefined, 'specifying one of OnExitCodes and OnPodConditions is required')]),
  ];
}

const operators = ['In', 'NotIn'];

function validateExitCodes({ operator = '', containerName, values = [] }: NonNullable<FailureRule['onExitCodes']>, path: string, names: ReadonlySet<string>): FieldError[] {
  const seen = new Set<number>();
  const ordered = values.every((value, index) => index === 0 || (values[index - 1] ?? 0) <= value);
  return [
    ...(operator === '' ? [required(`${path}.operator`, `valid values: ${listed(operators)}`)] : []),
    ...(operator !== '' && !operators.includes(operator) ? [notSupported(`${path}.operator`, operator, operators)] : []),
    ...(containerName !== undefined && !names.has(containerName) ? [invalid(`${path}.containerName`, containerName, 'must be one of the container or initContainer names in the pod template')] : []),
    ...(values.length === 0 ? [shownAsGo(invalid(`${path}.values`, values, 'at least one value is required'), exitCodes)] : []),
    ...boundedCount(`${path}.values`, values.length, limits.jobExitCodesMax),
    ...errorsOfEach(values, (value, index) => {
      const repeated = seen.has(value);
      seen.add(value);
      return [
        ...(operator === 'In' && value === 0 ? [invalid(`${path}.values[${index}]`, value, 'must not be 0 for the In operator')] : []),
        ...(repeated ? [duplicate(`${path}.values[${index}]`, value)] : []),
      ];
    }),
    ...(ordered ? [] : [shownAsGo(invalid(`${path}.values`, values, 'must be ordered'), exitCodes)]),
  ];
}

const statuses = ['False', 'True', 'Unknown'];

const validatePattern = ({ type = '', status = '' }: NonNullable<FailureRule['onPodConditions']>[number], path: string): FieldError[] => [
  ...isQualifiedName(type).map((problem) => invalid(`${path}.type`, type, problem)),
  ...(status === '' ? [required(`${path}.status`, `valid values: ${listed(statuses)}`)] : []),
  ...(status !== '' && !statuses.includes(status) ? [notSupported(`${path}.status`, status, statuses)] : []),
];

type SuccessRule = NonNullable<NonNullable<JobSpec['successPolicy']>['rules']>[number];

function validateSuccessPolicy({ successPolicy, completionMode, completions = 0 }: JobSpec, path: string): FieldError[] {
  if (!successPolicy) return [];
  if (completionMode !== 'Indexed') return [shownAsGo(invalid(path, successPolicy, 'requires indexed completion mode'), successPolicySchema)];
  const rules = successPolicy.rules ?? [];
  return [
    ...(rules.length === 0 ? [required(`${path}.rules`, 'at least one rules must be specified when the successPolicy is specified')] : []),
    ...boundedCount(`${path}.rules`, rules.length, limits.jobRulesMax),
    ...errorsOfEach(rules, (rule, index) => validateSuccessRule(rule, `${path}.rules[${index}]`, completions)),
  ];
}

function validateSuccessRule({ succeededIndexes: indexes, succeededCount: count }: SuccessRule, path: string, completions: number): FieldError[] {
  const { total, problem } = readIndexes(indexes ?? '', completions);
  const parsed = problem === undefined ? total : 0;
  const most = (number: number, what: string) => invalid(`${path}.succeededCount`, count, `must be less than or equal to ${number} (the number of ${what})`);
  return [
    ...(indexes === undefined && count === undefined ? [required(path, 'at least one of succeededCount or succeededIndexes must be specified')] : []),
    ...(Buffer.byteLength(indexes ?? '') > limits.jobIndexesBytesMax ? [tooLong(`${path}.succeededIndexes`, limits.jobIndexesBytesMax)] : []),
    ...(problem === undefined ? [] : [invalid(`${path}.succeededIndexes`, indexes, `error parsing succeededIndexes: ${problem}`)]),
    ...(count !== undefined && count > completions ? [most(completions, 'specified completions')] : []),
    ...(count !== undefined && indexes !== undefined && count > parsed ? [most(parsed, 'indexes in the specified succeededIndexes field')] : []),
  ];
}

function validateReplacement({ podReplacementPolicy: policy, podFailurePolicy }: JobSpec, path: string): FieldError[] {
  const known = podFailurePolicy ? ['Failed'] : ['Failed', 'TerminatingOrFailed'];
  return policy === undefined || known.includes(policy) ? [] : [notSupported(path, policy, known)];
}

const endingPolicies = ['OnFailure', 'Never'];

/** Pods of a job end. */
function validateRestarts({ template, podFailurePolicy }: JobSpec, path: string): FieldError[] {
  const policy: string = template?.spec?.restartPolicy ?? 'Always';
  if (policy === 'Always') return [required(path, 'valid values: "OnFailure", "Never"')];
  if (!endingPolicies.includes(policy)) return [notSupportedOf(path, policy, endingPolicies)];
  return podFailurePolicy && policy !== 'Never' ? [invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')] : [];
}

/** As published, with no name of a product in it. */
const tooMuchToTrack = 'In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, completedIndexes might not be tracked when a big number of indexes fail';

/** Warnings about a job's spec, apart from those about its template. */
export function jobSpecWarnings({ completionMode, completions = 0, parallelism = 0 }: JobSpec, path: string): readonly string[] {
  const large = completionMode === 'Indexed' && completions > limits.jobCompletionsSoftMax && parallelism > limits.jobParallelismOfManyMax;
  return large ? [`${path}: ${tooMuchToTrack}`] : [];
}
