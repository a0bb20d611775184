/**
 * Limits on expressions, patterns and schemas that users write: part of `limits`. Sizes are bytes, durations milliseconds,
 * everything else counts.
 */
export const expressionLimits = {
  /** Characters of one CEL expression, and its depth (kube-apiserver: 100,000; 250). */
  celSourceLengthMax: 100_000,
  celDepthMax: 250,
  /** Parts of the type of an expression, such as a list of lists. Work on a long expression between two pauses: parts of it, and of types. */
  celTypePartsMax: 1_000,
  celPartsPerStep: 250,
  /** Errors that are shown of one source, the bytes of a line that is shown with one, and of all of them. */
  celErrorsMax: 100,
  celErrorLineBytesMax: 16 * 1024,
  celErrorTextMax: 32 * 1024,
  /** Characters of a regular expression, and the number of literal ones whose compiled form is cached. */
  celPatternLengthMax: 4_096,
  celPatternsKept: 1_000,
  /** A pattern in a schema of a custom resource: its characters, and Unicode classes (`\p`), which are slow to compile. */
  patternLengthMax: 4_096,
  patternClassesMax: 16,
  /** Instructions of a compiled pattern; and how many may run when an object is validated, at some nanoseconds each. */
  patternProgramMax: 5_000,
  patternStepsMax: 100_000_000,
  /** The same where others wait: instructions, of which an alternative counts as some. Beyond, another thread does the work. */
  inlineCheckSteps: 1_000_000,
  /** Short names, categories and versions of a definition, and errors in a condition; columns, selectable fields of a version. */
  definitionListMax: 100,
  printerColumnsMax: 200,
  customSelectableFieldsMax: 8,
  /** Malformed certificates in the `caBundle` of a webhook before it counts as invalid. */
  caBundleFaultsMax: 100,
  /** Characters and instructions of all different patterns in the schema of one version; at most a microsecond each. */
  schemaPatternsWorkMax: 32 * 1024,
  /** Definitions of custom resources whose objects are loaded, or removed, at once. */
  definitionsAtOnce: 32,
  /** Schemas, and values of enums, in the schema of one version of a custom resource; large ones in use have 2,500. */
  schemaPartsMax: 25_000,
  /** Values, and characters, in all defaults of a schema; values that defaults add to one object. */
  schemaDefaultsMax: 5_000,
  schemaDefaultCharactersMax: 64 * 1024,
  defaultedValuesMax: 100_000,
  /** Schemas within `allOf`, `anyOf`, `oneOf` and `not` of one field; each looks at each value. */
  schemaAlternativesMax: 250,
  /** Digits after the decimal point that `format` writes. */
  celPrecisionMax: 100,
  /**
   * Evaluation cost of one expression, and of all expressions for one request (in kube-apiserver about 0.1 s and 1 s).
   */
  celCostMax: 1_000_000,
  celBudget: 10_000_000,
  /** Cost of all match conditions of a webhook or policy, for one request. */
  matchConditionsCostMax: 2_500_000,
  /** Types of objects against which the expressions of a policy are checked; characters of all warnings (kube-apiserver: 10; any). */
  policyTypesMax: 10,
  policyWarningsTextMax: 256 * 1024,
  /** Audit annotations of a policy, and bytes of the expression of one (kube-apiserver: 20; 5 kB). */
  policyAnnotationsMax: 20,
  policyAnnotationExpressionMax: 5 * 1024,
  /** Estimated cost of a rule of a custom resource, and of all rules of a version; bytes of a message that a rule makes. */
  ruleCostMax: 10_000_000,
  rulesCostMax: 100_000_000,
  ruleMessageMax: 5 * 1024,
  /** When work on rules can be interrupted: cost of evaluations, or schemas without rules. */
  ruleCostPerStep: 2_000,
  /** Cost of an expression of a rule that is evaluated at once; others are evaluated in steps, from their beginning. */
  ruleCostAtOnce: 20_000,
  /** Cost of one call of a function, such as `matches`, that is not left to another thread. */
  inlineCallCost: 50_000,
  /** Characters of an expression, and characters and instructions of patterns, that are compiled where others wait. */
  inlineRuleLength: 2_000,
  inlinePatternsWork: 4_000,
  /** Steps of the work on rules that make a turn of the event loop: a short rule, or parts of a long one. */
  ruleStepsPerTurn: 4,
} as const;
