import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { aggregate } from '../../kinds/rbac/aggregate.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { UserInfo } from '../../request/user-info.ts';
import { defaultPolicy } from './bootstrap-policy/default-policy.ts';
import { account, group, rule, urls, user } from './bootstrap-policy/policy-objects.ts';
import type { RbacIndex } from './rbac-index.ts';
import { indexOf, makeBinding, makeRole, makeUser, readQuestion } from './rbac-objects-fixture.ts';

/**
 * Tables of decisions: a request per line, then a mark for each user, `Y` if allowed. The marks were derived from spec sections
 * 5.7 and 5.8 by hand.
 */
function check(index: RbacIndex, users: readonly UserInfo[], table: string): void {
  for (const line of table.trim().split('\n')) {
    const [, question = '', marks = ''] = /^(.*)\s([Y.]+)$/.exec(line.trim()) ?? [];
    test(question.trim(), () => {
      assert.equal(marks.length, users.length, 'one mark for each user');
      const found = users.map((each) =>
        index.authorize(readQuestion(question), each).verdict === 'allow' ? 'Y' : '.',
      );
      assert.equal(found.join(''), marks);
    });
  }
}

const apps = { groups: ['apps'] };

describe('rules, bindings, subjects', () => {
  const world: ApiObject[] = [
    makeRole(
      'team',
      'own',
      rule('get list', 'configmaps'),
      rule('get update', 'secrets', { names: ['x', 'y'] }),
      rule('create', 'configmaps', { names: ['x'] }),
    ),
    makeBinding('team', 'own', 'Role/own', user('alice')),
    makeRole('other', 'own', rule('delete', 'configmaps')),
    makeBinding('other', 'own', 'Role/own', group('dev')),
    makeRole('', 'nodes', rule('get list watch', 'nodes'), urls('get', '/metrics /debug/*')),
    makeBinding('', 'nodes', 'ClusterRole/nodes', group('ops'), group('dev')),
    makeRole(
      '',
      'pods',
      rule('get list watch', 'pods pods/log'),
      rule('create', 'pods/exec'),
      rule('*', 'deployments', apps),
      urls('get', '/pods'),
    ),
    makeBinding('team', 'pods', 'ClusterRole/pods', user('carol'), { kind: 'ServiceAccount', name: 'robot' }),
    makeRole('', 'scaler', rule('get patch', '*/scale', { groups: ['*'] }), rule('delete', '*', apps)),
    makeBinding('', 'scaler', 'ClusterRole/scaler', account('team', 'robot')),
    makeRole('', 'root', rule('*', '*', { groups: ['*'] }), urls('*', '*')),
    makeBinding('', 'root', 'ClusterRole/root', user('frank')),
    makeBinding('team', 'ghost', 'Role/ghost', user('gina')),
    makeBinding('', 'gone', 'ClusterRole/gone', user('gina')),
    makeBinding('team', 'kept', 'Role/own', user('gina')),
    // Only a cluster role of this name exists.
    makeBinding('team', 'lookalike', 'Role/pods', user('hal')),
    // A cluster role binding can refer to cluster roles only, and provides no default namespace for service accounts.
    makeBinding('', 'lookalike', 'Role/own', user('hal'), { kind: 'ServiceAccount', name: 'robot' }),
    // Subjects match by kind.
    makeBinding('team', 'kinds', 'ClusterRole/root', user('dev'), group('hal'), { kind: 'Robot', name: 'hal' }),
  ];
  const users = [
    makeUser('alice', 'system:authenticated'),
    makeUser('bob', 'system:authenticated', 'dev'),
    makeUser('carol', 'system:authenticated'),
    makeUser('system:serviceaccount:team:robot', 'system:serviceaccounts', 'system:serviceaccounts:team'),
    makeUser('frank', 'system:authenticated'),
    makeUser('gina', 'system:authenticated'),
    makeUser('hal', 'system:authenticated'),
    makeUser('system:anonymous', 'system:unauthenticated'),
  ];
  // alice, bob, carol, robot, frank, gina, hal, anonymous
  check(
    indexOf(world),
    users,
    `
    get configmaps team              Y...YY..
    get configmaps team q            Y...YY..
    list configmaps team             Y...YY..
    watch configmaps team            ....Y...
    update configmaps team q         ....Y...
    delete configmaps team q         ....Y...
    delete configmaps other q        .Y..Y...
    delete configmaps                ....Y...
    deletecollection configmaps other ....Y...
    get configmaps other q           ....Y...
    get configmaps                   ....Y...
    get configmaps default q         ....Y...
    create configmaps team           ....Y...
    create configmaps team x         Y...YY..
    create configmaps team z         ....Y...
    get secrets team x               Y...YY..
    get secrets team y               Y...YY..
    get secrets team z               ....Y...
    get secrets team                 ....Y...
    list secrets team                ....Y...
    list secrets team x              ....Y...
    update secrets team x            Y...YY..
    patch secrets team x             ....Y...
    get secrets other x              ....Y...
    get secrets - x                  ....Y...
    get configmaps@apps team         ....Y...
    get configmap team               ....Y...
    get CONFIGMAPS team              ....Y...
    GET configmaps team              ....Y...
    get configmaps/status team q     ....Y...
    get nodes - n1                   .Y..Y...
    list nodes                       .Y..Y...
    watch nodes                      .Y..Y...
    update nodes - n1                ....Y...
    get nodes/status - n1            ....Y...
    get nodes team n1                .Y..Y...
    get pods team p                  ..YYY...
    list pods team                   ..YYY...
    watch pods team                  ..YYY...
    get pods other p                 ....Y...
    get pods                         ....Y...
    get pods/log team p              ..YYY...
    list pods/log team p             ..YYY...
    get pods/exec team p             ....Y...
    create pods/exec team p          ..YYY...
    create pods team                 ....Y...
    get pods/log other p             ....Y...
    get log team p                   ....Y...
    get pods/status team p           ....Y...
    get pods/logs team p             ....Y...
    get pods/lo team p               ....Y...
    delete pods team p               ....Y...
    get deployments@apps team d      ..YYY...
    frobnicate deployments@apps team d ..YYY...
    deletecollection deployments@apps team ..YYY...
    get deployments@apps other d     ....Y...
    get deployments@app team d       ....Y...
    get deployments team d           ....Y...
    delete deployments@apps other d  ...YY...
    delete statefulsets@apps         ...YY...
    delete statefulsets/scale@apps team s ...YY...
    delete statefulsets@extensions team s ....Y...
    get deployments/scale@apps team d ...YY...
    patch deployments/scale@apps - d ...YY...
    get things/scale@x.io other t    ...YY...
    get things/scale other t         ...YY...
    update things/scale@x.io other t ....Y...
    get scale@x.io other t           ....Y...
    get things/scales@x.io other t   ....Y...
    get things@x.io other t          ....Y...
    * deployments@apps team d        ..YYY...
    * configmaps team                ....Y...
    * *@*                            ....Y...
    get *@apps team                  ....Y...
    delete *@apps team               ...YY...
    get pods/* team p                ....Y...
    get /metrics                     .Y..Y...
    get /metrics/                    ....Y...
    get /metrics/slis                ....Y...
    post /metrics                    ....Y...
    get /debug                       ....Y...
    get /debug/                      .Y..Y...
    get /debug/pprof                 .Y..Y...
    get /debug/pprof/heap            .Y..Y...
    get /debugger                    ....Y...
    head /debug/pprof                ....Y...
    get /pods                        ....Y...
    get /                            ....Y...
    impersonate users - jane         ....Y...
    impersonate groups - dev         ....Y...
    bind clusterroles@rbac.authorization.orch.io - view ....Y...
    escalate roles@rbac.authorization.orch.io team own  ....Y...
  `,
  );
});

