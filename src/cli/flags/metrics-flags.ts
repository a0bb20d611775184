import { readWhole } from '../../base/files.ts';
import type { AllowedValues, MetricsOptions } from '../../base/metrics.ts';
import { parseYaml } from '../../codec/yaml.ts';
import { publishedRelease } from '../../dialect/published-release.ts';
import { named } from './flag-files.ts';
import { type Flag, file, list } from './flags.ts';

const previousRelease = publishedRelease.replace(/\d+$/, (minor) => String(Number(minor) - 1));

const showHidden: Flag<string | undefined> = {
  placeholder: 'MAJOR.MINOR',
  help: `show the metrics that were hidden after this release, which is the one before (${previousRelease})`,
  default: undefined,
  defaultText: '',
  isSwitch: false,
  parse(text) {
    if (text === '' || text === previousRelease) return text;
    throw new Error(
      `must be omitted or have the value '${previousRelease}': only the previous minor version is allowed`,
    );
  },
};

/** Values by `<metric>,<label>`. */
type AllowedLists = ReadonlyMap<string, string>;

const allowMetricLabels: Flag<AllowedLists> = {
  placeholder: "METRIC,LABEL='VALUE,...'",
  help: 'the only values that a label of a metric may have; others become "unexpected". More than one: each in double quotes',
  default: new Map(),
  defaultText: '',
  isSwitch: false,
  parse(text, before) {
    const lists = new Map(before);
    for (const pair of pairsOf(text)) {
      const at = pair.indexOf('=');
      if (at < 0) throw new Error(`${JSON.stringify(pair)} must be formatted as key=value`);
      lists.set(pair.slice(0, at).trim(), unquoted(pair.slice(at + 1).trim()));
    }
    requireKeys(lists);
    return lists;
  },
};

/** A single pair needs no quotes, as in kube-apiserver. */
function pairsOf(text: string): readonly string[] {
  if (text.split('=').length <= 2) return text === '' ? [] : [text.replace(/^"|"$/g, '')];
  const parts = /^\s*(?:"[^"]*"|[^,"'=]+,[^,"'=]+='[^']*')(?:\s*,\s*(?:"[^"]*"|[^,"'=]+,[^,"'=]+='[^']*'))*\s*$/;
  if (!parts.test(text)) throw new Error(`${JSON.stringify(text)} is not a list of "METRIC,LABEL=VALUE,..." in quotes`);
  return (text.match(/"[^"]*"|[^,"'=\s]+,[^,"'=]+='[^']*'/g) ?? []).map((part) => part.replace(/^"|"$/g, ''));
}

const unquoted = (text: string): string => (/^'.*'$/s.test(text) ? text.slice(1, -1) : text);

function requireKeys(lists: AllowedLists): void {
  for (const key of lists.keys()) {
    if (/^[a-zA-Z_:][a-zA-Z0-9_:]*,[a-zA-Z_][a-zA-Z0-9_]*$/.test(key)) continue;
    throw new Error(`${JSON.stringify(key)} is not of the form METRIC,LABEL`);
  }
}

const disabledMetrics: Flag<readonly string[]> = {
  ...list({ placeholder: 'NAME,...', default: [], help: 'metrics that are not shown, by full name' }),
  parse(text, before) {
    const names = text === '' ? [] : text.split(',');
    const wrong = names.find((name) => !/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name));
    if (wrong !== undefined) throw new Error(`${JSON.stringify(wrong)} is not the full name of a metric`);
    return [...(before ?? []), ...names];
  },
};

/** What is shown of the metrics (spec section 9), for every command that has some. */
export const metricsFlags = {
  'allow-metric-labels': allowMetricLabels,
  'allow-metric-labels-manifest': file({
    help: 'a file (YAML) with the same: a map of METRIC,LABEL to VALUE,...; --allow-metric-labels replaces it',
  }),
  'disabled-metrics': disabledMetrics,
  'show-hidden-metrics-for-version': showHidden,
} as const;

interface MetricsValues {
  readonly 'allow-metric-labels': AllowedLists;
  readonly 'allow-metric-labels-manifest': string | undefined;
  readonly 'disabled-metrics': readonly string[];
  readonly 'show-hidden-metrics-for-version': string | undefined;
}

/** Throws a UsageError for a manifest that cannot be read. */
export function readMetrics(values: MetricsValues): MetricsOptions {
  const { 'allow-metric-labels': given, 'allow-metric-labels-manifest': path } = values;
  // Read in any case: a broken file is an error even where the flag replaces it.
  const manifest = path === undefined ? new Map() : named('allow-metric-labels-manifest', () => readManifest(path));
  return {
    release: publishedRelease,
    showHidden: Boolean(values['show-hidden-metrics-for-version']),
    disabled: new Set(values['disabled-metrics']),
    allowedValues: allowedValues(given.size > 0 ? given : manifest),
  };
}

function readManifest(path: string): AllowedLists {
  const { value, duplicates } = parseYaml(readWhole(path));
  if (duplicates.length > 0) throw new Error(`${path}: ${duplicates[0]} is there twice`);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${path} is not a map`);
  const lists = new Map<string, string>();
  for (const [key, list] of Object.entries(value)) {
    if (typeof list !== 'string') throw new Error(`${path}: the values of ${JSON.stringify(key)} are not text`);
    lists.set(key, list);
  }
  requireKeys(lists);
  return lists;
}

function allowedValues(lists: AllowedLists): AllowedValues {
  const allowed = new Map<string, Map<string, ReadonlySet<string>>>();
  for (const [key, list] of lists) {
    const [metric = '', label = ''] = key.split(',');
    const labels = allowed.get(metric) ?? new Map<string, ReadonlySet<string>>();
    allowed.set(metric, labels.set(label, new Set(list.split(',').map((value) => value.trim()))));
  }
  return allowed;
}
