import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { parseFieldSelector } from '../../meta/selectors.ts';
import type { Attributes } from '../authorizer.ts';
import { makeUser, readQuestion } from '../rbac/rbac-objects-fixture.ts';
import { graphOf, makeNodeNamed, makePod, makeVolume } from './graph-fixture.ts';
import { NodeAuthorizer } from './node-authorizer.ts';
import { NodeGraph } from './node-graph.ts';

const everything = makePod('ns/all', {
  node: 'n1',
  spec: {
    serviceAccountName: 'account',
    imagePullSecrets: [{ name: 'pull' }, {}, { name: '' }],
    initContainers: [{ name: 'i', env: [{ name: 'E', valueFrom: { secretKeyRef: { name: 'init-env', key: 'k' } } }] }],
    containers: [
      {
        name: 'c',
        env: [
          { name: 'E', valueFrom: { secretKeyRef: { name: 'env', key: 'k' } } },
          { name: 'F', valueFrom: { configMapKeyRef: { name: 'env', key: 'k' } } },
          { name: 'G', value: 'plain' },
        ],
        envFrom: [{ secretRef: { name: 'env-from' } }, { configMapRef: { name: 'env-from' } }],
      },
    ],
    ephemeralContainers: [
      { name: 'e', envFrom: [{ secretRef: { name: 'late' } }, { configMapRef: { name: 'late' } }] },
    ],
    volumes: [
      { name: 'v1', secret: { secretName: 'volume' } },
      { name: 'v2', configMap: { name: 'volume' } },
      {
        name: 'v3',
        projected: {
          sources: [{ secret: { name: 'projected' } }, { configMap: { name: 'projected' } }, { downwardAPI: {} }],
        },
      },
      { name: 'v4', azureFile: { secretName: 'azure', shareName: 's' } },
      { name: 'v5', cephfs: { monitors: [], secretRef: { name: 'ceph' } } },
      { name: 'v6', cinder: { volumeID: 'v', secretRef: { name: 'cinder' } } },
      { name: 'v7', csi: { driver: 'd', nodePublishSecretRef: { name: 'csi' } } },
      { name: 'v8', flexVolume: { driver: 'd', secretRef: { name: 'flex' } } },
      { name: 'v9', iscsi: { targetPortal: 't', iqn: 'i', secretRef: { name: 'iscsi' } } },
      { name: 'v10', rbd: { monitors: [], image: 'i', secretRef: { name: 'rbd' } } },
      { name: 'v11', scaleIO: { gateway: 'g', system: 's', secretRef: { name: 'scaleio' } } },
      { name: 'v12', storageos: { secretRef: { name: 'storageos' } } },
      { name: 'v13', persistentVolumeClaim: { claimName: 'claim' } },
      { name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: {} } } },
      { name: 'v14', emptyDir: {} },
    ],
    resourceClaims: [
      { name: 'direct', resourceClaimName: 'direct' },
      { name: 'made', resourceClaimTemplateName: 'template' },
      { name: 'unmade', resourceClaimTemplateName: 'template' },
      { name: 'needless', resourceClaimTemplateName: 'template' },
      { name: 'neither' },
    ],
  },
  status: { resourceClaimStatuses: [{ name: 'made', resourceClaimName: 'all-made' }, { name: 'needless' }] },
});

