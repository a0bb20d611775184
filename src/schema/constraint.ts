/**
 * The value validation of a structural schema (custom resources). It has no effect on decoding, pruning, defaulting,
 * merging or ownership. Each keyword applies only to values of its type: `minLength` to strings, `minimum` to numbers;
 * others pass.
 */
export interface Constraint {
  /** A name in `crd-formats.ts`; unknown formats are ignored, as in kube-apiserver. */
  readonly format?: string;
  /** Any JSON values. */
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  /** Code points. */
  readonly minLength?: number;
  readonly maxLength?: number;
  /** RE2 syntax; matches anywhere in the string unless anchored. */
  readonly pattern?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  /** Fields that must be present; an empty string counts as present. */
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Constraint>>;
  /** Applies to the values of fields not in `properties`; false: there may be none. */
  readonly additionalProperties?: Constraint | false;
  readonly items?: Constraint;
  readonly allOf?: readonly Constraint[];
  readonly anyOf?: readonly Constraint[];
  readonly oneOf?: readonly Constraint[];
  readonly not?: Constraint;
}

/** A CEL validation rule (`x-kubernetes-validations`, KEP-2876); `self` is the value of the schema that has it. */
export interface Rule {
  readonly rule: string;
  readonly message?: string;
  /** A CEL expression for the message; if it fails, `message` or the rule itself is used. */
  readonly messageExpression?: string;
  readonly reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate';
  /** Path of the error relative to the value: `.spec.replicas`. */
  readonly fieldPath?: string;
  /** A transition rule also runs on create; its `oldSelf` is a CEL optional. */
  readonly optionalOldSelf?: boolean;
}
