import { classRules, DefaultClasses, defaultedKinds } from '../../admission/default-classes.ts';
import type { ClosableStack } from '../../base/disposable.ts';
import type { Logger } from '../../base/logger.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { startInformer } from '../../resources/object-informer.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';

interface FollowParts {
  readonly resources: ResourceRegistry;
  readonly dialect: Dialect;
  readonly logger: Logger;
  readonly held: ClosableStack;
}

/** The default classes that are stored, from now until the parts close: as fresh as the cache. */
export function followDefaultClasses({ resources, dialect, logger, held }: FollowParts): DefaultClasses {
  const classes = new DefaultClasses(dialect);
  for (const kind of defaultedKinds) {
    const find = resources.finder(dialect.group(classRules[kind].group), 'v1', kind);
    const handler = {
      put: (object: Parameters<DefaultClasses['put']>[1]): void => classes.put(kind, object),
      remove: (_namespace: string, name: string): void => classes.remove(kind, name),
    };
    held.add(startInformer({ resources, find }, handler, logger));
  }
  return classes;
}
