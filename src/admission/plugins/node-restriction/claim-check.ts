import type { ApiObject } from '../../../meta/api-object.ts';
import { sameContent } from '../same-content.ts';
import { type Check, incomplete, operationText, quote, refused } from './node-write.ts';

type ClaimView = ApiObject & { readonly status?: Readonly<Record<string, unknown>> };

/** A kubelet reports the progress of a volume resize in the claim's status, and may change nothing else in claims. */
export const checkClaim: Check = (write) => {
  const { attributes, node, operation } = write;
  const { info, object, old } = attributes;
  if (info.subresource !== 'status') throw refused(write, 'may only update PVC status');
  if (operation !== 'update') throw refused(write, `unexpected operation ${quote(operationText(write))}`);
  if (!object || !old) throw incomplete(write);
  if (sameContent(fixedPart(object), fixedPart(old))) return;
  throw refused(
    write,
    `node ${quote(node)} is not allowed to update fields other than status.quantity and status.conditions`,
  );
};

/** Everything except the fields that may change and managedFields, which depend on the write. */
function fixedPart(claim: ClaimView): object {
  const { resourceVersion: _version, managedFields: _owners, ...metadata } = claim.metadata;
  const {
    capacity: _capacity,
    conditions: _conditions,
    allocatedResources: _allocated,
    allocatedResourceStatuses: _statuses,
    ...status
  } = claim.status ?? {};
  return { ...claim, metadata, status };
}
