import { selectsLabels } from '../../kinds/meta/label-selector.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { Selector } from '../../meta/selectors.ts';
import { notFound } from '../../meta/status-error.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import { isNamespace } from './match-rules.ts';

/** Labels of a namespace; undefined if there is none of that name. Includes all writes acknowledged before the call. */
export type NamespaceLabels = (name: string) => Labels | undefined | Promise<Labels | undefined>;

type Labels = Readonly<Record<string, string>>;

/** Selectors of a webhook, a policy or a binding. */
export interface Selecting {
  readonly namespaceSelector: Selector;
  readonly objectSelector: Selector;
}

/**
 * Whether the selectors of a webhook or policy select a request: the namespace of the object, and the old or the new object.
 * Throws or rejects with NotFound if the namespace is not there.
 */
export function selectsRequest(
  { namespaceSelector, objectSelector }: Selecting,
  attributes: AdmissionAttributes,
  namespaceLabels: NamespaceLabels,
): boolean | Promise<boolean> {
  if (objectSelector.length > 0 && !selectsObject(objectSelector, attributes)) return false;
  if (namespaceSelector.length === 0) return true;
  const labels = labelsOfNamespace(attributes, namespaceLabels);
  if (labels === 'none') return true;
  if (labels instanceof Promise) return labels.then((known) => selectsLabels(namespaceSelector, known));
  return selectsLabels(namespaceSelector, labels);
}

/** As published, the options of a connection, which have no labels, are selected by no selector. */
const selectsObject = (selector: Selector, { object, old, operation }: AdmissionAttributes): boolean =>
  operation !== 'connect' &&
  [object, old].some((each) => each !== undefined && selectsLabels(selector, each.metadata.labels));

/** `none`: a request that is in no namespace is never exempt. */
function labelsOfNamespace(
  attributes: AdmissionAttributes,
  namespaceLabels: NamespaceLabels,
): Labels | Promise<Labels> | 'none' {
  const { info, object } = attributes;
  const isOwn = isNamespace(attributes);
  // What a write makes of a namespace counts, not what it was.
  if (isOwn && info.subresource === '' && object) return labelsOf(object);
  const name = isOwn ? info.name : info.namespace;
  if (name === '') return 'none';
  const found = namespaceLabels(name);
  const demand = (labels: Labels | undefined): Labels => {
    if (labels) return labels;
    throw notFound({ group: '', resource: 'namespaces' }, name);
  };
  return found instanceof Promise ? found.then(demand) : demand(found);
}

const labelsOf = ({ metadata: { labels = {} } }: ApiObject): Labels => labels;
