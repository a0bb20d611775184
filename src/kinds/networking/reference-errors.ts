import { type FieldError, required } from '../../meta/field-error.ts';
import { isDnsSubdomain, isPathSegment } from '../../meta/formats.ts';
import { failing } from '../core/pod/validation/field-checks.ts';

interface Reference {
  readonly apiGroup?: string;
  readonly kind?: string;
  readonly name?: string;
}

/** Errors of a reference to an object of any kind. */
export const referenceErrors = ({ apiGroup, kind = '', name = '' }: Reference, path: string): FieldError[] => [
  ...(apiGroup === undefined ? [] : failing(isDnsSubdomain, `${path}.apiGroup`, apiGroup)),
  ...(kind === '' ? [required(`${path}.kind`, 'kind is required')] : failing(isPathSegment, `${path}.kind`, kind)),
  ...(name === '' ? [required(`${path}.name`, 'name is required')] : failing(isPathSegment, `${path}.name`, name)),
];
