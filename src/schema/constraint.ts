/**
 * What a value must be beside its type, as the structural schemas of custom resources say it: value validation and
 * nothing else. A constraint changes no decoding, pruning, default, merge or ownership. Each part looks at the values that
 * it is about and lets others pass: `minLength` at strings, `minimum` at numbers.
 */
export interface Constraint {
  /** A name in `published-formats.ts`; others are ignored, as published. */
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
  /** RE2 syntax, searched for anywhere in the string unless it has anchors. */
  readonly pattern?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  /** Fields that must be there; an empty string is there. */
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Constraint>>;
  /** Of fields that `properties` does not name. */
  readonly additionalProperties?: Constraint;
  readonly items?: Constraint;
  readonly allOf?: readonly Constraint[];
  readonly anyOf?: readonly Constraint[];
  readonly oneOf?: readonly Constraint[];
  readonly not?: Constraint;
}

/** A rule in the Common Expression Language about the value that it stands at (KEP-2876). */
export interface Rule {
  readonly rule: string;
  readonly message?: string;
  /** An expression that gives the message; where it fails, `message` or the rule itself is shown. */
  readonly messageExpression?: string;
  readonly reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate';
  /** Where the error stands, relative to the value: `.spec.replicas`. */
  readonly fieldPath?: string;
  /** A rule about the old value runs on new objects too, with an optional `oldSelf`. */
  readonly optionalOldSelf?: boolean;
}
