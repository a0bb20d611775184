/**
 * Field paths of errors. A check reports paths relative to the value it checks; each caller prepends its own step. So a
 * valid value costs no path building.
 */

/** Prepends a step to a relative path: `spec` + `containers[0]`, `containers` + `[0].name`, `name` + ``. */
export function joinPath(step: string, rest: string): string {
  if (rest === '' || step === '') return step + rest;
  return rest.startsWith('[') ? step + rest : `${step}.${rest}`;
}
