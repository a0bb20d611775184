import { ConfigurationError, requireNoErrors } from '../../codec/configuration-document.ts';
import type { ParsedJson } from '../../codec/json.ts';
import { invalid } from '../../meta/field-error.ts';
import { decode } from '../../schema/decode.ts';
import { isRecord } from '../../schema/own-property.ts';
import { map, opt, string, struct } from '../../schema/schema.ts';
import { type PodNodeSelectors, parseNodeSelector } from '../plugins/pod-node-selector.ts';

const configuration = struct('plugin.podnodeselector.Configuration', 'Selectors of namespaces.', {
  podNodeSelectorPluginConfig: opt(1, map(string()), 'Selectors by namespace.'),
});

/** Reads the configuration of the plugin PodNodeSelector, which has no kind. */
export function readPodNodeSelector({ value, duplicates }: ParsedJson): PodNodeSelectors {
  if (!isRecord(value)) throw new ConfigurationError(['expected an object with podNodeSelectorPluginConfig']);
  const decoded = decode(configuration, value);
  const problems = [
    ...duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`),
    ...decoded.unknown.map((path) => `unknown field ${JSON.stringify(path)}`),
    ...decoded.errors.map(({ path, expected, got }) => `${path}: expected ${expected}, got ${got}`),
  ];
  if (problems.length > 0) throw new ConfigurationError(problems);
  const selectors = { ...decoded.value.podNodeSelectorPluginConfig };
  requireNoErrors(
    Object.entries(selectors).flatMap(([name, selector]) => {
      const read = parseNodeSelector(selector);
      return 'problem' in read ? [invalid(`podNodeSelectorPluginConfig[${name}]`, selector, read.problem)] : [];
    }),
  );
  return selectors;
}
