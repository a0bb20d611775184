import { isDeepStrictEqual } from 'node:util';
import { jsonText } from '../base/json-text.ts';
import { limits } from '../base/limits.ts';
import { duplicate, type FieldError, forbidden, invalid, required } from '../meta/field-error.ts';
import { type FormatCheck, isLabelValue, isQualifiedName } from '../meta/formats.ts';
import { all, type Check, checkPart, type Finding } from './check.ts';
import { goText } from './go-text.ts';
import type { Dependency, Freeze, Problem, Union, Unique } from './markers.ts';
import { getOwn, isRecord } from './own-property.ts';
import { type Field, type ListSchema, type Schema, type StructSchema, schemaOf } from './schema.ts';

type RecordCheck = Check<Record<string, unknown>>;

/** The error that a marker specifies. */
function problemError({ type, detail, shows }: Problem, value: unknown): FieldError {
  switch (type) {
    case 'required':
      return required('', detail);
    case 'forbidden':
      return forbidden('', detail);
    case 'invalid':
      return invalid('', shows === 'value' ? value : '', detail);
  }
}

/** The check of the markers of a struct and of its fields; undefined if there are none. */
export const compileStructMarkers = (struct: StructSchema): RecordCheck | undefined =>
  all(
    struct.union && compileUnion(struct.name, struct.union),
    struct.selects === 'labels' ? checkLabelSelector : undefined,
    ...Object.entries(struct.fields).flatMap(([name, field]) => [
      field.requiredWith && compileRequiredWith(name, field.requiredWith),
      field.onlyWith && compileOnlyWith(name, field.onlyWith),
    ]),
  );

export const hasStructMarkers = ({ union, selects, fields }: StructSchema): boolean =>
  union !== undefined ||
  selects !== undefined ||
  Object.values(fields).some(({ requiredWith, onlyWith }) => requiredWith ?? onlyWith);

function compileUnion(structName: string, union: Union): RecordCheck {
  const { fields, title = unionTitle(structName), none, shownAs = {} } = union;
  const further = `may not specify more than 1 ${title} type`;
  return (value, findings) => {
    const set = fields.filter((field) => (getOwn(value, field) ?? null) !== null);
    if (set.length === 0 && none) findings.push(problemError(none, value));
    for (const field of set.slice(1)) findings.push(forbidden(shownAs[field] ?? field, further));
  };
}

/** `api.core.v1.VolumeSource` -> `volume`. */
function unionTitle(structName: string): string {
  const last = structName.slice(structName.lastIndexOf('.') + 1).replace(/Source$/, '');
  return last.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}

const isSet = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  value !== false &&
  value !== '' &&
  !(Array.isArray(value) && value.length === 0);

function compileRequiredWith(name: string, { fields, detail }: Dependency): RecordCheck {
  return (value, findings) => {
    if ((getOwn(value, name) ?? null) !== null || !fields.some((field) => isSet(getOwn(value, field)))) return;
    findings.push(required(name, detail));
  };
}

function compileOnlyWith(name: string, { fields, detail = '' }: Dependency): RecordCheck {
  return (value, findings) => {
    if (!isSet(getOwn(value, name)) || fields.some((field) => isSet(getOwn(value, field)))) return;
    findings.push(forbidden(name, detail));
  };
}

/** Validates a label selector, with the messages that kube-apiserver has for all kinds. */
function checkLabelSelector({ matchLabels, matchExpressions }: Record<string, unknown>, findings: Finding[]): void {
  for (const [key, value] of Object.entries(isRecord(matchLabels) ? matchLabels : {})) {
    if (findings.length >= limits.findingsMax) return;
    checkText(isQualifiedName, 'matchLabels', key, findings);
    checkText(isLabelValue, 'matchLabels', value, findings);
  }
  for (const [index, each] of (Array.isArray(matchExpressions) ? matchExpressions : []).entries()) {
    if (findings.length >= limits.findingsMax) return;
    checkPart(checkExpression, each, findings, `matchExpressions[${index}]`);
  }
}

function checkText(format: FormatCheck, field: string, value: unknown, findings: Finding[]): void {
  for (const problem of format(String(value))) findings.push(invalid(field, value, problem));
}

