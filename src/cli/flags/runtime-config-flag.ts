import { dialects } from '../../dialect/dialects.ts';
import { kinds } from '../../kinds/kinds.ts';
import { type RuntimeConfig, requireServed, unknownKeys } from '../../resources/runtime-config.ts';
import { named } from './flag-files.ts';
import type { Flag } from './flags.ts';
import type { IgnoredFlag } from './published-flags.ts';

/** `group/version=BOOL,...`; an API without a value is enabled; repeated flags accumulate. */
export const runtimeConfigFlag: Flag<RuntimeConfig> = {
  isSwitch: false,
  placeholder: 'API=BOOL,...',
  help:
    'serves APIs that are off by default: GROUP/VERSION, GROUP/VERSION/RESOURCE, or all of a stage by api/alpha, api/beta ' +
    'and api/all',
  default: new Map(),
  defaultText: '',
  parse(value, before) {
    const config = new Map(before);
    for (const item of value.split(',').filter((each) => each.trim() !== '')) {
      const [, api, setting = ''] = /^\s*([^=\s]+)\s*(?:=\s*(true|t|1|false|f|0)?\s*)?$/i.exec(item) ?? [];
      if (api === undefined) throw new Error(`${JSON.stringify(item)} is not of the form API=BOOL,...`);
      config.set(api, !/^[f0]/i.test(setting));
    }
    return config;
  },
};

interface RuntimeConfigValues {
  readonly dialect: keyof typeof dialects;
  readonly 'runtime-config': RuntimeConfig;
}

/** Throws a UsageError if what is served by default would be switched off. */
export function readRuntimeConfig({ dialect, 'runtime-config': config }: RuntimeConfigValues): RuntimeConfig {
  named('runtime-config', () => requireServed(kinds(dialects[dialect]), config));
  return config;
}

/** Settings of APIs that this server does not have: kube-apiserver has more. */
export const ignoredApis = ({ dialect, 'runtime-config': config }: RuntimeConfigValues): readonly IgnoredFlag[] =>
  unknownKeys(kinds(dialects[dialect]), config).map((api) => ({
    name: `runtime-config=${api}`,
    because: 'there is no such API here to switch',
  }));
