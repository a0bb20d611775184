import { decodeConfiguration, requireNoErrors } from '../../codec/configuration-document.ts';
import type { ParsedJson } from '../../codec/json.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { type FieldError, invalid, notSupported } from '../../meta/field-error.ts';
import { always, type Infer, int32, list, opt, string, struct } from '../../schema/schema.ts';
import { type EventLimit, eventLimitTypes } from '../plugins/event-limits.ts';

const limit = struct('plugin.eventratelimit.v1alpha1.Limit', 'A limit of events.', {
  type: always(1, string(), 'What events are counted for.'),
  qps: always(2, int32(), 'Events per second, on average.'),
  burst: always(3, int32(), 'Events at once.'),
  cacheSize: opt(4, int32(), 'Keys that are counted for.'),
});

const configuration = struct('plugin.eventratelimit.v1alpha1.Configuration', 'Limits of events.', {
  limits: always(1, list(limit), 'The limits, which all hold.'),
});

const defaultCacheSize = 4096;

/** Reads a Configuration of the plugin EventRateLimit. */
export function readEventRateLimit(document: ParsedJson, dialect: Dialect): readonly EventLimit[] {
  const { limits = [] } = decodeConfiguration(document, {
    kind: 'Configuration',
    apiVersions: [`${dialect.group('eventratelimit.admission')}/v1alpha1`],
    schema: configuration,
  });
  requireNoErrors(limits.length === 0 ? [invalid('limits', [], 'must not be empty')] : limits.flatMap(checkLimit));
  return limits.map(({ type, qps = 0, burst = 0, cacheSize }) => ({
    type: type as EventLimit['type'],
    ...{ qps, burst },
    cacheSize: cacheSize || defaultCacheSize,
  }));
}

function checkLimit({ type = '', qps = 0, burst = 0, cacheSize = 0 }: Infer<typeof limit>, at: number): FieldError[] {
  const field = `limits[${at}]`;
  return [
    ...(eventLimitTypes.some((each) => each === type) ? [] : [notSupported(`${field}.type`, type, eventLimitTypes)]),
    ...(burst > 0 ? [] : [invalid(`${field}.burst`, burst, 'must be positive')]),
    ...(qps > 0 ? [] : [invalid(`${field}.qps`, qps, 'must be positive')]),
    ...(cacheSize >= 0 || type === 'Server' ? [] : [invalid(`${field}.cacheSize`, cacheSize, 'must not be negative')]),
  ];
}
