import type { Dialect } from '../../dialect/dialect.ts';
import { nodeNameOf } from '../../request/node-user.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { Attributes, Authorizer, Decision, ResourceAttributes } from '../authorizer.ts';
import { nodeRules } from '../rbac/bootstrap-policy/component-roles.ts';
import { allowedNames, type CompiledRole, compileRole } from '../rbac/compiled-role.ts';
import type { RuleResolver, UserRules } from '../rule-resolver.ts';
import type { NodeGraph } from './node-graph.ts';

/** Decides about requests for one resource from the kubelet of `node`. */
type Rule = (question: ResourceAttributes, node: string) => Decision;

const allowed: Decision = { verdict: 'allow', reason: '' };
const noOpinion = (reason: string): Decision => ({ verdict: 'noOpinion', reason });
const unsaid = noOpinion('');

/**
 * Permissions of kubelets (mode `Node`, spec section 5.7), as in Kubernetes 1.32 with reads of nodes and pods restricted to
 * their own (KEP-4601). A kubelet may:
 *
 * - read the secrets, config maps, claims and volumes that pods on its node refer to, and request tokens for their service
 *   accounts;
 * - read its own node and its pods; write nodes and pods within the limits of NodeRestriction;
 * - maintain its node's lease and CSINode;
 * - do what the node role allows, on any object of other resources.
 *
 * It never denies: requests it does not allow are left to the next authorizer. Decisions do not depend on Node objects: a
 * deleted node that still has pods keeps its access to their objects.
 */
export class NodeAuthorizer implements Authorizer, RuleResolver {
  readonly #graph: NodeGraph;
  readonly #rules: ReadonlyMap<string, Rule>;
  readonly #role: CompiledRole;
  /** Resolves when the graph is complete; undefined from then on. */
  #filling: Promise<void> | undefined;

  /** `filled` resolves when the graph is complete; earlier decisions wait for it. */
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
    // The node role has no paths.
    if (attributes.type === 'path') return unsaid;
    return this.#filling ? this.#filling.then(() => this.#decide(attributes, node)) : this.#decide(attributes, node);
  }

  #decide(question: ResourceAttributes, node: string): Decision {
    const rule = this.#rules.get(ruleKey(question.group, question.resource));
    return rule ? rule(question, node) : this.#byRole(question);
  }

  /** A node's permissions follow from its pods and cannot be listed. */
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

  /** Last check of most rules: the graph must entitle the node to the object. */
  #related(question: ResourceAttributes, node: string): Decision {
    if (question.name === '') return noOpinion('No Object name found');
    if (this.#graph.isEntitled(node, question)) return allowed;
    return noOpinion(`no relationship found between node '${node}' and this object`);
  }

  /** Includes lists and watches of a single object by name, which kubelets use. */
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

  /** The kubelet reports the progress of a volume resize in the claim's status. */
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

  /** Admission restricts which slices a node creates and deletes as a collection. */
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
    if (selects(question, 'spec.nodeName', node)) return allowed;
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
      // Admission restricts which pods.
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
/** Verbs allowed on an object that is named after the node. */
const ownVerbs: ReadonlySet<string> = new Set(['get', 'create', 'update', 'patch', 'delete']);

const ruleKey = (group: string, resource: string): string => `${group}/${resource}`;

/** True if the request selects only objects whose field has this value. */
const selects = ({ fieldSelector = [] }: ResourceAttributes, key: string, value: string): boolean =>
  fieldSelector.some(
    (requirement) =>
      requirement.operator === 'in' &&
      requirement.key === key &&
      requirement.values.size === 1 &&
      requirement.values.has(value),
  );

/** The node's heartbeat lease. On create the name is not known yet; admission checks it. */
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

/** The node's CSI drivers. */
function decideDriverNode({ verb, subresource, name }: ResourceAttributes, node: string): Decision {
  if (!ownVerbs.has(verb)) return noOpinion('can only get, create, update, patch, or delete a CSINode');
  if (subresource !== '') return noOpinion('cannot authorize CSINode subresources');
  if (verb !== 'create' && name !== node) {
    return noOpinion('can only access CSINode with the same name as the requesting node');
  }
  return allowed;
}

/**
 * Admission restricts which node is written. Reads are checked by name, since a kubelet looks for its Node before it exists.
 */
function decideNode({ verb, subresource, name }: ResourceAttributes, node: string): Decision {
  if (subresource === 'status') return changes.has(verb) ? allowed : unsaid;
  if (subresource !== '') return unsaid;
  if (verb === 'create' || changes.has(verb)) return allowed;
  if (!reads.has(verb)) return unsaid;
  if (name === node) return allowed;
  if (name === '') return noOpinion(`node '${node}' cannot read all nodes, only its own Node object`);
  return noOpinion(`node '${node}' cannot read '${name}', only its own Node object`);
}