const graph = graphOf(orch, {
  pods: [
    everything,
    makePod('ns/two', {
      node: 'n2',
      spec: {
        serviceAccountName: 'account-2',
        volumes: [
          { name: 'a', secret: { secretName: 'volume' } },
          { name: 'b', secret: { secretName: 'two' } },
          { name: 'c', persistentVolumeClaim: { claimName: 'claim-2' } },
        ],
        resourceClaims: [{ name: 'p', resourceClaimTemplateName: 'template' }],
      },
      status: {
        resourceClaimStatuses: [
          { name: 'q', resourceClaimName: 'stale' },
          { name: 'p', resourceClaimName: 'fresh' },
        ],
      },
    }),
    makePod('ns/shown', {
      node: 'n1',
      annotations: { 'orch.io/config.mirror': '' },
      spec: {
        serviceAccountName: 'shown',
        volumes: [
          { name: 'a', secret: { secretName: 'shown' } },
          { name: 'b', configMap: { name: 'shown' } },
          { name: 'c', persistentVolumeClaim: { claimName: 'shown' } },
        ],
        resourceClaims: [{ name: 'd', resourceClaimName: 'shown' }],
      },
    }),
    makePod('ns/waiting', { spec: { volumes: [{ name: 'a', secret: { secretName: 'waiting' } }] } }),
    makePod('ns/unassigned', { node: '', spec: { volumes: [{ name: 'a', secret: { secretName: 'waiting' } }] } }),
    makePod('other/two', { node: 'n2', spec: { volumes: [{ name: 'a', secret: { secretName: 'env' } }] } }),
  ],
  persistentvolumes: [
    makeVolume('vol', 'ns/claim', {
      csi: {
        nodeStageSecretRef: { name: 'stage', namespace: 'vault' },
        nodePublishSecretRef: { name: 'publish', namespace: 'vault' },
        nodeExpandSecretRef: { name: 'expand', namespace: 'vault' },
        controllerPublishSecretRef: { name: 'controller', namespace: 'vault' },
        controllerExpandSecretRef: { name: 'controller', namespace: 'vault' },
      },
    }),
    makeVolume('vol-2', 'ns/claim-2', { azureFile: { secretName: 'azure-2' } }),
    makeVolume('vol-azure', 'ns/claim', { azureFile: { secretName: 'azure-far', secretNamespace: 'vault' } }),
    makeVolume('vol-ceph', 'ns/claim', { cephfs: { secretRef: { name: 'ceph-near' } } }),
    makeVolume('vol-rbd', 'ns/claim', { rbd: { secretRef: { name: 'rbd-far', namespace: 'vault' } } }),
    makeVolume('vol-cinder', 'ns/claim', { cinder: { secretRef: { name: 'cinder-far', namespace: 'vault' } } }),
    makeVolume('vol-free', undefined, { rbd: { secretRef: { name: 'free', namespace: 'vault' } } }),
    makeVolume('vol-other', 'ns/nobodys', { rbd: { secretRef: { name: 'nobodys', namespace: 'vault' } } }),
  ],
  volumeattachments: [makeNodeNamed('attached-1', 'n1'), makeNodeNamed('attached-2', 'n2'), makeNodeNamed('loose')],
  resourceslices: [makeNodeNamed('slice-1', 'n1'), makeNodeNamed('slice-2', 'n2'), makeNodeNamed('slice-all')],
});
const authorizer = new NodeAuthorizer(graph, orch);

const nodes = 'system:nodes';
const users = [
  makeUser('system:node:n1', nodes, 'system:authenticated'),
  makeUser('system:node:n2', 'system:authenticated', nodes),
  // A node without objects in the graph.
  makeUser('system:node:n3', nodes),
  // Not nodes: no node name, no group, another user name.
  makeUser('system:node:', nodes),
  makeUser('system:node:n1', 'system:authenticated'),
  makeUser('n1', nodes),
  makeUser('system:nodes:n1', nodes),
];

/** A request in the notation of the RBAC tests, with a field selector after `?`. */
function read(text: string): Attributes {
  const [question = '', selector] = text.trim().split('?');
  const attributes = readQuestion(question);
  return selector === undefined || attributes.type === 'path'
    ? attributes
    : { ...attributes, fieldSelector: parseFieldSelector(selector) };
}

/** Each line has one mark for each of the first three users; the other users are never allowed. */
function check(table: string): void {
  for (const line of table.trim().split('\n')) {
    const [, question = '', marks = ''] = /^(.*)\s([Y.]{3})$/.exec(line.trim()) ?? [];
    test(question.trim(), async () => {
      const decisions = await Promise.all(users.map((user) => authorizer.authorize(read(question), user)));
      const found = decisions.map(({ verdict }) => (verdict === 'allow' ? 'Y' : '.')).join('');
      assert.equal(found, `${marks}....`);
      for (const { verdict } of decisions) assert.notEqual(verdict, 'deny');
    });
  }
}

