import type { Dialect } from '../../../dialect/dialect.ts';
import type { PodSpec } from '../../../kinds/core/pod/pod-spec.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import type { CheckedPod } from './pod-check.ts';

/** Where resources that make pods have the template of a pod: by group (short name) and resource. */
const templatePaths: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '': { podtemplates: 'template', replicationcontrollers: 'spec.template' },
  apps: {
    daemonsets: 'spec.template',
    deployments: 'spec.template',
    replicasets: 'spec.template',
    statefulsets: 'spec.template',
  },
  batch: { cronjobs: 'spec.jobTemplate.spec.template', jobs: 'spec.template' },
};

interface Template {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: Partial<PodSpec>;
}

interface ResourceName {
  readonly group: string;
  readonly resource: string;
}

/** Finds the templates of pods in objects that make pods. */
export class PodTemplates {
  readonly #paths: ReadonlyMap<string, readonly string[]>;
  readonly #domain: string;

  constructor(dialect: Dialect) {
    this.#domain = dialect.domain;
    this.#paths = new Map(
      Object.entries(templatePaths).flatMap(([group, resources]) =>
        Object.entries(resources).map(([resource, path]) => [
          resourceKey({ group: dialect.group(group), resource }),
          path.split('.'),
        ]),
      ),
    );
  }

  /** Whether objects of a resource have a template. */
  has(resource: ResourceName): boolean {
    return this.#paths.has(resourceKey(resource));
  }

  /** The template of an object; undefined if it has none. */
  of(resource: ResourceName, object: ApiObject): CheckedPod | undefined {
    let found: unknown = object;
    for (const name of this.#paths.get(resourceKey(resource)) ?? []) {
      if (typeof found !== 'object' || found === null) return undefined;
      found = (found as Readonly<Record<string, unknown>>)[name];
    }
    if (found === undefined) return undefined;
    const { metadata, spec = {} } = found as Template;
    return { annotations: metadata?.annotations ?? {}, spec, domain: this.#domain };
  }
}

const resourceKey = ({ group, resource }: ResourceName): string => `${resource}.${group}`;