describe('the default roles', () => {
  const world = [
    ...sumUp(defaultPolicy(orch)),
    makeBinding('team', 'view', 'ClusterRole/view', user('vera')),
    makeBinding('team', 'edit', 'ClusterRole/edit', user('eddie')),
    makeBinding('team', 'admin', 'ClusterRole/admin', user('adam')),
    makeBinding('', 'roots', 'ClusterRole/cluster-admin', user('root')),
  ];
  const everybody = 'system:authenticated';
  const users = [
    makeUser('system:anonymous', 'system:unauthenticated'),
    makeUser('jane', everybody),
    makeUser('vera', everybody),
    makeUser('eddie', everybody),
    makeUser('adam', everybody),
    makeUser('root', everybody),
    makeUser(
      'system:serviceaccount:orch-system:namespace-controller',
      'system:serviceaccounts',
      'system:serviceaccounts:orch-system',
      everybody,
    ),
    makeUser('prometheus', 'system:monitoring', everybody),
  ];
  const [authn, authz, rbac] = ['authentication', 'authorization', 'rbac.authorization'].map((each) =>
    orch.group(each),
  );
  // anonymous, jane, view, edit, admin, cluster-admin, namespace controller, monitoring
  check(
    indexOf(world),
    users,
    `
    get /version                     YYYYYYYY
    get /version/                    YYYYYYYY
    get /healthz                     YYYYYYYY
    get /livez                       YYYYYYYY
    get /readyz                      YYYYYYYY
    get /livez/ping                  .....Y.Y
    get /healthz/x                   .....Y.Y
    get /metrics                     .....Y.Y
    get /metrics/slis                .....Y.Y
    get /metrics/other               .....Y..
    get /api                         .YYYYYYY
    get /api/v1                      .YYYYYYY
    get /apis                        .YYYYYYY
    get /apis/x/y                    .YYYYYYY
    get /openapi/v3                  .YYYYYYY
    post /api                        .....Y..
    get /apiX                        .....Y..
    get /                            .....Y..
    get /.well-known/openid-configuration .....YY.
    get /openid/v1/jwks              .....YY.
    create selfsubjectaccessreviews@${authz}  .YYYYYYY
    create selfsubjectrulesreviews@${authz}   .YYYYYYY
    create selfsubjectreviews@${authn}        .YYYYYYY
    create subjectaccessreviews@${authz}      .....Y..
    create localsubjectaccessreviews@${authz} team ....YY..
    create localsubjectaccessreviews@${authz} default .....Y..
    create tokenreviews@${authn}              .....Y..
    get configmaps team x            ..YYYYY.
    list pods team                   ..YYYYY.
    get pods/log team p              ..YYYYY.
    get secrets team s               ...YYYY.
    get roles@${rbac} team           ....YYY.
    create roles@${rbac} team        ....YY..
    patch rolebindings@${rbac} team b ....YY..
    escalate roles@${rbac} team r    .....Y..
    bind clusterroles@${rbac} - view .....Y..
    create clusterroles@${rbac}      .....Y..
    create configmaps team           ...YYY..
    delete configmaps team c         ...YYYY.
    deletecollection configmaps team ...YYYY.
    create pods/exec team p          ...YYY..
    create pods/eviction team p      ...YYY..
    create serviceaccounts/token team s ...YYY..
    impersonate serviceaccounts team s ...YYY..
    impersonate users - jane         .....Y..
    update pods/status team p        .....Y..
    create endpoints team            .....Y..
    get endpoints team e             ..YYYYY.
    create endpointslices@discovery.orch.io team .....Y..
    get endpointslices@discovery.orch.io team    ..YYYYY.
    get namespaces team team         ..YYYYY.
    list namespaces                  .....YY.
    delete namespaces - team         .....YY.
    update namespaces/finalize - team .....YY.
    get nodes - n                    .....YY.
    get leases@coordination.orch.io team l ...YYYY.
    create deployments@apps team     ...YYY..
    get deployments@apps team        ..YYYYY.
    get configmaps default x         .....YY.
    list configmaps                  .....YY.
    patch resourcequotas team q      .....Y..
    get resourcequotas team q        ..YYYYY.
    get things@x.io team t           .....YY.
  `,
  );
});

/** Fills in aggregated roles as the controller does. */
function sumUp(objects: readonly ApiObject[]): readonly ApiObject[] {
  const roles = objects.filter(({ kind }) => kind === 'ClusterRole');
  for (let changed = true; changed; ) {
    changed = false;
    for (const role of roles) {
      const rules = aggregate(role, roles);
      if (!rules || JSON.stringify(rules) === JSON.stringify(role['rules'])) continue;
      role['rules'] = rules;
      changed = true;
    }
  }
  return objects;
}
