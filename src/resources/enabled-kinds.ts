import type { Kind } from '../kinds/kind.ts';

/**
 * The kinds that remain under the given enabled feature gates. A kind whose gate is off is removed, or kept with
 * `served: false` if an enabled kind is stored in its form.
 */
export function enabledKinds(kinds: readonly Kind[], features: ReadonlySet<string>): readonly Kind[] {
  const isOn = ({ gate }: Kind): boolean => gate === undefined || features.has(gate);
  const forms = new Set(kinds.filter(isOn).map(({ storedAs }) => storedAs?.kind));
  return kinds
    .filter((kind) => isOn(kind) || forms.has(kind))
    .map((kind) => (isOn(kind) ? kind : { ...kind, served: false }));
}
