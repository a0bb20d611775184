/** What a policy did to a request, for metrics. Plain data: it may come from another thread. */
export interface PolicyOutcome {
  readonly policy: string;
  readonly binding: string;
  /** What failed, if anything did: as kube-apiserver tells by the message. */
  readonly error: 'compile_error' | 'invalid_error' | 'out_of_budget' | 'no_error';
  /** `allow`: an evaluation failed, and the failure policy let the request pass. */
  readonly action: 'allow' | 'deny' | 'audit' | 'warn';
  readonly seconds: number;
}

export function errorTypeOf(message: string): PolicyOutcome['error'] {
  if (message.startsWith('compilation')) return 'compile_error';
  if (message.startsWith('validation failed due to running out of cost budget')) return 'out_of_budget';
  return 'invalid_error';
}
