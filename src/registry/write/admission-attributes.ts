import type { GroupVersionKind } from '../../kinds/kind.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { WriteContext } from './object-writer.ts';

interface Admitted extends Pick<AdmissionAttributes, 'operation' | 'object' | 'old'> {
  /** Of the object; absent where it is of the kind that is stored. */
  readonly kind?: GroupVersionKind;
  /** Of the object; absent where its metadata says it. */
  readonly name?: string;
}

/** A write as admission plugins see it. */
export function admissionAttributes(context: WriteContext, admitted: Admitted): AdmissionAttributes {
  const { operation, object, old } = admitted;
  const { group, version, kind } = admitted.kind ?? context.served.resource.kind;
  return {
    operation,
    info: context.info,
    name: admitted.name ?? (object ?? old)?.metadata.name ?? '',
    kind: { group, version, kind },
    object,
    old,
    user: context.user,
    dryRun: context.dryRun,
    warn: (text) => context.warn(text),
  };
}
