import { limits } from '../../base/limits.ts';
import { duplicate, errorsOfEach, type FieldError, invalid, invalidTexts, notSupported, required } from '../../meta/field-error.ts';
import { isQualifiedName } from '../../meta/formats.ts';
import { parseJsonPath } from '../../meta/json-path.ts';
import { conditionsErrors } from '../meta/condition.ts';
import { allErrors, type Validation } from '../validation.ts';
import { conditionChecks, conditionErrors, keepsConditions } from './condition-errors.ts';
import { type ExpressionCheck, expressionErrors } from './expression-errors.ts';
import { failurePolicyErrors, matchConstraintsErrors, matchResourcesErrors, paramKindErrors, paramRefErrors, policyNameErrors, variableChecks, variablesErrors } from './policy-errors.ts';
import type { ValidatingBindingSpec, ValidatingPolicySpec, ValidatingPolicyStatus } from './validating-policy-schema.ts';

type Rule = NonNullable<ValidatingPolicySpec['validations']>[number];
type AuditAnnotation = NonNullable<ValidatingPolicySpec['auditAnnotations']>[number];

/** Errors of a policy with this name, in the words of kube-apiserver 1.32. */
export function validatingPolicyErrors(name: string, spec: ValidatingPolicySpec, stored: ValidatingPolicySpec | undefined): Validation {
  const { paramKind, matchConstraints, matchConditions = [], variables = [], failurePolicy } = spec;
  const hasParams = paramKind !== undefined;
  const hasVariables = variables.length > 0;
  const conditionsPath = 'spec.matchConditions';
  const conditions = stored && keepsConditions(spec, stored) ? [] : matchConditions;
  return allErrors(
    failurePolicyErrors(failurePolicy),
    paramKind && paramKindErrors(paramKind, 'spec.paramKind'),
    matchConstraintsErrors(matchConstraints),
    conditionErrors(conditions, conditionsPath),
    variablesErrors(variables),
    rulesErrors(name, spec),
    expressionErrors(conditionChecks(conditions, conditionsPath), { hasParams }),
    expressionErrors([...variableChecks(variables), ...ruleChecks(spec)], { hasParams, hasVariables }),
  );
}

function rulesErrors(name: string, { validations = [], auditAnnotations = [] }: ValidatingPolicySpec): FieldError[] {
  if (validations.length === 0 && auditAnnotations.length === 0) {
    const detail = 'validations or auditAnnotations must contain at least one item';
    return [required('spec.validations', detail), required('spec.auditAnnotations', detail)];
  }
  return [...errorsOfEach(validations, (rule, index) => ruleTextErrors(rule, `spec.validations[${index}]`)), ...annotationsErrors(name, auditAnnotations)];
}

const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];

function ruleTextErrors({ expression = '', message = '', messageExpression = '', reason }: Rule, path: string): FieldError[] {
  return [
    ...(expression.trim() === '' ? [required(`${path}.expression`, 'expression is not specified')] : []),
    ...(isBlank(messageExpression) ? [invalid(`${path}.messageExpression`, messageExpression, 'must be non-empty if specified')] : []),
    ...(isBlank(message) ? [invalid(`${path}.message`, message, 'message must be non-empty if specified')] : []),
    ...(/[\n\r]/.test(message.trim()) ? [invalid(`${path}.message`, message, 'message must not contain line breaks')] : []),
    ...(reason === undefined || reasons.includes(reason) ? [] : [notSupported(`${path}.reason`, reason, reasons)]),
  ];
}

const isBlank = (text: string): boolean => text !== '' && text.trim() === '';

/** The annotations as Go prints them. */
function annotationsAsGo(annotations: readonly AuditAnnotation[]): string {
  const type = 'admissionregistration.AuditAnnotation';
  const each = annotations.map(({ key = '', valueExpression = '' }) => `${type}{Key:${JSON.stringify(key)}, ValueExpression:${JSON.stringify(valueExpression)}}`);
  return `[]${type}{${each.join(', ')}}`;
}

