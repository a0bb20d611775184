/**
 * The plugins by their published names, in the order in which they run, and whether they are on unless a flag says
 * otherwise. The order of the flags means nothing.
 */
const defaults = {
  NamespaceLifecycle: true,
  ServiceAccount: true,
  // Off in published servers; but the mode Node, which is on here, does not look at what nodes write.
  NodeRestriction: true,
  OwnerReferencesPermissionEnforcement: false,
} as const;

export type PluginName = keyof typeof defaults;

/** In the order in which they run. */
export const pluginNames = Object.keys(defaults) as PluginName[];

export const defaultPlugins: readonly PluginName[] = pluginNames.filter((name) => defaults[name]);

/** Which plugins run, in their order. Nothing is both enabled and disabled: callers check that. */
export const enabledPlugins = ({
  enable,
  disable,
}: {
  readonly enable: readonly PluginName[];
  readonly disable: readonly PluginName[];
}): readonly PluginName[] =>
  pluginNames.filter((name) => (defaults[name] && !disable.includes(name)) || enable.includes(name));
