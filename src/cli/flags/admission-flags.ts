import { defaultPluginConfigurations } from '../../admission/plugins/plugin-configurations.ts';
import { defaultPlugins, enabledPlugins, type PluginName, pluginNames } from '../../admission/plugins.ts';
import { UsageError } from '../usage-error.ts';
import { type Flag, type FlagValues, file, integer, list } from './flags.ts';
import type { IgnoredFlag } from './published-flags.ts';

/** Plugins of kube-apiserver 1.32 that are missing here for one reason. */
export interface AbsentPlugins {
  /** For the log and the documentation: lower case, no full stop. */
  readonly because: string;
  readonly plugins: readonly string[];
}

/** They may be enabled, with a warning each: without them, nothing is admitted that they would refuse. */
export const ignoredPlugins: readonly AbsentPlugins[] = [
  { because: 'it never does anything', plugins: ['AlwaysAdmit'] },
];

/** They may not be enabled: clients would rely on what they refuse or set. */
export const refusedPlugins: readonly AbsentPlugins[] = [
  {
    because: 'pods are not checked by it yet: leave it out where you can do without',
    plugins: ['ImagePolicyWebhook'],
  },
  { because: 'use --authorization-mode=AlwaysDeny', plugins: ['AlwaysDeny'] },
];

/** Whether there is such a plugin, here or in a published server. */
export const isPluginName = (name: string): boolean =>
  isOurs(name) || reasonIn([...ignoredPlugins, ...refusedPlugins], name) !== undefined;

const isOurs = (name: string): name is PluginName => pluginNames.some((each) => each === name);
const reasonIn = (groups: readonly AbsentPlugins[], name: string): string | undefined =>
  groups.find(({ plugins }) => plugins.includes(name))?.because;

/** A flag with a validated list of plugins; repeated flags accumulate. */
function plugins(help: string, check: (name: string) => void): Flag<readonly string[]> {
  const texts = list({ default: [], help });
  return {
    ...texts,
    parse(value, before) {
      const names = texts.parse(value, before);
      for (const name of names) {
        if (!isPluginName(name)) {
          throw new Error(`${JSON.stringify(name)} is not one of ${pluginNames.join(', ')}, nor published`);
        }
        check(name);
      }
      return names;
    },
  };
}

const tolerationSeconds = (taint: 'notReady' | 'unreachable', what: string): Flag<number> =>
  integer({
    min: Number.MIN_SAFE_INTEGER,
    max: Number.MAX_SAFE_INTEGER,
    default: defaultPluginConfigurations.tolerationSeconds[taint],
    help: `seconds that pods stay on a node that is ${what}, unless they say otherwise`,
  });

export const admissionFlags = {
  'admission-control-config-file': file({
    help: 'an AdmissionConfiguration: how EventRateLimit, PodNodeSelector, PodSecurity, PodTolerationRestriction and ResourceQuota are configured',
  }),
  'default-not-ready-toleration-seconds': tolerationSeconds('notReady', 'not ready'),
  'default-unreachable-toleration-seconds': tolerationSeconds('unreachable', 'unreachable'),
  'disable-admission-plugins': plugins(
    `admission plugins that do not run; these run otherwise: ${defaultPlugins.join(', ')}`,
    () => {},
  ),
  'enable-admission-plugins': plugins(
    `admission plugins that run too, of ${pluginNames.join(', ')}; their order here means nothing`,
    (name) => {
      const because = reasonIn(refusedPlugins, name);
      if (because !== undefined) throw new Error(`${name} is refused: ${because}`);
    },
  ),
};

type AdmissionFlagValues = FlagValues<typeof admissionFlags>;

/** The enabled ones of our plugins. */
export function readAdmissionPlugins(values: AdmissionFlagValues): readonly PluginName[] {
  const [enable, disable] = [values['enable-admission-plugins'], values['disable-admission-plugins']];
  const both = enable.filter((name) => disable.includes(name));
  if (both.length > 0) {
    throw new UsageError(`--enable-admission-plugins and --disable-admission-plugins both name ${both.join(', ')}`);
  }
  return enabledPlugins({ enable: enable.filter(isOurs), disable: disable.filter(isOurs) });
}

/** Plugins that were enabled without effect, each once. Disabling a missing plugin needs no warning. */
export const ignoredPluginFlags = (values: AdmissionFlagValues): readonly IgnoredFlag[] =>
  [...new Set(values['enable-admission-plugins'])].flatMap((name) => {
    const because = reasonIn(ignoredPlugins, name);
    return because === undefined ? [] : [{ name: `enable-admission-plugins=${name}`, because }];
  });
