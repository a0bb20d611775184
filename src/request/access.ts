/** What is said about who may do what; below both who decides it (authz) and the kinds that show it. */

export interface Decision {
  /** `noOpinion` leaves it to the next authorizer; where none decides the request is refused. */
  readonly verdict: 'allow' | 'deny' | 'noOpinion';
  /** For the log and, with a refusal, for the client. May be ''. */
  readonly reason: string;
  /**
   * What kept the authorizer from deciding as it should: a webhook that does not answer, a condition that fails. For the
   * log and for access reviews (`status.evaluationError`); the verdict holds all the same. Who asks may see it: it names
   * neither addresses nor secrets. Absent where nothing went wrong.
   */
  readonly evaluationError?: string;
}

/** What a user may do with resources, as a SelfSubjectRulesReview shows it (spec section 5.7). */
export interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  /** None means all objects. */
  readonly resourceNames: readonly string[];
}

/** What a user may do with paths. */
export interface PathRule {
  readonly verbs: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export interface UserRules {
  readonly resourceRules: readonly ResourceRule[];
  readonly pathRules: readonly PathRule[];
  /** More is allowed than can be listed. */
  readonly incomplete: boolean;
  /** What could not be looked up; the rules that were found hold all the same. */
  readonly errors: readonly string[];
}
