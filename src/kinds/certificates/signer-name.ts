import { limits } from '../../base/limits.ts';
import { type FieldError, invalid, required, tooLong } from '../../meta/field-error.ts';
import { isDnsLabel, isDnsSubdomain } from '../../meta/formats.ts';

/** A domain, a slash and `<namespace>.<name>` of an object, which is the longest path that a signer may have. */
const signerNameBytesMax = limits.nameLengthMax + 1 + limits.labelLengthMax + 1 + limits.nameLengthMax;

/** Checks the name of a signer: a domain of two labels or more, a slash, and a path of DNS names separated by dots. */
export function validateSignerName(name: string, field: string): FieldError[] {
  if (name === '') return [required(field)];
  if (Buffer.byteLength(name) > signerNameBytesMax) return [tooLong(field, signerNameBytesMax)];
  const [domain = '', path, ...more] = name.split('/');
  if (path === undefined || more.length > 0) {
    return [invalid(field, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")];
  }
  const labels = domain.split('.');
  const errors = Buffer.byteLength(domain) > limits.nameLengthMax ? [tooLong(field, limits.nameLengthMax)] : [];
  errors.push(...firstBad(labels, isDnsLabel).map((problem) => invalid(field, domain, problem)));
  if (labels.length < 2) {
    errors.push(invalid(field, domain, 'should be a domain with at least two segments separated by dots'));
  }
  errors.push(...firstBad(path.split('.'), isDnsSubdomain).map((problem) => invalid(field, path, problem)));
  return errors;
}

/** Problems of the first label that has any; those of others would be the same. */
function firstBad(labels: readonly string[], problemsOf: (label: string) => readonly string[]): readonly string[] {
  for (const label of labels) {
    const problems = problemsOf(label);
    if (problems.length > 0) return problems.map((problem) => `validating label ${JSON.stringify(label)}: ${problem}`);
  }
  return [];
}
