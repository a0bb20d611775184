import type { WebhookType } from './webhook.ts';

/** How a call of a webhook ended, for metrics and the log. Plain data: it may come from another thread. */
export interface WebhookOutcome {
  readonly webhook: string;
  readonly type: WebhookType;
  /** In capitals. */
  readonly operation: string;
  readonly seconds: number;
  /** `ignored`: the call failed and the failure policy let the request pass; `broken`: it could not be asked, or its patch not applied. */
  readonly end: 'allowed' | 'refused' | 'failed' | 'ignored' | 'broken';
  /** Status of the error that was, or would have been, returned; 200 if allowed, 0 if broken. */
  readonly code: number;
  /** The request ended while the webhook was called: nobody is to blame. */
  readonly aborted: boolean;
  /** Of a failed call. */
  readonly problem: string | undefined;
}
