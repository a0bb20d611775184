import { type NodeLabels, nodeLabels } from '../../../dialect/node-labels.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { sameContent } from '../same-content.ts';
import { type Check, incomplete, quote, refused } from './node-write.ts';

/** The fields of a decoded Node that are checked. */
type NodeView = ApiObject & { readonly spec?: { readonly configSource?: unknown; readonly taints?: unknown } };

/**
 * A kubelet registers and updates its own Node, but may not change what controls pod placement: restricted labels,
 * taints after registration, and owner references. Applies to the status subresource too, since it can write labels.
 */
export const checkNode: Check = (write) => {
  const { attributes, node, operation } = write;
  if (attributes.name !== node) {
    throw refused(write, `node ${quote(node)} is not allowed to modify node ${quote(attributes.name)}`);
  }
  if (operation === 'create') checkRegistration(write);
  else if (operation === 'update') checkUpdate(write);
};

const checkRegistration: Check = (write) => {
  const { node, attributes, options } = write;
  const object = attributes.object as NodeView | undefined;
  if (!object) throw incomplete(write);
  const { spec, metadata } = object;
  if (spec?.configSource !== undefined) {
    throw refused(write, `node ${quote(node)} is not allowed to create pods with a non-nil configSource`);
  }
  const labels = forbiddenLabels({}, metadata.labels ?? {}, nodeLabels(options.dialect));
  if (labels.length > 0) {
    throw refused(write, `node ${quote(node)} is not allowed to set the following labels: ${labels.join(', ')}`);
  }
  // kube-apiserver checks updates only. An owner that the kubelet can delete, such as its CSINode, would still let it
  // delete its Node (CVE-2025-5187), and no kubelet registers with owners.
  if (metadata.ownerReferences?.length) {
    throw refused(write, `node ${quote(node)} is not allowed to set ownerReferences`);
  }
};

const checkUpdate: Check = (write) => {
  const { node, attributes, options } = write;
  const [object, old] = [attributes.object as NodeView | undefined, attributes.old as NodeView | undefined];
  if (!object || !old) throw incomplete(write);
  const source = object.spec?.configSource;
  // Kubelets that do not know the field drop it.
  if (source !== undefined && !sameContent(source, old.spec?.configSource)) {
    throw refused(write, `node ${quote(node)} is not allowed to update configSource to a new non-nil configSource`);
  }
  if (!sameContent(object.spec?.taints, old.spec?.taints)) {
    throw refused(write, `node ${quote(node)} is not allowed to modify taints`);
  }
  // An object is garbage-collected with its owner: a kubelet could have its Node deleted and register again without
  // taints (CVE-2025-5187).
  if (!sameContent(object.metadata.ownerReferences, old.metadata.ownerReferences)) {
    throw refused(write, `node ${quote(node)} is not allowed to modify ownerReferences`);
  }
  const labels = forbiddenLabels(old.metadata.labels ?? {}, object.metadata.labels ?? {}, nodeLabels(options.dialect));
  if (labels.length > 0) throw refused(write, `is not allowed to modify labels: ${labels.join(', ')}`);
};

type Labels = Readonly<Record<string, string>>;

/** Keys of changed labels that a kubelet may not change; sorted. */
function forbiddenLabels(before: Labels, after: Labels, rules: NodeLabels): readonly string[] {
  const [old, now] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  return [...new Set([...old.keys(), ...now.keys()])]
    .filter((key) => old.get(key) !== now.get(key) && isForbidden(key, rules))
    .sort();
}

function isForbidden(key: string, { domains, own, ownDomains }: NodeLabels): boolean {
  const slash = key.indexOf('/');
  if (slash < 0) return false;
  const prefix = key.slice(0, slash);
  const ofProduct = domains.some((domain) => isWithin(prefix, domain));
  return ofProduct && !own.has(key) && !ownDomains.some((domain) => isWithin(prefix, domain));
}

const isWithin = (prefix: string, domain: string): boolean => prefix === domain || prefix.endsWith(`.${domain}`);
