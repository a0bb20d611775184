import type { Metrics } from '../../base/metrics.ts';

/** Counts uses of each kind of token, under kube-apiserver's metric names. */
export interface TokenMetrics {
  /** Tokens without audiences. */
  countLegacy(): void;
  /** Extended tokens that should have been refreshed by now. */
  countStale(): void;
  /** Extended tokens before that time. */
  countValid(): void;
  /** Tokens of manually created Secrets. */
  countManual(): void;
  /** Tokens of Secrets generated for an account, as clusters before 1.24 did. */
  countAutomatic(): void;
  /** Tokens rejected because their Secret is marked as invalid. */
  countInvalidated(): void;
}

export function registerTokenMetrics(metrics: Metrics): TokenMetrics {
  const counter = (name: string, help: string): (() => void) => {
    const { add } = metrics.counter({ name: `serviceaccount_${name}_total`, help, labels: [] });
    return () => add({});
  };
  return {
    countLegacy: counter('legacy_tokens', 'Uses of service account tokens without audiences.'),
    countStale: counter('stale_tokens', 'Uses of extended service account tokens that should have been refreshed.'),
    countValid: counter('valid_tokens', 'Uses of extended service account tokens that are still fresh.'),
    countManual: counter('legacy_manual_token_uses', 'Uses of tokens of manually created Secrets.'),
    countAutomatic: counter('legacy_auto_token_uses', 'Uses of tokens of automatically generated Secrets.'),
    countInvalidated: counter(
      'invalid_legacy_auto_token_uses',
      'Uses of tokens of automatically generated Secrets that are marked as invalid.',
    ),
  };
}
