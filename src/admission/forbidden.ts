import { type StatusCause, StatusError } from '../meta/status-error.ts';
import type { AdmissionAttributes } from '../request/admission.ts';

/** The Forbidden error of a plugin, in kube-apiserver's format: `pods "x" is forbidden: <why>`. */
export function admissionForbidden(
  { info, name, object }: AdmissionAttributes,
  why: string,
  causes: readonly StatusCause[] = [],
): StatusError {
  const what = info.group === '' ? info.resource : `${info.resource}.${info.group}`;
  const named = name || object?.metadata.name || object?.metadata.generateName || 'Unknown';
  return new StatusError('Forbidden', `${what} ${JSON.stringify(named)} is forbidden: ${why}`, {
    details: {
      name: named,
      ...(info.group !== '' && { group: info.group }),
      kind: info.resource,
      ...(causes.length > 0 && { causes }),
    },
  });
}
