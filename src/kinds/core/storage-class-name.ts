import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';

/** The annotation that named the storage class of claims and volumes before there was a field. It still counts first. */
export const storageClassAnnotation = ({ domain }: Dialect): string => `volume.beta.${domain}/storage-class`;

type Classified = ApiObject & { readonly spec?: { readonly storageClassName?: string } };

/** Storage class of a claim or volume. Undefined if it names none; '' if it says that it has none. */
export const storageClassNameOf = (object: ApiObject, dialect: Dialect): string | undefined =>
  object.metadata.annotations?.[storageClassAnnotation(dialect)] ?? (object as Classified).spec?.storageClassName;
