import type { FieldError } from '../meta/field-error.ts';

/** The errors of a validation, or a promise of them where it takes long or has to load something. */
export type Validation = readonly FieldError[] | Promise<readonly FieldError[]>;

/** The errors of several validations, in order. A promise only if one of them is a promise: most writes wait for none. */
export function allErrors(...validations: readonly (Validation | undefined)[]): Validation {
  const found: FieldError[] = [];
  for (let at = 0; at < validations.length; at++) {
    const errors = validations[at];
    if (errors instanceof Promise) {
      return Promise.all([found, ...validations.slice(at)]).then((all) => all.flatMap((each) => each ?? []));
    }
    if (errors) found.push(...errors);
  }
  return found;
}
