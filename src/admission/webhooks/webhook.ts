import { type LabelSelector, readLabelSelector } from '../../kinds/meta/label-selector.ts';
import { type ApiObject, byName, nameOf } from '../../meta/api-object.ts';
import type { Selector } from '../../meta/selectors.ts';
import type { WebhookService, WebhookTarget } from '../../outbound/webhook-target.ts';
import type { SideEffects } from '../chain.ts';
import { MatchConditions, type WrittenCondition } from '../matching/match-conditions.ts';
import type { Ruled } from '../matching/match-index.ts';
import type { MatchRule } from '../matching/match-rules.ts';

/** Versions of AdmissionReview that are spoken. */
const knownVersions = ['v1', 'v1beta1'] as const;
export type ReviewVersion = (typeof knownVersions)[number];

/** Whom to call, and how long to wait. */
export interface WebhookClient extends WebhookTarget {
  /** Each type may have its own credentials. */
  readonly type: WebhookType;
  /** PEM; undefined: the authorities of the operating system. */
  readonly authorities: string | undefined;
  readonly timeoutMs: number;
}

/** `admit` mutates, `validating` does not: as metrics name them. */
export type WebhookType = 'admit' | 'validating';

/** A webhook of a configuration. */
export interface Webhook extends Ruled {
  readonly type: WebhookType;
  /** Unique among the webhooks of its type. */
  readonly id: string;
  readonly name: string;
  readonly configuration: string;
  /** Position among all webhooks of its type; part of audit annotations. */
  readonly index: number;
  readonly namespaceSelector: Selector;
  readonly objectSelector: Selector;
  readonly conditions: MatchConditions | undefined;
  readonly failurePolicy: 'Fail' | 'Ignore';
  readonly sideEffects: SideEffects;
  readonly reinvocationPolicy: 'never' | 'ifNeeded';
  /** Undefined if it understands no known version. */
  readonly reviewVersion: ReviewVersion | undefined;
  readonly client: WebhookClient;
}

/** What a configuration says of a webhook, as far as it is used here. */
interface WrittenWebhook {
  readonly name?: string;
  readonly clientConfig?: {
    readonly url?: string;
    readonly service?: Partial<WebhookService>;
    /** Base64. */
    readonly caBundle?: string;
  };
  readonly rules?: readonly MatchRule[];
  readonly matchPolicy?: string;
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
  readonly matchConditions?: readonly WrittenCondition[];
  readonly failurePolicy?: string;
  readonly sideEffects?: string;
  readonly reinvocationPolicy?: string;
  readonly timeoutSeconds?: number;
  readonly admissionReviewVersions?: readonly string[];
}

/** The webhooks of all configurations of a type, in the order in which they are called. */
export function webhooksOf(type: WebhookType, configurations: Iterable<ApiObject>): readonly Webhook[] {
  const webhooks: Webhook[] = [];
  for (const object of [...configurations].sort(byName)) {
    const configuration = nameOf(object);
    const seen = new Map<string, number>();
    for (const written of (object['webhooks'] ?? []) as readonly WrittenWebhook[]) {
      const name = written.name ?? '';
      const count = seen.get(name) ?? 0;
      seen.set(name, count + 1);
      const place = { type, configuration, index: webhooks.length, id: `${configuration}/${name}/${count}` };
      webhooks.push({ ...place, ...webhookOf(type, name, written) });
    }
  }
  return webhooks;
}

const webhookOf = (
  type: WebhookType,
  name: string,
  written: WrittenWebhook,
): Omit<Webhook, 'type' | 'configuration' | 'index' | 'id'> => ({
  name,
  rules: written.rules ?? [],
  matchPolicy: written.matchPolicy === 'Exact' ? 'Exact' : 'Equivalent',
  namespaceSelector: readLabelSelector(written.namespaceSelector ?? {}) ?? [],
  objectSelector: readLabelSelector(written.objectSelector ?? {}) ?? [],
  conditions: MatchConditions.of(written.matchConditions),
  failurePolicy: written.failurePolicy === 'Ignore' ? 'Ignore' : 'Fail',
  sideEffects: sideEffectsOf(written.sideEffects),
  reinvocationPolicy: written.reinvocationPolicy === 'IfNeeded' ? 'ifNeeded' : 'never',
  reviewVersion: written.admissionReviewVersions
    ?.map((each) => knownVersions.find((known) => known === each))
    .find((each) => each !== undefined),
  client: clientOf(type, written),
});

function sideEffectsOf(written: string | undefined): SideEffects {
  if (written === 'None') return 'none';
  return written === 'NoneOnDryRun' ? 'noneOnDryRun' : 'some';
}

function clientOf(type: WebhookType, { clientConfig = {}, timeoutSeconds = 10 }: WrittenWebhook): WebhookClient {
  const { url, service, caBundle } = clientConfig;
  const { name = '', namespace = '', port = 443, path = '/' } = service ?? {};
  return {
    type,
    url,
    service: service && { name, namespace, port, path },
    authorities: caBundle === undefined || caBundle === '' ? undefined : Buffer.from(caBundle, 'base64').toString(),
    timeoutMs: timeoutSeconds * 1000,
  };
}
