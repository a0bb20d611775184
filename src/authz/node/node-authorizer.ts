import type { Dialect } from '../../dialect/dialect.ts';
import { nodeNameOf } from '../../request/node-user.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { Attributes, Authorizer, Decision, ResourceAttributes } from '../authorizer.ts';
import { nodeRules } from '../rbac/bootstrap-policy/component-roles.ts';
import { allowedNames, type CompiledRole, compileRole } from '../rbac/compiled-role.ts';
import type { RuleResolver, UserRules } from '../rule-resolver.ts';
import type { NodeGraph } from './node-graph.ts';

/** Decides about one resource, for the agent of `node`. */
type Rule = (question: ResourceAttributes, node: string) => Decision;

const allowed: Decision = { verdict: 'allow', reason: '' };
const noOpinion = (reason: string): Decision => ({ verdict: 'noOpinion', reason });
const unsaid = noOpinion('');

/**
 * What the agents of nodes may do (spec section 5.7), as published for 1.32 with reads of nodes and pods narrowed to their own
 * (KEP-4601):
 *
 * - read the secrets, config maps, claims and volumes that pods on their node refer to, and get tokens for the accounts of
 *   these pods;
 * - read their node and its pods; write nodes and pods, as far as NodeRestriction lets them;
 * - keep the lease and the storage drivers of their node;
 * - else what the role of nodes says, of any object.
 *
 * It never denies: what it does not allow is left to the next authorizer. Nothing that it says depends on a Node object: a node
 * that was deleted, and whose pods are still there, is still entitled to them.
 */
export class NodeAuthorizer implements Authorizer, RuleResolver {
  readonly #graph: NodeGraph;
  readonly #rules: ReadonlyMap<string, Rule>;
  readonly #role: CompiledRole;
  /** Until the graph is complete. */
  #filling: Promise<void> | undefined;

  /** `filled` resolves when the graph is complete; decisions that come before wait for it. */
  constructor(graph: NodeGraph, dialect: Dialect, filled?: Promise<unknown>) {
    this.#graph = graph;
    this.#filling = filled?.then(() => {
      this.#filling = undefined;
    });
    this.#rules = this.#rulesOf(dialect);
    this.#role = compileRole(nodeRules(dialect));
  }

  authorize(attributes: Attributes, user: UserInfo): Decision | Promise<Decision> {
    const node = nodeNameOf(user);
    if (node === undefined) return unsaid;
    if (node === '') return noOpinion(`unknown node for user ${JSON.stringify(user.username)}`);
    // The role of nodes has no paths.
    if (attributes.type === 'path') return unsaid;
    return this.#filling ? this.#filling.then(() => this.#decide(attributes, node)) : this.#decide(attributes, node);
  }

  #decide(question: ResourceAttributes, node: string): Decision {
    const rule = this.#rules.get(ruleKey(question.group, question.resource));
    return rule ? rule(question, node) : this.#byRole(question);
  }

  /** What nodes may do follows from the pods on them: it cannot be listed. */
  rulesFor(user: UserInfo): UserRules {
    const isNode = nodeNameOf(user) !== undefined;
    return {
      resourceRules: [],
      pathRules: [],
      incomplete: isNode,
      errors: isNode ? ['node authorizer does not support user rule resolution'] : [],
    };
  }

  #byRole(question: ResourceAttributes): Decision {
    const names = allowedNames(this.#role, question);
    return names === 'all' || names.includes(question.name) ? allowed : unsaid;
  }

  #rulesOf(dialect: Dialect): ReadonlyMap<string, Rule> {
    const storage = dialect.group('storage');
    const resource = dialect.group('resource');
    const getOnly: Rule = (question, node) => this.#get(question, node);
    const read: Rule = (question, node) => this.#read(question, node);
    return new Map<string, Rule>([
      [ruleKey('', 'secrets'), read],
      [ruleKey('', 'configmaps'), read],
      [ruleKey('', 'persistentvolumeclaims'), (question, node) => this.#claim(question, node)],
      [ruleKey('', 'persistentvolumes'), getOnly],
      [ruleKey(storage, 'volumeattachments'), getOnly],
      [ruleKey(resource, 'resourceclaims'), getOnly],
      [ruleKey(resource, 'resourceslices'), (question, node) => this.#slice(question, node)],
      [ruleKey('', 'serviceaccounts'), (question, node) => this.#token(question, node)],
      [ruleKey(dialect.group('coordination'), 'leases'), (question, node) => decideLease(question, node, dialect)],
      [ruleKey(storage, 'csinodes'), decideDriverNode],
      [ruleKey('', 'nodes'), decideNode],
      [ruleKey('', 'pods'), (question, node) => this.#pod(question, node)],
    ]);
  }

  /** The end of most rules: there must be a way from the object to the node. */
  #related(question: ResourceAttributes, node: string): Decision {
    if (question.name === '') return noOpinion('No Object name found');
    if (this.#graph.isEntitled(node, question)) return allowed;
    return noOpinion(`no relationship found between node '${node}' and this object`);
  }

  /** Also lists and watches of a single object, which agents follow by name. */
  #read(question: ResourceAttributes, node: string): Decision {
    if (!reads.has(question.verb)) return noOpinion('can only read resources of this type');
    if (question.subresource !== '') return noOpinion('cannot read subresource');
    if (question.namespace === '') return noOpinion('can only read namespaced object of this type');
    return this.#related(question, node);
  }

  #get(question: ResourceAttributes, node: string): Decision {
    if (question.verb !== 'get') return noOpinion('can only get individual resources of this type');
    if (question.subresource !== '') return noOpinion('cannot get subresource');
    return this.#related(question, node);
  }

  /** The status of a claim says how far the agent is with resizing its volume. */
  #claim(question: ResourceAttributes, node: string): Decision {
    if (question.subresource !== 'status') return this.#get(question, node);
    if (!changes.has(question.verb)) return noOpinion('can only get/update/patch this type');
    return this.#related(question, node);
  }

  #token(question: ResourceAttributes, node: string): Decision {
    if (question.verb !== 'create' || question.name === '') {
      return noOpinion('can only create tokens for individual service accounts');
    }
    if (question.subresource !== 'token') return noOpinion('can only create token subresource of serviceaccount');
    return this.#related(question, node);
  }

  /** Which slice is created, and which ones go together, is for admission to see. */
  #slice(question: ResourceAttributes, node: string): Decision {
    const { subresource, verb } = question;
    if (subresource !== '') return noOpinion('cannot authorize ResourceSlice subresources');
    if (verb === 'create') return allowed;
    if (verb === 'get' || verb === 'delete' || changes.has(verb)) return this.#related(question, node);
    if (verb !== 'list' && verb !== 'watch' && verb !== 'deletecollection') {
      return noOpinion(
        'only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection',
      );
    }
    if (selects(question, 'nodeName', node)) return allowed;
    return noOpinion('can only list/watch/deletecollection resourceslices with nodeName field selector');
  }

  #pod(question: ResourceAttributes, node: string): Decision {
    const { subresource, verb } = question;
    if (subresource === 'status') return changes.has(verb) ? allowed : unsaid;
    if (subresource === 'eviction') return verb === 'create' ? allowed : unsaid;
    if (subresource !== '') return unsaid;
    switch (verb) {
      case 'get':
        return this.#get(question, node);
      case 'list':
      case 'watch':
        if (selects(question, 'spec.nodeName', node)) return allowed;
        if (question.name !== '') return this.#related(question, node);
        return noOpinion('can only list/watch pods with spec.nodeName field selector');
      // Which pods, is for admission to see.
      case 'create':
      case 'delete':
        return allowed;
      default:
        return unsaid;
    }
  }
}

