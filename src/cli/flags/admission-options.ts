import { dirname, resolve } from 'node:path';
import { readAdmissionConfiguration } from '../../admission/configuration/admission-configuration.ts';
import {
  defaultPluginConfigurations,
  type PluginConfigurations,
} from '../../admission/plugins/plugin-configurations.ts';
import { dialects } from '../../dialect/dialects.ts';
import { UsageError } from '../usage-error.ts';
import { isPluginName, readAdmissionPlugins } from './admission-flags.ts';
import { named, readBytes } from './flag-files.ts';
import type { ServerFlagValues } from './server-flags.ts';

const flag = 'admission-control-config-file';

/** Reads how plugins are configured, by flags and by the file that one of them names. */
export function readPluginConfigurations(values: ServerFlagValues): PluginConfigurations {
  const path = values[flag];
  const configurations: PluginConfigurations = {
    ...defaultPluginConfigurations,
    ...(path !== undefined && named(flag, () => readFile(path, values))),
    tolerationSeconds: {
      notReady: values['default-not-ready-toleration-seconds'],
      unreachable: values['default-unreachable-toleration-seconds'],
    },
  };
  if (configurations.eventLimits.length === 0 && readAdmissionPlugins(values).includes('EventRateLimit')) {
    throw new UsageError(`--enable-admission-plugins=EventRateLimit needs limits: see --${flag}`);
  }
  return configurations;
}

const readFile = (path: string, values: ServerFlagValues) =>
  readAdmissionConfiguration(readBytes(path), {
    dialect: dialects[values.dialect],
    readFile: (other) => readBytes(resolve(dirname(path), other)),
    known: isPluginName,
  });
