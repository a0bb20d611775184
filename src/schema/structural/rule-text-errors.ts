import { schemaExtensions } from '../../dialect/schema-extensions.ts';
import { type FieldError, invalid, notSupported, required } from '../../meta/field-error.ts';
import { isRecord } from '../own-property.ts';
import { resolveFieldPath } from '../rules/rule-field-path.ts';
import { additionalOf, anyTextOf, hasSchemas, type JsonSchema, memberOf, namedSchemaIn } from './json-schema.ts';

const reasons = ['FieldValueRequired', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueDuplicate'];

const hasLineBreak = (text: string): boolean => /[\n\r]/.test(text);

/** The rules of a schema as they were sent; whatever is no object counts as an empty one. */
export function rulesIn(schema: JsonSchema): readonly JsonSchema[] {
  const rules = memberOf(schema, schemaExtensions.validations);
  return Array.isArray(rules) ? rules.map((rule) => (isRecord(rule) ? rule : {})) : [];
}

/** What is wrong with the rules of a schema, apart from their expressions. Messages are those of kube-apiserver 1.32. */
export const ruleTextErrors = (schema: JsonSchema, path: string): readonly FieldError[] =>
  rulesIn(schema).flatMap((rule, index) => {
    const at = `${path}.${schemaExtensions.validations}[${index}]`;
    return [...messageErrors(rule, at), ...reasonErrors(rule, at), ...fieldPathErrors(rule, schema, at)];
  });

function messageErrors(rule: JsonSchema, at: string): FieldError[] {
  const source = (anyTextOf(rule, 'rule') ?? '').trim();
  const message = anyTextOf(rule, 'message') ?? '';
  const errors = sourceErrors(source, message, at);
  const expression = anyTextOf(rule, 'messageExpression') ?? '';
  if (expression !== '' && expression.trim() === '') {
    errors.push(required(`${at}.messageExpression`, 'messageExpression must be non-empty if specified'));
  }
  return errors;
}

function sourceErrors(source: string, message: string, at: string): FieldError[] {
  const shown = message.trim();
  if (source === '') return [required(`${at}.rule`, 'rule is not specified')];
  if (message !== '' && shown === '') {
    return [invalid(`${at}.message`, message, 'message must be non-empty if specified')];
  }
  if (hasLineBreak(shown)) return [invalid(`${at}.message`, message, 'message must not contain line breaks')];
  if (hasLineBreak(source) && shown === '') {
    return [required(`${at}.message`, 'message must be specified if rule contains line breaks')];
  }
  return [];
}

function reasonErrors(rule: JsonSchema, at: string): FieldError[] {
  const reason = anyTextOf(rule, 'reason');
  return reason === undefined || reasons.includes(reason) ? [] : [notSupported(`${at}.reason`, reason, reasons)];
}

function fieldPathErrors(rule: JsonSchema, schema: JsonSchema, at: string): FieldError[] {
  const fieldPath = anyTextOf(rule, 'fieldPath') ?? '';
  if (fieldPath === '') return [];
  const problems = [
    ...(fieldPath.trim() === '' ? ['fieldPath must be non-empty if specified'] : []),
    ...(hasLineBreak(fieldPath) ? ['fieldPath must not contain line breaks'] : []),
    ...(resolveFieldPath(fieldPath, schema, partOf) === undefined ? ['fieldPath must be a valid path'] : []),
  ];
  return problems.map((problem) => invalid(`${at}.fieldPath`, fieldPath, problem));
}

function partOf(schema: JsonSchema, name: string) {
  if (hasSchemas(schema, 'properties')) {
    const field = namedSchemaIn(schema, 'properties', name);
    return field && { at: field, isKey: false };
  }
  const additional = additionalOf(schema);
  return typeof additional === 'object' ? { at: additional, isKey: true } : undefined;
}
