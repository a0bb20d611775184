import { type FieldError, invalid } from '../../meta/field-error.ts';
import type { DefinitionVersion } from './custom-resource-definition.ts';

/** Bytes of UTF-8. */
const warningBytesMax = 256;

/** What Go's `unicode.IsPrint` does not accept. */
const unprintable = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

/** Errors of the warning that clients of a deprecated version receive in a header. */
export function deprecationErrors({ deprecated, deprecationWarning }: DefinitionVersion, path: string): FieldError[] {
  if (deprecationWarning === undefined) return [];
  return warningProblems(deprecationWarning, deprecated === true).map((problem) => invalid(`${path}.deprecationWarning`, deprecationWarning, problem));
}

function warningProblems(warning: string, deprecated: boolean): string[] {
  if (!deprecated) return ['can only be set for deprecated versions'];
  const problems: string[] = [];
  if (Buffer.byteLength(warning) > warningBytesMax) problems.push(`must be <= ${warningBytesMax} characters long`);
  if (warning === '') problems.push('must not be an empty string');
  const at = unprintable.exec(warning)?.index;
  if (at !== undefined) {
    const index = Buffer.byteLength(warning.slice(0, at));
    problems.push(`must only contain printable UTF-8 characters; non-printable character found at index ${index}`);
  }
  return problems;
}
