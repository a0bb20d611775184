import { type Kind, storesObjects } from '../kinds/kind.ts';
import { isEnabledVersion, type RuntimeConfig } from './runtime-config.ts';

interface EnabledKindsOptions {
  /** Names of enabled feature gates. */
  readonly features: ReadonlySet<string>;
  readonly runtimeConfig: RuntimeConfig;
}

/**
 * The built-in kinds that remain. One whose gate is off, or whose version is not enabled, is removed. It is kept with
 * `served: false` if an enabled kind is stored in its form, or if it is stored and on by default: the server itself works
 * with such objects (namespaces, accounts, roles).
 */
export function enabledKinds(
  kinds: readonly Kind[],
  { features, runtimeConfig }: EnabledKindsOptions,
): readonly Kind[] {
  const passesGate = ({ gate }: Kind): boolean => gate === undefined || features.has(gate);
  const isOn = (kind: Kind): boolean => passesGate(kind) && isEnabledVersion(kind, runtimeConfig);
  const forms = new Set(kinds.filter(isOn).map(({ storedAs }) => storedAs?.kind));
  const isKept = (kind: Kind): boolean =>
    forms.has(kind) || (passesGate(kind) && !kind.offByDefault && !kind.storedAs && storesObjects(kind));
  return kinds
    .filter((kind) => isOn(kind) || isKept(kind))
    .map((kind) => (isOn(kind) ? kind : { ...kind, served: false }));
}