describe('secrets', () => {
  check(`
    get secrets ns pull                                  Y..
    get secrets ns init-env                              Y..
    get secrets ns env                                   Y..
    get secrets ns env-from                              Y..
    get secrets ns late                                  Y..
    get secrets ns volume                                YY.
    get secrets ns projected                             Y..
    get secrets ns azure                                 Y..
    get secrets ns ceph                                  Y..
    get secrets ns cinder                                Y..
    get secrets ns csi                                   Y..
    get secrets ns flex                                  Y..
    get secrets ns iscsi                                 Y..
    get secrets ns rbd                                   Y..
    get secrets ns scaleio                               Y..
    get secrets ns storageos                             Y..
    get secrets ns two                                   .Y.
    get secrets other env                                .Y.
    get secrets other volume                             ...
    get secrets ns shown                                 ...
    get secrets ns waiting                               ...
    get secrets ns none                                  ...
    list secrets ns env                                  Y..
    watch secrets ns env                                 Y..
    list secrets ns -                                    ...
    watch secrets ns -                                   ...
    list secrets - env                                   ...
    get secrets - env                                    ...
    list secrets - -                                     ...
    list secrets ns -?metadata.namespace=ns              ...
    create secrets ns env                                ...
    update secrets ns env                                ...
    patch secrets ns env                                 ...
    delete secrets ns env                                ...
    deletecollection secrets ns -                        ...
    get secrets/status ns env                            ...
    get secrets@example.com ns env                       ...
  `);
});

describe('secrets of volumes', () => {
  check(`
    get secrets vault stage                              Y..
    get secrets vault publish                            Y..
    get secrets vault expand                             Y..
    get secrets vault controller                         ...
    get secrets ns azure-2                               .Y.
    get secrets vault azure-far                          Y..
    get secrets ns ceph-near                             Y..
    get secrets vault rbd-far                            Y..
    get secrets vault cinder-far                         Y..
    get secrets vault free                               ...
    get secrets vault nobodys                            ...
    get secrets ns stage                                 ...
  `);
});

describe('config maps', () => {
  check(`
    get configmaps ns env                                Y..
    get configmaps ns env-from                           Y..
    get configmaps ns late                               Y..
    get configmaps ns volume                             Y..
    get configmaps ns projected                          Y..
    get configmaps ns shown                              ...
    get configmaps ns pull                               ...
    list configmaps ns volume                            Y..
    watch configmaps ns volume                           Y..
    watch configmaps ns -                                ...
    watch configmaps - volume                            ...
    update configmaps ns volume                          ...
    get configmaps/status ns volume                      ...
  `);
});

describe('claims, volumes, attachments, devices', () => {
  check(`
    get persistentvolumeclaims ns claim                  Y..
    get persistentvolumeclaims ns claim-2                .Y.
    get persistentvolumeclaims ns all-scratch            Y..
    get persistentvolumeclaims ns shown                  ...
    list persistentvolumeclaims ns claim                 ...
    watch persistentvolumeclaims ns claim                ...
    get persistentvolumeclaims/status ns claim           ...
    update persistentvolumeclaims/status ns claim        Y..
    patch persistentvolumeclaims/status ns claim         Y..
    patch persistentvolumeclaims/status ns claim-2       .Y.
    patch persistentvolumeclaims/status ns -             ...
    update persistentvolumeclaims ns claim               ...
    get persistentvolumes - vol                          Y..
    get persistentvolumes - vol-2                        .Y.
    get persistentvolumes - vol-free                     ...
    get persistentvolumes - vol-other                    ...
    list persistentvolumes - vol                         ...
    get persistentvolumes/status - vol                   ...
    get volumeattachments@storage.orch.io - attached-1   Y..
    get volumeattachments@storage.orch.io - attached-2   .Y.
    get volumeattachments@storage.orch.io - loose        ...
    list volumeattachments@storage.orch.io - -           ...
    get volumeattachments@storage.k8s.io - attached-1    ...
    get resourceclaims@resource.orch.io ns direct        Y..
    get resourceclaims@resource.orch.io ns all-made      Y..
    get resourceclaims@resource.orch.io ns fresh         .Y.
    get resourceclaims@resource.orch.io ns stale         ...
    get resourceclaims@resource.orch.io ns template      ...
    get resourceclaims@resource.orch.io ns unmade        ...
    get resourceclaims@resource.orch.io ns needless      ...
    get resourceclaims@resource.orch.io ns shown         ...
    update resourceclaims@resource.orch.io ns direct     ...
    get resourceclaims/status@resource.orch.io ns direct ...
    get resourceslices@resource.orch.io - slice-1        Y..
    update resourceslices@resource.orch.io - slice-1     Y..
    patch resourceslices@resource.orch.io - slice-2      .Y.
    delete resourceslices@resource.orch.io - slice-1     Y..
    get resourceslices@resource.orch.io - slice-all      ...
    get resourceslices/status@resource.orch.io - slice-1 ...
    create resourceslices@resource.orch.io - -           YYY
    list resourceslices@resource.orch.io - -             ...
    list resourceslices@resource.orch.io - -?spec.nodeName=n1               Y..
    watch resourceslices@resource.orch.io - -?spec.nodeName==n2             .Y.
    deletecollection resourceslices@resource.orch.io - -?spec.nodeName=n1   Y..
    list resourceslices@resource.orch.io - -?spec.nodeName!=n1              ...
    list resourceslices@resource.orch.io - -?nodeName=n1          ...
    escalate resourceslices@resource.orch.io - slice-1   ...
  `);
});