const reads: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const changes: ReadonlySet<string> = new Set(['update', 'patch']);
/** What an agent may do with an object that carries the name of its node. */
const ownVerbs: ReadonlySet<string> = new Set(['get', 'create', 'update', 'patch', 'delete']);

const ruleKey = (group: string, resource: string): string => `${group}/${resource}`;

/** Whether a request is only for objects whose field has this value. */
const selects = ({ fieldSelector = [] }: ResourceAttributes, key: string, value: string): boolean =>
  fieldSelector.some(
    (requirement) =>
      requirement.operator === 'in' &&
      requirement.key === key &&
      requirement.values.size === 1 &&
      requirement.values.has(value),
  );

/** The lease by which a node says that it is alive. On create the name is not known yet: admission looks at it. */
function decideLease({ verb, namespace, name }: ResourceAttributes, node: string, { namespaces }: Dialect): Decision {
  if (!ownVerbs.has(verb)) return noOpinion('can only get, create, update, patch, or delete a node lease');
  if (namespace !== namespaces.nodeLease) {
    return noOpinion(`can only access leases in the ${JSON.stringify(namespaces.nodeLease)} system namespace`);
  }
  if (verb !== 'create' && name !== node) {
    return noOpinion('can only access node lease with the same name as the requesting node');
  }
  return allowed;
}

/** The storage drivers of a node. */
function decideDriverNode({ verb, subresource, name }: ResourceAttributes, node: string): Decision {
  if (!ownVerbs.has(verb)) return noOpinion('can only get, create, update, patch, or delete a CSINode');
  if (subresource !== '') return noOpinion('cannot authorize CSINode subresources');
  if (verb !== 'create' && name !== node) {
    return noOpinion('can only access CSINode with the same name as the requesting node');
  }
  return allowed;
}

/** Which node is written, is for admission to see. Reads go by name: an agent looks for its Node before there is one. */
function decideNode({ verb, subresource, name }: ResourceAttributes, node: string): Decision {
  if (subresource === 'status') return changes.has(verb) ? allowed : unsaid;
  if (subresource !== '') return unsaid;
  if (verb === 'create' || changes.has(verb)) return allowed;
  if (!reads.has(verb)) return unsaid;
  if (name === node) return allowed;
  if (name === '') return noOpinion(`node '${node}' cannot read all nodes, only its own Node object`);
  return noOpinion(`node '${node}' cannot read '${name}', only its own Node object`);
}
