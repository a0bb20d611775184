import { duplicate, errorsOfEach, type FieldError, forbidden, invalid, invalidTexts, notSupported, required } from '../../meta/field-error.ts';
import { isDnsLabel, isDnsSubdomain } from '../../meta/formats.ts';
import type { FlowCondition, FlowRules, FlowSchemaSpec, FlowSubject, PathRule, ResourceRule } from './flow-schemas.ts';

const everything = '*';
const methods = ['ByNamespace', 'ByUser'];
const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];
const precedenceMax = 10_000;
/** The schema of system:masters, which alone goes before all others. */
const first = 'exempt';

/** Errors of the spec of a FlowSchema, in the words of kube-apiserver 1.32. */
export function flowSchemaErrors(name: string, { priorityLevelConfiguration, matchingPrecedence = 0, distinguisherMethod, rules = [] }: FlowSchemaSpec): FieldError[] {
  return [
    ...precedenceErrors(name, matchingPrecedence, 'spec.matchingPrecedence'),
    ...(distinguisherMethod && !methods.includes(distinguisherMethod.type ?? '')
      ? [
          {
            ...notSupported('spec.distinguisherMethod.type', distinguisherMethod, methods),
            shown: `flowcontrol.FlowDistinguisherMethod{Type:${JSON.stringify(distinguisherMethod.type ?? '')}}`,
          },
        ]
      : []),
    ...levelNameErrors(priorityLevelConfiguration?.name ?? '', 'spec.priorityLevelConfiguration.name'),
    ...errorsOfEach(rules, (rule, index) => rulesErrors(rule, `spec.rules[${index}]`)),
  ];
}

