import type { Dialect } from '../../dialect/dialect.ts';
import { asPod } from '../../kinds/core/pod/pod-schema.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { isLabelValue, isQualifiedName } from '../../meta/formats.ts';
import { forbiddenObject, internalFailure } from '../../meta/status-error.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { createsPod } from './concerned-pods.ts';

type Labels = Readonly<Record<string, string>>;

/** Selectors (`a=b,c=d`) of namespaces, beyond which their pods may not select, and one for all others. Plain data. */
export type PodNodeSelectors = Labels;

/** Key of the selector for namespaces that have none. */
const clusterDefault = 'clusterDefaultNodeSelector';

interface PodNodeSelectorOptions {
  readonly dialect: Dialect;
  readonly selectors: PodNodeSelectors;
  /** Includes all writes acknowledged before the call. */
  readonly namespace: (name: string) => ApiObject | undefined | Promise<ApiObject | undefined>;
}

/** Namespaces say on which nodes their pods run: an annotation, or the configuration for all that have none. */
export function podNodeSelector({ dialect, selectors, namespace }: PodNodeSelectorOptions): AdmissionPlugin {
  const annotation = `scheduler.alpha.${dialect.domain}/node-selector`;
  const own = (name: string): string | undefined => (Object.hasOwn(selectors, name) ? selectors[name] : undefined);
  const selectorOf = async (name: string): Promise<Labels> => {
    const found = await namespace(name);
    if (!found) throw internalFailure(`namespace ${name} does not exist`);
    return readNodeSelector(found.metadata.annotations?.[annotation] ?? own(clusterDefault) ?? '');
  };
  return {
    name: 'PodNodeSelector',
    sideEffects: 'none',
    concerns: createsPod,
    async mutate(attributes) {
      const spec = attributes.object && asPod(attributes.object).spec;
      if (!spec) return;
      const selector = await selectorOf(attributes.info.namespace);
      refuseConflict(attributes, selector, spec.nodeSelector ?? {});
      const merged = { ...selector, ...spec.nodeSelector };
      if (Object.keys(merged).length > 0) spec.nodeSelector = merged;
      refuseOthers(attributes, merged, own(attributes.info.namespace) ?? '');
    },
    async validate(attributes) {
      const { nodeSelector = {} } = (attributes.object && asPod(attributes.object).spec) ?? {};
      refuseConflict(attributes, await selectorOf(attributes.info.namespace), nodeSelector);
      refuseOthers(attributes, nodeSelector, own(attributes.info.namespace) ?? '');
    },
  };
}

function refuseConflict(attributes: AdmissionAttributes, selector: Labels, ofPod: Labels): void {
  const conflicts = Object.entries(selector).some(([key, value]) => Object.hasOwn(ofPod, key) && ofPod[key] !== value);
  if (conflicts) refuse(attributes, 'pod node label selector conflicts with its namespace node label selector');
}

/** `allowed`: the selector that names all labels of the namespace; '' if any may be selected. */
function refuseOthers(attributes: AdmissionAttributes, ofPod: Labels, allowed: string): void {
  const labels = readNodeSelector(allowed);
  if (Object.keys(labels).length === 0) return;
  const fits = Object.entries(ofPod).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
  if (!fits) refuse(attributes, 'pod node label selector labels conflict with its namespace whitelist');
}

function refuse({ info, object }: AdmissionAttributes, why: string): never {
  throw forbiddenObject(info, object?.metadata.name ?? '', why);
}

function readNodeSelector(text: string): Labels {
  const read = parseNodeSelector(text);
  if ('problem' in read) throw internalFailure(read.problem);
  return read.labels;
}

/** Labels of a selector, or why it cannot be read. */
export function parseNodeSelector(text: string): { readonly labels: Labels } | { readonly problem: string } {
  const labels = new Map<string, string>();
  for (const each of text === '' ? [] : text.split(',')) {
    const parts = each.split('=');
    if (parts.length !== 2) return { problem: `invalid selector: [${parts.join(' ')}]` };
    const [key = '', value = ''] = parts.map((part) => part.trim());
    const problem = [...isQualifiedName(key), ...isLabelValue(value)][0];
    if (problem !== undefined) return { problem: `invalid selector: ${JSON.stringify(each)}: ${problem}` };
    labels.set(key, value);
  }
  return { labels: Object.fromEntries(labels) };
}
