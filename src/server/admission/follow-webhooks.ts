import type { WebhookType } from '../../admission/webhooks/webhook.ts';
import { WebhookConfigurations } from '../../admission/webhooks/webhook-configurations.ts';
import type { ClosableStack } from '../../base/disposable.ts';
import type { Logger } from '../../base/logger.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { startInformer } from '../../resources/object-informer.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';

interface FollowParts {
  readonly resources: ResourceRegistry;
  readonly dialect: Dialect;
  readonly logger: Logger;
  readonly held: ClosableStack;
}

/** The configurations of webhooks that are stored, from now until the parts close: as fresh as the cache. */
export function followWebhooks({ resources, dialect, logger, held }: FollowParts): WebhookConfigurations {
  const configurations = new WebhookConfigurations();
  const follow = (type: WebhookType, resource: string): void => {
    const find = resources.finder(dialect.group('admissionregistration'), 'v1', resource);
    const put = (object: ApiObject): void => configurations.put(type, object);
    const remove = (_namespace: string, name: string): void => configurations.remove(type, name);
    held.add(startInformer({ resources, find }, { put, remove }, logger));
  };
  follow('admit', 'mutatingwebhookconfigurations');
  follow('validating', 'validatingwebhookconfigurations');
  held.add(resources.onChange(() => configurations.servedChanged()));
  return configurations;
}
