import type { Dialect } from '../../dialect/dialect.ts';
import type { GroupVersionKind } from '../../kinds/kind.ts';

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** How the operations of a version of a group are named, as in the documents of kube-apiserver. */
export function versionNames({ group, version }: Pick<GroupVersionKind, 'group' | 'version'>, dialect: Dialect) {
  const stem = groupTag(group, dialect);
  const between = capital(stem) + capital(version);
  return {
    /** `myThingsExampleCom_v1`. */
    tag: `${stem}_${version}`,
    /** `readCoreV1NamespacedPod`. */
    id: (verb: string, rest: string): string => verb + between + rest,
  };
}

/** The name of a group as a word: `core`, `apps`, `rbacAuthorization`. That of a custom resource is whole: `myThingsExampleCom`. */
export const groupTag = (group: string, { groupSuffix }: Dialect): string =>
  group === '' ? 'core' : inCamelCase(group.endsWith(groupSuffix) ? group.slice(0, -groupSuffix.length) : group);

/** Without what is not allowed in an identifier. */
export const inCamelCase = (text: string): string =>
  text.replaceAll(/(?:^\d|[^a-zA-Z\d])+([a-zA-Z\d]?)/g, (_, next: string) => next.toUpperCase());