describe('tokens of service accounts', () => {
  check(`
    create serviceaccounts/token ns account              Y..
    create serviceaccounts/token ns account-2            .Y.
    create serviceaccounts/token ns shown                ...
    create serviceaccounts/token ns default              ...
    create serviceaccounts/token other account           ...
    create serviceaccounts/token ns -                    ...
    create serviceaccounts ns account                    ...
    get serviceaccounts ns account                       ...
    get serviceaccounts/token ns account                 ...
    update serviceaccounts/token ns account              ...
    impersonate serviceaccounts ns account               ...
  `);
});

describe('leases and storage drivers of the node', () => {
  check(`
    get leases@coordination.orch.io orch-node-lease n1          Y..
    update leases@coordination.orch.io orch-node-lease n2       .Y.
    patch leases@coordination.orch.io orch-node-lease n3        ..Y
    delete leases@coordination.orch.io orch-node-lease n1       Y..
    create leases@coordination.orch.io orch-node-lease -        YYY
    create leases@coordination.orch.io orch-node-lease other    YYY
    list leases@coordination.orch.io orch-node-lease -          ...
    watch leases@coordination.orch.io orch-node-lease n1        ...
    deletecollection leases@coordination.orch.io orch-node-lease - ...
    get leases@coordination.orch.io orch-system n1              ...
    create leases@coordination.orch.io orch-system -            ...
    create leases@coordination.orch.io - -                      ...
    get leases@coordination.orch.io kube-node-lease n1          ...
    get leases@coordination.k8s.io orch-node-lease n1           ...
    get csinodes@storage.orch.io - n1                           Y..
    patch csinodes@storage.orch.io - n2                         .Y.
    delete csinodes@storage.orch.io - n3                        ..Y
    create csinodes@storage.orch.io - -                         YYY
    update csinodes@storage.orch.io - other                     ...
    list csinodes@storage.orch.io - -                           ...
    watch csinodes@storage.orch.io - n1                         ...
    get csinodes/drivers@storage.orch.io - n1                   ...
  `);
});

describe('nodes', () => {
  check(`
    get nodes - n1                                       Y..
    get nodes - n3                                       ..Y
    list nodes - n1                                      Y..
    watch nodes - n2                                     .Y.
    list nodes - -                                       ...
    watch nodes - -                                      ...
    list nodes - -?metadata.name=n1                      ...
    create nodes - -                                     YYY
    update nodes - n1                                    YYY
    patch nodes - other                                  YYY
    delete nodes - n1                                    ...
    deletecollection nodes - -                           ...
    update nodes/status - n1                             YYY
    patch nodes/status - n1                              YYY
    get nodes/status - n1                                ...
    get nodes/proxy - n1                                 ...
    create nodes/proxy - n1                              ...
    get nodes/log - n1                                   ...
  `);
});

