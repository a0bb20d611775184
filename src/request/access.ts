/** Result of an authorization check. Shared by the authorizers (authz) and the kinds that report it. */

export interface Decision {
  /** `noOpinion` leaves the decision to the next authorizer; if none decides, the request is denied. */
  readonly verdict: 'allow' | 'deny' | 'noOpinion';
  /** For the log and, if the request is denied, for the client. May be ''. */
  readonly reason: string;
  /**
   * An error that affected the decision, such as a webhook timeout or a failing condition. The verdict holds
   * nevertheless. Goes to the log and to access reviews (`status.evaluationError`), so it must not contain addresses or
   * secrets. Undefined if there was none.
   */
  readonly evaluationError?: string;
}

/** A rule about resources in a SelfSubjectRulesReview (spec section 5.7). */
export interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  /** Empty means all objects. */
  readonly resourceNames: readonly string[];
}

/** A rule about non-resource paths. */
export interface PathRule {
  readonly verbs: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export interface UserRules {
  readonly resourceRules: readonly ResourceRule[];
  readonly pathRules: readonly PathRule[];
  /** True if the list does not contain everything that is allowed. */
  readonly incomplete: boolean;
  /** Lookup errors; the rules found are valid nevertheless. */
  readonly errors: readonly string[];
}
