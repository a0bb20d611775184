import type { Dialect } from '../../dialect/dialect.ts';
import { systemConfigMapNames } from '../../dialect/system-config-map-names.ts';
import { formatTime } from '../../meta/time.ts';
import type { SystemConfigMap } from './system-config-maps.ts';

/**
 * Since when the last use of service account tokens in secrets is recorded (KEP-2799): who removes unused ones counts from that day.
 */
export const legacyTokenTracking = (dialect: Dialect, now: () => number): SystemConfigMap => ({
  name: systemConfigMapNames(dialect).legacyTokens,
  data: (found) => (isDay(found['since']) ? found : { ...found, since: formatTime(now()).slice(0, dayLength) }),
});

/** `2026-01-31` */
const isDay = (text = ''): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
const dayLength = 10;