describe('pods', () => {
  check(`
    get pods ns all                                      Y..
    get pods ns shown                                    Y..
    get pods ns two                                      .Y.
    get pods ns waiting                                  ...
    get pods ns none                                     ...
    list pods - -?spec.nodeName=n1                       Y..
    list pods ns -?spec.nodeName==n2                     .Y.
    watch pods - -?spec.nodeName=n3                      ..Y
    watch pods - -?status.phase=Running,spec.nodeName=n1 Y..
    watch pods - -?spec.nodeName!=n2                     ...
    watch pods - -?spec.nodeName=                        ...
    watch pods - -?nodeName=n1                           ...
    watch pods - -?spec.nodeName=n1,spec.nodeName=n2     YY.
    list pods ns all                                     Y..
    watch pods ns two                                    .Y.
    list pods - -                                        ...
    list pods ns -                                       ...
    create pods ns -                                     YYY
    delete pods ns two                                   YYY
    update pods ns all                                   ...
    patch pods ns all                                    ...
    deletecollection pods ns -                           ...
    update pods/status ns all                            YYY
    patch pods/status ns two                             YYY
    get pods/status ns all                               ...
    create pods/eviction ns two                          YYY
    get pods/eviction ns all                             ...
    create pods/binding ns waiting                       ...
    create pods/exec ns all                              ...
    get pods/log ns all                                  ...
    patch pods/ephemeralcontainers ns all                ...
    get pods@metrics.orch.io ns all                      ...
  `);
});

describe('permissions of the node role', () => {
  check(`
    create tokenreviews@authentication.orch.io - -                          YYY
    create subjectaccessreviews@authorization.orch.io - -                   YYY
    create localsubjectaccessreviews@authorization.orch.io ns -             YYY
    create selfsubjectaccessreviews@authorization.orch.io - -               ...
    get services ns s                                                       YYY
    list services - -                                                       YYY
    watch services - -                                                      YYY
    update services ns s                                                    ...
    get endpoints ns e                                                      YYY
    list endpoints ns -                                                     ...
    create events ns -                                                      YYY
    patch events other e                                                    YYY
    get events ns e                                                         ...
    create certificatesigningrequests@certificates.orch.io - -              YYY
    get certificatesigningrequests@certificates.orch.io - c                 YYY
    list certificatesigningrequests@certificates.orch.io - -                YYY
    watch certificatesigningrequests@certificates.orch.io - -               YYY
    update certificatesigningrequests/approval@certificates.orch.io - c     ...
    update certificatesigningrequests/status@certificates.orch.io - c       ...
    approve signers@certificates.orch.io - orch.io/node-agent-serving       ...
    delete certificatesigningrequests@certificates.orch.io - c              ...
    create certificatesigningrequests/selfnodeclient@certificates.orch.io - -   ...
    list csidrivers@storage.orch.io - -                                     YYY
    create csidrivers@storage.orch.io - -                                   ...
    watch runtimeclasses@node.orch.io - -                                   YYY
    list clustertrustbundles@certificates.orch.io - -                       YYY
    get clusterroles@rbac.authorization.orch.io - cluster-admin             ...
    get namespaces ns ns                                                    ...
    escalate clusterroles@rbac.authorization.orch.io - -                    ...
    get /healthz                                                            ...
    get /metrics                                                            ...
  `);
});

describe('reasons', () => {
  const unrelated = "no relationship found between node 'n1' and this object";
  const rows: readonly (readonly [question: string, reason: string])[] = [
    ['get secrets ns two', unrelated],
    ['get secrets ns none', unrelated],
    ['list secrets ns -', 'No Object name found'],
    ['create secrets ns volume', 'can only read resources of this type'],
    ['get secrets/x ns volume', 'cannot read subresource'],
    ['get secrets - volume', 'can only read namespaced object of this type'],
    ['list persistentvolumes - -', 'can only get individual resources of this type'],
    ['get persistentvolumes/status - vol', 'cannot get subresource'],
    ['get persistentvolumeclaims/status ns claim', 'can only get/update/patch this type'],
    ['get serviceaccounts ns account', 'can only create tokens for individual service accounts'],
    ['create serviceaccounts ns account', 'can only create token subresource of serviceaccount'],
    ['create serviceaccounts/token ns other', unrelated],
    [
      'list leases@coordination.orch.io orch-node-lease -',
      'can only get, create, update, patch, or delete a node lease',
    ],
    ['get leases@coordination.orch.io ns n1', 'can only access leases in the "orch-node-lease" system namespace'],
    [
      'get leases@coordination.orch.io orch-node-lease n2',
      'can only access node lease with the same name as the requesting node',
    ],
    ['list csinodes@storage.orch.io - -', 'can only get, create, update, patch, or delete a CSINode'],
    ['get csinodes/x@storage.orch.io - n1', 'cannot authorize CSINode subresources'],
    ['get csinodes@storage.orch.io - n2', 'can only access CSINode with the same name as the requesting node'],
    ['get resourceslices/x@resource.orch.io - slice-1', 'cannot authorize ResourceSlice subresources'],
    [
      'list resourceslices@resource.orch.io - -',
      'can only list/watch/deletecollection resourceslices with nodeName field selector',
    ],
    [
      'bind resourceslices@resource.orch.io - -',
      'only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection',
    ],
    ['list nodes - -', "node 'n1' cannot read all nodes, only its own Node object"],
    ['get nodes - n2', "node 'n1' cannot read 'n2', only its own Node object"],
    ['delete nodes - n1', ''],
    ['list pods - -', 'can only list/watch pods with spec.nodeName field selector'],
    ['get pods ns two', unrelated],
    ['update pods ns all', ''],
    ['get namespaces - ns', ''],
  ];
  for (const [question, reason] of rows) {
    test(question, () => {
      const [user] = users;
      assert.ok(user);
      assert.deepEqual(authorizer.authorize(read(question), user), { verdict: 'noOpinion', reason });
    });
  }

  test('the node of a user', () => {
    const question = read('get nodes - n1');
    const reasonOf = (name: string, ...groups: readonly string[]): unknown =>
      authorizer.authorize(question, makeUser(name, ...groups));
    assert.deepEqual(reasonOf('system:node:', nodes), {
      verdict: 'noOpinion',
      reason: 'unknown node for user "system:node:"',
    });
    assert.deepEqual(reasonOf('system:node:n1'), { verdict: 'noOpinion', reason: '' });
    assert.deepEqual(reasonOf('jane', nodes), { verdict: 'noOpinion', reason: '' });
  });
});

