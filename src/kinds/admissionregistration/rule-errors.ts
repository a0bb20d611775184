import { errorsOfEach, type FieldError, invalid, notSupported, required } from '../../meta/field-error.ts';
import type { RuleWithOperations } from './rule.ts';

/** Matches everything of its kind: operations, groups, versions, resources, scopes. */
const everything = '*';

const operationNames = [everything, 'CREATE', 'UPDATE', 'DELETE', 'CONNECT'];
const scopes = [everything, 'Cluster', 'Namespaced'];

/** Errors of a rule of a webhook or of a policy, in the words of kube-apiserver 1.32. */
export function ruleErrors(rule: RuleWithOperations, path: string): FieldError[] {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], scope } = rule;
  return [
    ...listErrors(operations, `${path}.operations`, 'operations'),
    ...errorsOfEach(operations, (each, index) => (operationNames.includes(each) ? [] : [notSupported(`${path}.operations[${index}]`, each, operationNames)])),
    ...listErrors(apiGroups, `${path}.apiGroups`, 'API groups'),
    ...listErrors(apiVersions, `${path}.apiVersions`, 'API versions'),
    ...errorsOfEach(apiVersions, (each, index) => (each === '' ? [required(`${path}.apiVersions[${index}]`)] : [])),
    ...resourcesErrors(resources, `${path}.resources`),
    ...(scope === undefined || scopes.includes(scope) ? [] : [notSupported(`${path}.scope`, scope, scopes)]),
  ];
}

/** A list must not be empty, and the wildcard stands alone in it. */
function listErrors(list: readonly string[], path: string, noun: string): FieldError[] {
  if (list.length === 0) return [required(path)];
  if (list.length === 1 || !list.includes(everything)) return [];
  return [invalid(path, list, `if '*' is present, must not specify other ${noun}`)];
}

/** Resources that others in the list include are errors, as far as published servers find them. */
function resourcesErrors(resources: readonly string[], path: string): FieldError[] {
  if (resources.length === 0) return [required(path)];
  const included = new IncludedResources();
  const errors = errorsOfEach(resources, (each, index) => included.add(each, `${path}[${index}]`));
  if (resources.length > 1 && resources.includes('*/*')) {
    errors.push(invalid(path, resources, "if '*/*' is present, must not specify other resources"));
  }
  // Only the last resource without a subresource counts.
  const last = resources.findLast((each) => each !== '' && !each.includes('/'));
  if (resources.includes(everything) && last !== everything) {
    errors.push(invalid(path, resources, "if '*' is present, must not specify other resources without subresources"));
  }
  return errors;
}

/** Tells which resources are included in the wildcards before them. */
class IncludedResources {
  /** Resources whose subresources are all there, and subresources of all resources. */
  readonly #resources = new Set<string>();
  readonly #subresources = new Set<string>();

  add(each: string, at: string): FieldError[] {
    if (each === '') return [required(at)];
    const slash = each.indexOf('/');
    if (slash === -1) return [];
    const [resource, subresource] = [each.slice(0, slash), each.slice(slash + 1)];
    const errors: FieldError[] = [];
    if (this.#resources.has(resource)) errors.push(invalid(at, each, `if '${resource}/*' is present, must not specify ${each}`));
    if (this.#subresources.has(subresource)) errors.push(invalid(at, each, `if '*/${subresource}' is present, must not specify ${each}`));
    if (subresource === everything) this.#resources.add(resource);
    if (resource === everything) this.#subresources.add(subresource);
    return errors;
  }
}
