import { dialects } from '../../dialect/dialects.ts';
import { publishedApiVersions } from '../../dialect/published-api-versions.ts';
import { kinds } from '../../kinds/kinds.ts';
import { checkRuntimeConfig, ignoredKeys, type RuntimeConfig } from '../../resources/runtime-config.ts';
import { named } from './flag-files.ts';
import type { Flag } from './flags.ts';
import type { IgnoredFlag } from './published-flags.ts';

/** `group/version=BOOL,...`; an API without a value is enabled; repeated flags accumulate. */
export const runtimeConfigFlag: Flag<RuntimeConfig> = {
  isSwitch: false,
  placeholder: 'API=BOOL,...',
  help:
    'serves APIs, or does not where BOOL is false: GROUP/VERSION, GROUP/VERSION/RESOURCE (v1 for the core group), api/ga, ' +
    'api/beta, api/alpha, api/all; the most exact one counts',
  default: new Map(),
  defaultText: '',
  parse(value, before) {
    const config = new Map(before);
    for (const item of value.split(',').filter((each) => each.trim() !== '')) {
      const [, api, setting = ''] = /^\s*([^=\s]+)\s*(?:=\s*(true|t|1|false|f|0)?\s*)?$/i.exec(item) ?? [];
      if (api === undefined) throw new Error(`${JSON.stringify(item)} is not of the form API=BOOL,...`);
      config.set(api.replace(/^\//, ''), !/^[f0]/i.test(setting));
    }
    return config;
  },
};

interface RuntimeConfigValues {
  readonly dialect: keyof typeof dialects;
  readonly 'runtime-config': RuntimeConfig;
}

/** Throws a UsageError for an API that no server knows. */
export function readRuntimeConfig({ dialect, 'runtime-config': config }: RuntimeConfigValues): RuntimeConfig {
  named('runtime-config', () => checkRuntimeConfig(config, publishedApiVersions(dialects[dialect])));
  return config;
}

/** Settings of APIs that this server does not have: kube-apiserver has more. */
export function ignoredApis({ dialect, 'runtime-config': config }: RuntimeConfigValues): readonly IgnoredFlag[] {
  if (config.size === 0) return [];
  const names = dialects[dialect];
  return ignoredKeys(kinds(names), config, publishedApiVersions(names)).map((api) => ({
    name: `runtime-config=${api}`,
    because: 'there is no such API here to switch',
  }));
}