describe('names of the other dialect', () => {
  const mirror = { annotations: { 'kubernetes.io/config.mirror': 'x' }, node: 'n1' };
  const secret = (name: string) => ({ volumes: [{ name: 'a', secret: { secretName: name } }] });
  const other = new NodeAuthorizer(
    graphOf(kubernetes, {
      pods: [
        makePod('ns/mirror', { ...mirror, spec: secret('mirrored') }),
        makePod('ns/own', { node: 'n1', annotations: { 'orch.io/config.mirror': 'x' }, spec: secret('own') }),
      ],
    }),
    kubernetes,
  );
  for (const [question, expected] of [
    ['get secrets ns mirrored', 'noOpinion'],
    ['get secrets ns own', 'allow'],
    ['get leases@coordination.k8s.io kube-node-lease n1', 'allow'],
    ['get leases@coordination.orch.io kube-node-lease n1', 'noOpinion'],
    ['get csinodes@storage.k8s.io - n1', 'allow'],
    ['create certificatesigningrequests@certificates.k8s.io - -', 'allow'],
  ] as const) {
    test(question, async () => {
      const user = makeUser('system:node:n1', nodes);
      assert.equal((await other.authorize(read(question), user)).verdict, expected);
    });
  }
});

test('rules of nodes cannot be listed', () => {
  assert.deepEqual(authorizer.rulesFor(makeUser('system:node:n1', nodes)), {
    resourceRules: [],
    pathRules: [],
    incomplete: true,
    errors: ['node authorizer does not support user rule resolution'],
  });
  assert.equal(authorizer.rulesFor(makeUser('system:node:', nodes)).incomplete, true);
  assert.deepEqual(authorizer.rulesFor(makeUser('jane')), {
    resourceRules: [],
    pathRules: [],
    incomplete: false,
    errors: [],
  });
});

test('only requests of nodes wait for the graph', async () => {
  const filled = Promise.withResolvers<void>();
  const graph = new NodeGraph(kubernetes);
  const waiting = new NodeAuthorizer(graph, kubernetes, filled.promise);
  const node = makeUser('system:node:n1', nodes);
  const question = read('get secrets ns own');
  const early = waiting.authorize(question, node);
  assert.ok(early instanceof Promise);
  assert.ok(!(waiting.authorize(question, makeUser('jane')) instanceof Promise));
  const pod = { spec: { nodeName: 'n1', volumes: [{ name: 'v', secret: { secretName: 'own' } }] } };
  graph.put('pods', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'ns' }, ...pod });
  filled.resolve();
  assert.equal((await early).verdict, 'allow');
  const late = waiting.authorize(question, node);
  assert.ok(!(late instanceof Promise));
  assert.equal(late.verdict, 'allow');
});
