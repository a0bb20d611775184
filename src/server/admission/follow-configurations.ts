import {
  AdmissionConfigurations,
  configurationKinds,
  configurationVersions,
} from '../../admission/admission-configurations.ts';
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

/** The configurations of admission that are stored, from now until the parts close: as fresh as the cache. */
export function followConfigurations({ resources, dialect, logger, held }: FollowParts): AdmissionConfigurations {
  const configurations = new AdmissionConfigurations();
  for (const kind of configurationKinds) {
    const find = resources.finder(dialect.group('admissionregistration'), configurationVersions[kind], kind);
    const put = (object: ApiObject): void => configurations.put(kind, object);
    const remove = (_namespace: string, name: string): void => configurations.remove(kind, name);
    held.add(startInformer({ resources, find }, { put, remove }, logger));
  }
  held.add(resources.onChange(() => configurations.servedChanged()));
  return configurations;
}
