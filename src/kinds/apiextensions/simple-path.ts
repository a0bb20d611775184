import { type FieldError, invalid } from '../../meta/field-error.ts';

/** As in kube-apiserver, only the beginning of a JSON path is looked at; one that leads nowhere has no value. */
export const simplePathErrors = (path: string, field: string): FieldError[] => (path.startsWith('.') ? [] : [invalid(field, path, 'must be a simple json path starting with .')]);
