import type { Kind } from '../kinds/kind.ts';
import { isEnabledVersion, type RuntimeConfig } from './runtime-config.ts';

interface EnabledKindsOptions {
  /** Names of enabled feature gates. */
  readonly features: ReadonlySet<string>;
  readonly runtimeConfig: RuntimeConfig;
}

/**
 * The built-in kinds that remain. One whose gate is off, or whose version is not enabled, is removed, or kept with `served:
 * false` if an enabled kind is stored in its form.
 */
export function enabledKinds(
  kinds: readonly Kind[],
  { features, runtimeConfig }: EnabledKindsOptions,
): readonly Kind[] {
  const isOn = (kind: Kind): boolean =>
    (kind.gate === undefined || features.has(kind.gate)) && isEnabledVersion(kind, runtimeConfig);
  const forms = new Set(kinds.filter(isOn).map(({ storedAs }) => storedAs?.kind));
  return kinds
    .filter((kind) => isOn(kind) || forms.has(kind))
    .map((kind) => (isOn(kind) ? kind : { ...kind, served: false }));
}
