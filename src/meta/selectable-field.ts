/** Steps from an object to one of its values: names of members, and indexes of elements. */
export type FieldPath = readonly (string | number)[];

/** A field that field selectors may name. Its value is read from the object's bytes, so it is a path and no function. */
export interface SelectableField {
  /** How selectors write it: `spec.nodeName`. */
  readonly label: string;
  /** Where its value is. The first path at which a scalar stands that is not '' counts. */
  readonly paths: readonly FieldPath[];
  /** The value where there is none. */
  readonly absent: string;
  /** Lists that require one value of it cost what they find. Takes memory for each object; watches need none of it. */
  readonly indexed: boolean;
}

interface SelectableFieldOptions {
  /** Where the value is, if the label does not say so: `status.podIPs[0].ip`. */
  readonly at?: readonly string[];
  readonly absent?: string;
  readonly indexed?: boolean;
}

/** The field that a selector calls `label`. */
export const selectable = (
  label: string,
  { at = [label], absent = '', indexed = false }: SelectableFieldOptions = {},
): SelectableField => ({ label, paths: at.map(parseFieldPath), absent, indexed });

/** Reads `spec.items[0].name`. Names hold no dots and no brackets. */
export function parseFieldPath(text: string): FieldPath {
  if (!/^[\w-]+(?:\[\d+\])*(?:\.[\w-]+(?:\[\d+\])*)*$/.test(text)) throw new TypeError(`${text} is no path of a field`);
  return text.split(/[.[\]]+/).flatMap((step) => (step === '' ? [] : [/^\d+$/.test(step) ? Number(step) : step]));
}
