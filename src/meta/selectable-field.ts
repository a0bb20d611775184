/** Path from an object to one of its values: property names and array indexes. */
export type FieldPath = readonly (string | number)[];

/**
 * A field that field selectors may name. Its value is read from the object's bytes, so it is a path and not a function.
 */
export interface SelectableField {
  /** Name in field selectors: `spec.nodeName`. */
  readonly label: string;
  /** Paths of the value. The first path with a scalar other than '' wins. */
  readonly paths: readonly FieldPath[];
  /** The value if no path has one. */
  readonly absent: string;
  /**
   * Whether lists that require one value of the field use an index. An index takes memory per object; watches do not
   * need it.
   */
  readonly indexed: boolean;
}

interface SelectableFieldOptions {
  /** Paths of the value. Default: the label. Example: `status.podIPs[0].ip`. */
  readonly at?: readonly string[];
  readonly absent?: string;
  readonly indexed?: boolean;
}

/** A selectable field named `label`. */
export const selectable = (
  label: string,
  { at = [label], absent = '', indexed = false }: SelectableFieldOptions = {},
): SelectableField => ({ label, paths: at.map(parseFieldPath), absent, indexed });

/** Parses `spec.items[0].name`. Property names contain no dots or brackets. */
export function parseFieldPath(text: string): FieldPath {
  if (!/^[\w-]+(?:\[\d+\])*(?:\.[\w-]+(?:\[\d+\])*)*$/.test(text)) throw new TypeError(`${text} is not a field path`);
  return text.split(/[.[\]]+/).flatMap((step) => (step === '' ? [] : [/^\d+$/.test(step) ? Number(step) : step]));
}