const checkExpression: Check = (expression, findings) => {
  const { key = '', operator = '', values } = isRecord(expression) ? expression : {};
  const texts: readonly unknown[] = Array.isArray(values) ? values : [];
  findings.push(...operatorErrors(operator, texts.length));
  checkText(isQualifiedName, 'key', key, findings);
  for (const [index, value] of texts.entries()) {
    if (findings.length >= limits.findingsMax) return;
    checkText(isLabelValue, `values[${index}]`, value, findings);
  }
};

/** Checks the operator and the number of its values. */
function operatorErrors(operator: unknown, count: number): readonly FieldError[] {
  switch (operator) {
    case 'In':
    case 'NotIn':
      return count > 0 ? [] : [required('values', "must be specified when `operator` is 'In' or 'NotIn'")];
    case 'Exists':
    case 'DoesNotExist':
      return count === 0
        ? []
        : [forbidden('values', "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
    default:
      return [invalid('operator', operator, 'not a valid selector operator')];
  }
}

/** The uniqueness rule of a list; undefined if there is none. */
export function uniqueOf({ unique, listType, mapKeys = [], duplicatesAllowed }: ListSchema): Unique | undefined {
  if (unique || duplicatesAllowed || listType === 'atomic') return unique;
  return { by: listType === 'set' ? [] : mapKeys };
}

export function compileUnique({ by, at, shows, detail = '' }: Unique): UniquenessCheck {
  const place = by.length === 1 && at === undefined ? `.${by[0]}` : '';
  return () => {
    const seen = new Set<string>();
    return (item, index, findings) => {
      const keys = keysOf(item, by);
      if (!keys) return;
      const text = jsonText(keys);
      if (seen.has(text)) {
        const value = shows === 'element' ? item : shows === 'firstKey' ? keys[0] : shownKeys(by, keys);
        findings.push({ ...duplicate(`[${index}]${place}`, value), detail });
      }
      seen.add(text);
    };
  };
}

/** Begins a list, whose items are then looked at one after the other. */
type UniquenessCheck = () => (item: unknown, index: number, findings: FieldError[]) => void;

/** The key values of an element. Undefined if a single key is missing, which is a different error. */
function keysOf(item: unknown, by: readonly string[]): readonly unknown[] | undefined {
  if (by.length === 0) return [item];
  if (!isRecord(item)) return undefined;
  const keys = by.map((key) => getOwn(item, key) ?? null);
  return keys.length === 1 && keys[0] === null ? undefined : keys;
}

const shownKeys = (by: readonly string[], keys: readonly unknown[]): unknown =>
  keys.length === 1 ? keys[0] : Object.fromEntries(by.map((key, index) => [key, keys[index]]));

/** The update check of a field; undefined if the field is mutable. */
export function compileImmutable(field: Field): ((value: unknown, old: unknown) => readonly FieldError[]) | undefined {
  const { immutable } = field;
  if (!immutable) return undefined;
  const when = immutable === true ? 'onceSet' : immutable === 'always' ? 'always' : immutable.when;
  const problem: Problem =
    typeof immutable === 'object'
      ? immutable.problem
      : { type: 'invalid', detail: 'field is immutable', shows: 'value' };
  const absent = schemaOf(field).type === 'string' && when === 'always' ? '' : null;
  return (value = null, old = null) => {
    if ((old === null && when === 'onceSet') || isDeepStrictEqual(value, old)) return [];
    const error = problemError(problem, value ?? absent);
    const isWhole =
      problem.type === 'invalid' && problem.shows === 'value' && isRecord(value) && isPrinted(schemaOf(field));
    return [isWhole ? { ...error, shown: goText(schemaOf(field), value) } : error];
  };
}

/** Values whose parts are named by a schema. */
const isPrinted = ({ type, structural }: Schema): boolean => !structural && (type === 'struct' || type === 'map');

export function compileFreeze({
  by,
  fields,
}: Freeze): (
  value: Readonly<Record<string, unknown>>,
  old: Readonly<Record<string, unknown>>,
) => readonly FieldError[] {
  const detail = `field is immutable when \`${by}\` is set`;
  return (value, old) => {
    if (getOwn(old, by) !== true) return [];
    return [by, ...fields]
      .filter((name) => !isDeepStrictEqual(plain(getOwn(value, name)), plain(getOwn(old, name))))
      .map((name) => forbidden(name, detail));
  };
}

/** Normalizes for comparison: an absent object equals an empty one, and a null prototype makes no difference. */
const plain = (value: unknown): unknown => (isRecord(value) || value === undefined ? { ...Object(value) } : value);
