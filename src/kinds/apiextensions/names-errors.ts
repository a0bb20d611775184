import { limits } from '../../base/limits.ts';
import { boundedCount, errorsOfEach, type FieldError, invalid, required } from '../../meta/field-error.ts';
import { isDns1035Label } from '../../meta/formats.ts';
import type { DefinitionNames } from './custom-resource-definition.ts';

/** Errors of names that are there: those of a definition at `spec.names`, accepted ones at `status.acceptedNames`. */
export function namesErrors(names: DefinitionNames, path: string): FieldError[] {
  const { plural = '', singular = '', kind = '', listKind = '', shortNames = [], categories = [] } = names;
  const labels = (field: string, values: readonly string[]): FieldError[] => [
    ...boundedCount(`${path}.${field}`, values.length, limits.definitionListMax),
    ...errorsOfEach(values, (value, index) => labelErrors(`${path}.${field}[${index}]`, value, value)),
  ];
  return [
    ...(plural === '' ? [] : labelErrors(`${path}.plural`, plural, plural)),
    ...(singular === '' ? [] : labelErrors(`${path}.singular`, singular, singular)),
    ...kindErrors(`${path}.kind`, kind),
    ...kindErrors(`${path}.listKind`, listKind),
    ...labels('shortNames', shortNames),
    ...(kind !== '' && kind === listKind ? [invalid(`${path}.listKind`, listKind, 'kind and listKind may not be the same')] : []),
    ...labels('categories', categories),
  ];
}

/** The names that a definition must have; singular and listKind have defaults unless there is no kind. */
export const missingNames = (names: DefinitionNames, path: string): FieldError[] =>
  (['plural', 'singular', 'kind', 'listKind'] as const).filter((name) => (names[name] ?? '') === '').map((name) => required(`${path}.${name}`));

const kindErrors = (path: string, kind: string): FieldError[] => (kind === '' ? [] : labelErrors(path, kind, kind.toLowerCase(), 'may have mixed case, but should otherwise match: '));

function labelErrors(path: string, value: string, label: string, introduction = ''): FieldError[] {
  const problems = isDns1035Label(label);
  return problems.length === 0 ? [] : [invalid(path, value, `${introduction}${problems.join(',')}`)];
}
