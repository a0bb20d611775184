import type { Logger } from '../../base/logger.ts';
import { ignoredPluginFlags } from './admission-flags.ts';
import { warnOfAudit } from './audit-options.ts';
import { warnOfGates } from './feature-gate-flag.ts';
import { type IgnoredFlag, warnOfIgnored } from './published-flags.ts';
import { ignoredApis } from './runtime-config-flag.ts';
import type { ServerFlagValues } from './server-flags.ts';

/** Logs which flags of a server do nothing, or not what one might think. `ignored`: published flags that were given and are not ours. */
export function warnOfFlags(values: ServerFlagValues, ignored: readonly IgnoredFlag[], logger: Logger): void {
  warnOfIgnored(logger, [...ignored, ...ignoredPluginFlags(values), ...ignoredApis(values)]);
  warnOfGates(logger, values['feature-gates']);
  warnOfAudit(values, logger);
}
