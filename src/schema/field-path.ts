/**
 * Paths of findings, made only when there is something to say. What looks at a value reports paths relative to it;
 * whoever called it puts the step that led there in front. So the usual case, nothing to report, costs no path.
 */

/** A step in front of a relative path: `spec` + `containers[0]`, `containers` + `[0].name`, `name` + ``. */
export function joinPath(step: string, rest: string): string {
  if (rest === '' || step === '') return step + rest;
  return rest.startsWith('[') ? step + rest : `${step}.${rest}`;
}
