/**
 * Rules that many kinds have in common, as data in their schemas. Where a published server has a text of its own for a
 * rule, the marker carries it.
 */

/** What an error says in place of the usual. */
export interface Problem {
  readonly type: 'required' | 'invalid' | 'forbidden';
  readonly detail: string;
  /** `invalid` errors show '' unless they show the value. */
  readonly shows?: 'value';
}

/** Members of a struct of which one may be set, or must be. */
export interface Union {
  /** The field that says which one, where there is one. */
  readonly discriminator?: string;
  /** Of several the first that is set counts. */
  readonly fields: readonly string[];
  /** Stands in the usual text for a further member: `may not specify more than 1 volume type`. */
  readonly title?: string;
  /** The error where none is set. Absent: none need be. */
  readonly none?: Problem;
  /** The error where several are set, at the struct. Absent: each further member is forbidden. */
  readonly several?: Problem;
}

/** Elements of a list that differ in something. */
export interface Unique {
  /** Fields in which elements differ; none: they differ as a whole. Elements without the only field are not compared. */
  readonly by: readonly string[];
  /** Where the error stands: at an only key, else at the element. */
  readonly at?: 'element';
  /** What it shows: an only key, else all keys as an object. */
  readonly shows?: 'element' | 'firstKey';
  readonly detail?: string;
}

/** A field that may not change. `onceSet`: from the moment that it has a value. */
export interface Immutable {
  readonly when: 'always' | 'onceSet';
  readonly problem: Problem;
}

/** Fields that may not change any more once a boolean one of the same struct was true; neither may that one. */
export interface Freeze {
  readonly by: string;
  readonly fields: readonly string[];
}

/** A field that depends on others of the same struct. Empty values and false are not set. */
export interface Dependency {
  readonly fields: readonly string[];
  readonly detail?: string;
}
