import { errorsOfEach, type FieldError, invalid, required } from '../../../../meta/field-error.ts';
import { type FormatCheck, isDataKey, isDnsSubdomain } from '../../../../meta/formats.ts';
import type { EnvFromSource, EnvVar } from '../container/env.ts';
import { failing } from './field-checks.ts';
import { environmentFields, validateFieldSelector, validateResourceSelector } from './selector-validation.ts';

/** Printable ASCII, including space, without `=`. */
const isVariableName: FormatCheck = (value) =>
  /^[ -<>-~]+$/.test(value)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];

export const validateEnv = (variables: readonly EnvVar[], path: string): FieldError[] =>
  errorsOfEach(variables, (variable, index) => validateVariable(variable, `${path}[${index}]`));

const validateVariable = (variable: EnvVar, path: string): FieldError[] => [
  ...(variable.name ? failing(isVariableName, `${path}.name`, variable.name) : []),
  ...validateValueFrom(variable, `${path}.valueFrom`),
];

function validateValueFrom({ value, valueFrom }: EnvVar, path: string): FieldError[] {
  if (!valueFrom) return [];
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = valueFrom;
  const errors: FieldError[] = [];
  if (fieldRef) errors.push(...validateFieldSelector(fieldRef, `${path}.fieldRef`, environmentFields));
  if (resourceFieldRef)
    errors.push(...validateResourceSelector(resourceFieldRef, `${path}.resourceFieldRef`, 'implied'));
  if (configMapKeyRef) errors.push(...validateKeySelector(configMapKeyRef, `${path}.configMapKeyRef`));
  if (secretKeyRef) errors.push(...validateKeySelector(secretKeyRef, `${path}.secretKeyRef`));
  const problem = choiceProblem(Object.values(valueFrom).length, value);
  return problem === undefined ? errors : [...errors, invalid(path, '', problem)];
}

/** A variable has one source, or a value. `count` is that of the sources. */
function choiceProblem(count: number, value: string | undefined): string | undefined {
  if (count === 0) return 'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`';
  if (value !== undefined) return 'may not be specified when `value` is not empty';
  return count > 1 ? 'may not have more than one field specified at a time' : undefined;
}

const validateKeySelector = (
  { name = '', key }: { readonly name?: string; readonly key?: string },
  path: string,
): FieldError[] => [
  ...failing(isDnsSubdomain, `${path}.name`, name),
  ...(key ? failing(isDataKey, `${path}.key`, key) : []),
];

export const validateEnvFrom = (sources: readonly EnvFromSource[], path: string): FieldError[] =>
  errorsOfEach(sources, (source, index) => [
    ...validateEnvSource(source, `${path}[${index}]`),
    // As in kube-apiserver, these name the list.
    ...(source.configMapRef && source.secretRef
      ? [invalid(path, '', 'may not have more than one field specified at a time')]
      : []),
    ...(source.configMapRef || source.secretRef
      ? []
      : [invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`')]),
  ]);

function validateEnvSource({ prefix, configMapRef, secretRef }: EnvFromSource, path: string): FieldError[] {
  const errors = prefix === undefined ? [] : failing(isVariableName, `${path}.prefix`, prefix);
  if (configMapRef) errors.push(...validateReference(configMapRef, `${path}.configMapRef`));
  if (secretRef) errors.push(...validateReference(secretRef, `${path}.secretRef`));
  return errors;
}

const validateReference = ({ name }: { readonly name?: string }, path: string): FieldError[] =>
  name ? failing(isDnsSubdomain, `${path}.name`, name) : [required(`${path}.name`)];
