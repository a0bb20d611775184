import type { ApiObject } from '../../../meta/api-object.ts';
import { type Check, type NodeWrite, quote, refused } from './node-write.ts';

/** On create the name in the object; '' if it is to be generated. */
const nameOf = ({ attributes, operation }: NodeWrite): string =>
  operation === 'create' ? (attributes.object?.metadata.name ?? '') : attributes.name;

/** The heartbeat lease of a node. */
export const checkLease: Check = (write) => {
  const { attributes, node, options } = write;
  const { nodeLease } = options.dialect.namespaces;
  if (attributes.info.namespace !== nodeLease) {
    throw refused(write, `can only access leases in the ${quote(nodeLease)} system namespace`);
  }
  if (nameOf(write) !== node) {
    throw refused(write, 'can only access node lease with the same name as the requesting node');
  }
};

/** CSINode: the storage drivers of a node. */
export const checkDriverNode: Check = (write) => {
  if (nameOf(write) !== write.node) {
    throw refused(write, 'can only access CSINode with the same name as the requesting node');
  }
};

type SliceView = ApiObject & { readonly spec?: { readonly nodeName?: string } };

/** ResourceSlice: the devices of a node. The authorizer checks updates, since it knows the node of the stored slice. */
export const checkSlice: Check = (write) => {
  const { attributes, node, operation } = write;
  if (operation === 'update') return;
  const slice = (operation === 'create' ? attributes.object : attributes.old) as SliceView | undefined;
  if (slice?.spec?.nodeName === node) return;
  throw refused(write, `can only ${operation} ResourceSlice with the same NodeName as the requesting node`);
};