function precedenceErrors(name: string, precedence: number, path: string): FieldError[] {
  if (precedence <= 0) return [invalid(path, precedence, 'must be a positive value')];
  if (precedence > precedenceMax) return [invalid(path, precedence, `must not be greater than ${precedenceMax}`)];
  return precedence === 1 && name !== first ? [invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")] : [];
}

const levelNameErrors = (name: string, path: string): FieldError[] =>
  name === '' ? [required(path, 'must reference a priority level')] : isDnsSubdomain(name).map((problem) => invalid(path, name, problem));

function rulesErrors({ subjects = [], resourceRules = [], nonResourceRules = [] }: FlowRules, path: string): FieldError[] {
  return [
    ...(subjects.length === 0 ? [required(`${path}.subjects`, 'subjects must contain at least one value')] : []),
    ...errorsOfEach(subjects, (subject, index) => subjectErrors(subject, `${path}.subjects[${index}]`)),
    ...(resourceRules.length + nonResourceRules.length === 0 ? [required(path, 'at least one of resourceRules and nonResourceRules has to be non-empty')] : []),
    ...errorsOfEach(resourceRules, (rule, index) => resourceRuleErrors(rule, `${path}.resourceRules[${index}]`)),
    ...errorsOfEach(nonResourceRules, (rule, index) => pathRuleErrors(rule, `${path}.nonResourceRules[${index}]`)),
  ];
}

/** The field of each kind of subject. */
const subjectFields = { Group: 'group', ServiceAccount: 'serviceAccount', User: 'user' } as const;
type SubjectKind = keyof typeof subjectFields;
const subjectKinds = Object.keys(subjectFields) as readonly SubjectKind[];
/** The order in which fields that should not be there are named. */
const named: readonly SubjectKind[] = ['ServiceAccount', 'User', 'Group'];

function subjectErrors(subject: FlowSubject, path: string): FieldError[] {
  const kind = subjectKinds.find((each) => each === subject.kind);
  if (!kind) return [notSupported(`${path}.kind`, subject.kind ?? '', subjectKinds)];
  const field = subjectFields[kind];
  const others = named.filter((other) => other !== kind && subject[subjectFields[other]] !== undefined);
  return [
    ...(subject[field] ? chosenErrors(subject, kind, `${path}.${field}`) : [required(`${path}.${field}`, `${field} is required when subject kind is '${kind}'`)]),
    ...others.map((other) => forbidden(`${path}.${subjectFields[other]}`, `${subjectFields[other]} is forbidden when subject kind is not '${other}'`)),
  ];
}

function chosenErrors({ serviceAccount, ...others }: FlowSubject, kind: SubjectKind, path: string): FieldError[] {
  if (kind !== 'ServiceAccount') return (others[kind === 'User' ? 'user' : 'group']?.name ?? '') === '' ? [required(`${path}.name`)] : [];
  const { name = '', namespace = '' } = serviceAccount ?? {};
  const nameErrors = name === '' ? [required(`${path}.name`)] : name === everything ? [] : isDnsSubdomain(name).map((problem) => invalid(`${path}.name`, name, problem));
  if (namespace === '') return [...nameErrors, required(`${path}.namespace`, 'must specify namespace for service account')];
  return [...nameErrors, ...isDnsLabel(namespace).map((problem) => invalid(`${path}.namespace`, namespace, problem))];
}

function resourceRuleErrors({ verbs: named = [], apiGroups = [], resources = [], clusterScope = false, namespaces = [] }: ResourceRule, path: string): FieldError[] {
  return [
    ...verbErrors(named, `${path}.verbs`),
    ...termErrors(apiGroups, `${path}.apiGroups`, 'resource rules must supply at least one api group', 'api groups'),
    ...termErrors(resources, `${path}.resources`, 'resource rules must supply at least one resource', 'resources'),
    ...namespaceErrors(namespaces, clusterScope, `${path}.namespaces`),
  ];
}

function namespaceErrors(namespaces: readonly string[], clusterScope: boolean, path: string): FieldError[] {
  if (namespaces.length === 0) return clusterScope ? [] : [required(path, 'resource rules that are not cluster scoped must supply at least one namespace')];
  if (namespaces.includes(everything)) return aloneErrors(namespaces, path, 'namespaces');
  return errorsOfEach(namespaces, (namespace, index) =>
    isDnsLabel(namespace).map((problem) => invalid(`${path}[${index}]`, namespace, `each member of this list must be '*' or a DNS-1123 label; ${problem}`)),
  );
}

function pathRuleErrors({ verbs: named = [], nonResourceURLs = [] }: PathRule, path: string): FieldError[] {
  const urls = `${path}.nonResourceURLs`;
  const term = termErrors(nonResourceURLs, urls, 'nonResourceURLs must contain at least one value', 'non-resource URLs');
  const each = nonResourceURLs.includes(everything)
    ? []
    : errorsOfEach(nonResourceURLs, (url, index) => {
        const problem = pathProblem(url);
        return problem === undefined ? [] : [invalid(`${urls}[${index}]`, url, problem)];
      });
  return [...verbErrors(named, `${path}.verbs`), ...term, ...each];
}

function verbErrors(named: readonly string[], path: string): FieldError[] {
  const errors = termErrors(named, path, 'verbs must contain at least one value', 'verbs');
  if (named.includes(everything) || named.every((verb) => verbs.includes(verb))) return errors;
  const { shown = '' } = invalidTexts(path, named, '');
  return [...errors, { ...notSupported(path, named, verbs), shown }];
}

const termErrors = (terms: readonly string[], path: string, missing: string, what: string): FieldError[] => (terms.length === 0 ? [required(path, missing)] : aloneErrors(terms, path, what));

const aloneErrors = (terms: readonly string[], path: string, what: string): FieldError[] =>
  terms.length > 1 && terms.includes(everything) ? [invalid(path, terms, `if '*' is present, must not specify other ${what}`)] : [];

function pathProblem(path: string): string | undefined {
  if (path === '') return 'must not be empty';
  if (path === '/') return undefined;
  if (!path.startsWith('/')) return 'must start with slash';
  if (path.includes(' ')) return 'must not contain white-space';
  if (path.includes('//')) return 'must not contain double slash';
  return /^[^*]*(\/\*)?$/.test(path) ? undefined : 'wildcard can only do suffix matching';
}

/** Errors of the conditions of both kinds. */
export function flowConditionErrors(conditions: readonly FlowCondition[]): FieldError[] {
  const seen = new Set<string>();
  return errorsOfEach(conditions, ({ type = '' }, index) => {
    const path = `status.conditions[${index}].type`;
    const isDuplicate = seen.has(type);
    seen.add(type);
    return [...(isDuplicate ? [duplicate(path, type)] : []), ...(type === '' ? [required(path, 'must not be empty')] : [])];
  });
}