function annotationsErrors(name: string, annotations: readonly AuditAnnotation[]): FieldError[] {
  const path = 'spec.auditAnnotations';
  const keys = new Set<string>();
  const errors = errorsOfEach(annotations, ({ key = '', valueExpression = '' }, index) => {
    const at = `${path}[${index}]`;
    const isDuplicate = keys.has(key);
    keys.add(key);
    return [...keyErrors(name, key, `${at}.key`), ...valueErrors(valueExpression, `${at}.valueExpression`), ...(isDuplicate ? [duplicate(`${at}.key`, key)] : [])];
  });
  if (annotations.length <= limits.policyAnnotationsMax) return errors;
  const detail = `must not have more than ${limits.policyAnnotationsMax} auditAnnotations`;
  return [{ ...invalid(path, annotations, detail), shown: annotationsAsGo(annotations) }, ...errors];
}

function keyErrors(name: string, key: string, path: string): FieldError[] {
  if (name === '') return [invalid(path, key, 'requires metadata.name be non-empty')];
  const full = `${name}/${key}`;
  return isQualifiedName(full).map((problem) => invalid(path, full, problem));
}

function valueErrors(expression: string, path: string): FieldError[] {
  const trimmed = expression.trim();
  if (trimmed === '') return [required(path, 'valueExpression is not specified')];
  return isTooLong(trimmed) ? [required(path, `must not exceed ${limits.policyAnnotationExpressionMax} bytes in length`)] : [];
}

const isTooLong = (expression: string): boolean => Buffer.byteLength(expression) > limits.policyAnnotationExpressionMax;

function ruleChecks({ validations = [], auditAnnotations = [] }: ValidatingPolicySpec): readonly ExpressionCheck[] {
  const checks: ExpressionCheck[] = [];
  for (const [index, { expression = '', messageExpression = '' }] of validations.entries()) {
    const path = `spec.validations[${index}]`;
    checks.push({ path: `${path}.expression`, source: expression, role: 'condition' }, { path: `${path}.messageExpression`, source: messageExpression, role: 'message' });
  }
  for (const [index, { valueExpression = '' }] of auditAnnotations.entries()) {
    const source = valueExpression.trim();
    if (!isTooLong(source)) checks.push({ path: `spec.auditAnnotations[${index}].valueExpression`, source, role: 'auditAnnotation' });
  }
  return checks.filter(({ source }) => source.trim() !== '');
}

const actions = ['Audit', 'Deny', 'Warn'];

/** Errors of a binding, in the words of kube-apiserver 1.32. */
export function validatingBindingErrors({ policyName = '', paramRef, matchResources, validationActions = [] }: ValidatingBindingSpec): FieldError[] {
  return [
    ...policyNameErrors(policyName, 'spec.policyName'),
    ...paramRefErrors(paramRef, 'spec.paramRef'),
    ...matchResourcesErrors(matchResources, 'spec.matchResources'),
    ...actionsErrors(validationActions, 'spec.validationActions'),
  ];
}

function actionsErrors(given: readonly string[], path: string): FieldError[] {
  if (given.length === 0) return [required(path, 'at least one validation action is required')];
  const seen = new Set<string>();
  const errors = errorsOfEach(given, (action, index) => {
    const at = `${path}[${index}]`;
    const isDuplicate = seen.has(action);
    seen.add(action);
    return [...(actions.includes(action) ? [] : [notSupported(at, action, actions)]), ...(isDuplicate ? [duplicate(at, action)] : [])];
  });
  if (!seen.has('Deny') || !seen.has('Warn')) return errors;
  const detail = 'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)';
  return [...errors, invalidTexts(path, given, detail, 'admissionregistration.ValidationAction')];
}

/** Errors of the status that an update sets. */
export function policyStatusErrors({ typeChecking, conditions = [] }: ValidatingPolicyStatus): FieldError[] {
  const { expressionWarnings = [] } = typeChecking ?? {};
  const warnings = errorsOfEach(expressionWarnings, ({ fieldRef = '', warning = '' }, index) => {
    const path = `status.typeChecking.expressionWarnings[${index}]`;
    return [...(warning === '' ? [required(`${path}.warning`)] : []), ...fieldRefErrors(fieldRef.trim(), `${path}.fieldRef`)];
  });
  return [...warnings, ...conditionsErrors(conditions, 'status.conditions')];
}

function fieldRefErrors(fieldRef: string, path: string): FieldError[] {
  if (fieldRef === '') return [required(path)];
  try {
    parseJsonPath(/^[.[$@]/.test(fieldRef) ? fieldRef : `.${fieldRef}`);
    return [];
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return [invalid(path, fieldRef, `invalid JSONPath: ${error.message}`)];
  }
}
