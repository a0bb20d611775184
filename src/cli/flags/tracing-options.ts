import { dialects } from '../../dialect/dialects.ts';
import { readTracingConfiguration, type TracingSettings } from '../../outbound/tracing/tracing-configuration.ts';
import { UsageError } from '../usage-error.ts';
import { named, readBytes } from './flag-files.ts';
import type { ServerFlagValues } from './server-flags.ts';

const flag = 'tracing-config-file';

/** Reads the configuration of traces. Undefined if there are none. */
export function readTracing(values: ServerFlagValues): TracingSettings | undefined {
  const path = values[flag];
  if (path === undefined) return undefined;
  if (!values['feature-gates'].features.APIServerTracing) {
    throw new UsageError(`--${flag}: APIServerTracing feature is not enabled, but tracing config file was provided`);
  }
  return named(flag, () => readTracingConfiguration(readBytes(path), dialects[values.dialect]));
}
