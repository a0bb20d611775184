/**
 * Validation rules shared by many kinds, as data in their schemas. If kube-apiserver has a specific message for a rule,
 * the marker carries it.
 */

/** An error that replaces the standard one of a rule. */
export interface Problem {
  readonly type: 'required' | 'invalid' | 'forbidden';
  readonly detail: string;
  /** `value`: an `invalid` error shows the value. Default: it shows ''. */
  readonly shows?: 'value';
}

/** Fields of a struct of which at most one may be set, or exactly one must be set. */
export interface Union {
  /** The field that names the chosen member, if any. */
  readonly discriminator?: string;
  /** The members. If several are set, all but the first are in error (`forbidden`), and are not looked at. */
  readonly fields: readonly string[];
  /** Members that the standard message names otherwise. */
  readonly shownAs?: Readonly<Record<string, string>>;
  /** Noun of the standard message: `may not specify more than 1 volume type`. Default: derived from the struct's name. */
  readonly title?: string;
  /** The error if no member is set. Default: none; no member is required. */
  readonly none?: Problem;
}

/** Uniqueness of the elements of a list. */
export interface Unique {
  /** Key fields. Empty: whole elements are compared. With a single key, elements without it are not compared. */
  readonly by: readonly string[];
  /** Path of the error. Default: the key field if there is a single one, else the element. */
  readonly at?: 'element';
  /** Value shown in the error. Default: the key if there is a single one, else an object of all keys. */
  readonly shows?: 'element' | 'firstKey';
  readonly detail?: string;
}

/** An immutable field. `onceSet`: immutable once it has a value. */
export interface Immutable {
  readonly when: 'always' | 'onceSet';
  readonly problem: Problem;
}

/** Fields that become immutable, together with the boolean field `by` of the same struct, once that is true. */
export interface Freeze {
  readonly by: string;
  readonly fields: readonly string[];
}

/** A dependency on other fields of the same struct. Empty values and false count as not set. */
export interface Dependency {
  readonly fields: readonly string[];
  readonly detail?: string;
}
