import { isDeepStrictEqual } from 'node:util';
import type { Closable } from '../../base/disposable.ts';
import type { Definition } from '../../kinds/apiextensions/custom-resource-definition.ts';
import {
  type ConversionParts,
  ConversionWebhook,
  type ConversionWebhookConfig,
} from '../../resources/conversion-webhook.ts';

interface Open {
  readonly config: ConversionWebhookConfig;
  readonly webhook: ConversionWebhook;
}

/** The conversion webhooks of definitions. One stays, with its connections, until its definition says something else. */
export class ConversionWebhooks implements Closable {
  readonly #parts: ConversionParts;
  /** By name of the definition. */
  readonly #used = new Map<string, Open>();

  constructor(parts: ConversionParts) {
    this.#parts = parts;
  }

  /** The webhook that a definition names; undefined if it names none. To be passed to `use`. */
  of(name: string, { spec }: Definition): Open | undefined {
    const config = configOf(name, spec?.conversion);
    if (!config) return undefined;
    const used = this.#used.get(name);
    if (used && isDeepStrictEqual(used.config, config)) return used;
    return { config, webhook: new ConversionWebhook(config, this.#parts) };
  }

  /** Objects are converted by this webhook from now on. The one before ends with the questions that it was asked. */
  use(name: string, next: Open | undefined): void {
    const before = this.#used.get(name);
    if (before === next) return;
    if (next) this.#used.set(name, next);
    else this.#used.delete(name);
    before?.webhook.retire();
  }

  close(): void {
    for (const { webhook } of this.#used.values()) webhook.close();
    this.#used.clear();
  }
}

type SpecifiedConversion = NonNullable<Definition['spec']>['conversion'];

function configOf(definition: string, conversion: SpecifiedConversion): ConversionWebhookConfig | undefined {
  if (conversion?.strategy !== 'Webhook') return undefined;
  const { clientConfig = {}, conversionReviewVersions: reviewVersions = [] } = conversion.webhook ?? {};
  const { url, service, caBundle } = clientConfig;
  const { name = '', namespace = '', port = 443, path = '' } = service ?? {};
  return {
    ...{ definition, url, reviewVersions },
    service: service && { name, namespace, port, path },
    authorities: caBundle === undefined ? undefined : Buffer.from(caBundle, 'base64').toString(),
  };
}
