import type { Kind } from '../kinds/kind.ts';

/**
 * The kinds that are there with these features, which are the names of those that are on. A kind without its feature is not
 * served; it is stored all the same where another one, which is served, is kept in its form.
 */
export function enabledKinds(kinds: readonly Kind[], features: ReadonlySet<string>): readonly Kind[] {
  const isOn = ({ gate }: Kind): boolean => gate === undefined || features.has(gate);
  const forms = new Set(kinds.filter(isOn).map(({ storedAs }) => storedAs?.kind));
  return kinds
    .filter((kind) => isOn(kind) || forms.has(kind))
    .map((kind) => (isOn(kind) ? kind : { ...kind, served: false }));
}
