import type { AdmissionAttributes } from '../../request/admission.ts';

/** The objects of one resource are written, not a subresource of theirs. */
export const writesResource = (
  { info }: AdmissionAttributes,
  { group, resource }: { readonly group: string; readonly resource: string },
): boolean => info.group === group && info.resource === resource && info.subresource === '';
