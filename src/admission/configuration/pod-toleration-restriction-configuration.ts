import { decodeConfiguration, requireNoErrors } from '../../codec/configuration-document.ts';
import type { ParsedJson } from '../../codec/json.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { toleration } from '../../kinds/core/pod/toleration.ts';
import { validateTolerations } from '../../kinds/core/pod/validation/toleration-validation.ts';
import { list, opt, struct } from '../../schema/schema.ts';
import type { PodTolerations } from '../plugins/pod-toleration-restriction.ts';

const configuration = struct(
  'plugin.podtolerationrestriction.v1alpha1.Configuration',
  'Tolerations of all namespaces.',
  {
    default: opt(1, list(toleration), 'What pods tolerate.'),
    whitelist: opt(2, list(toleration), 'All that pods may tolerate.'),
  },
);

/** Reads the configuration of the plugin PodTolerationRestriction. */
export function readPodTolerationRestriction(document: ParsedJson, { group }: Dialect): PodTolerations {
  const { default: ofAll = [], whitelist = [] } = decodeConfiguration(document, {
    kind: 'Configuration',
    apiVersions: [`${group('podtolerationrestriction.admission')}/v1alpha1`],
    schema: configuration,
  });
  requireNoErrors([...validateTolerations(ofAll, 'default'), ...validateTolerations(whitelist, 'whitelist')]);
  return { default: ofAll, allowed: whitelist };
}
