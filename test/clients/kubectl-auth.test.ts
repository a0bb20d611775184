import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { as, Folder } from '../support/authorization.ts';
import { KubectlClient } from '../support/kubectl.ts';
import { kubectlReleases } from '../support/kubectl-releases.ts';
import { OrchProcess } from '../support/orch-process.ts';

/**
 * What the real client does about authorization, in every release that stands beside the one in use: `auth can-i`,
 * `auth reconcile`, `auth whoami`, `create role` and its like, impersonation, and the sentences that it prints. In the
 * dialect that it has compiled in; in the other one, what of it goes by discovery.
 */

const rbac = 'rbac.authorization.k8s.io';
const skip = kubectlReleases.length === 0 && 'kubectl is not installed';

/** Of these every question is asked; of the others those that tell releases apart. */
const asked = kubectlReleases.find(({ release }) => release === '1.32') ?? kubectlReleases.at(-1);

/** Not `*`, which has `bind` and `escalate` in it. */
const everyVerb = ['get', 'create', 'update', 'patch', 'delete'];

const users = { bob: ['dev'], ghosted: [], nobody: [], writer: [], 'system:node:n1': ['system:nodes'] };

describe('kubectl and what users may do', { skip, concurrency: 2 }, () => {
  const held = new AsyncDisposableStack();
  const folder = held.use(new Folder());
  let server: OrchProcess;
  before(async () => {
    server = held.use(await OrchProcess.start({ flags: ['--dialect=kubernetes', folder.tokens(users)] }));
  });
  after(() => held.disposeAsync());

  /** May write roles and bindings everywhere, and holds nothing else. */
  before(async () => {
    const made = [
      await server.post(`/apis/${rbac}/v1/clusterroles`, {
        metadata: { name: 'writer' },
        rules: [{ apiGroups: [rbac], resources: ['roles', 'rolebindings'], verbs: everyVerb }],
      }),
      await server.post(`/apis/${rbac}/v1/clusterrolebindings`, {
        metadata: { name: 'writer' },
        roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'writer' },
        subjects: [{ apiGroup: rbac, kind: 'User', name: 'writer' }],
      }),
    ];
    for (const { status, text } of made) assert.equal(status, 201, text);
  });

  for (const each of kubectlReleases) {
    describe(`release ${each.release}`, { concurrency: 1 }, () => {
      const namespace = `n${each.release.replace(/\D/g, '')}`;
      const name = `r${each.release}`;
      const inIt = ['-n', namespace];
      let client: KubectlClient;
      before(async () => {
        client = new KubectlClient(each, server);
        await client.prints(['create', 'namespace', namespace]);
      });

      test('create role, clusterrole, rolebinding, clusterrolebinding', async () => {
        const rows: readonly (readonly [kind: string, ...args: string[]])[] = [
          ['role', ...inIt, '--verb=get,list', '--resource=configmaps,pods/log'],
          ['clusterrole', '--verb=get', '--non-resource-url=/metrics'],
          [
            'rolebinding',
            ...inIt,
            `--role=${name}`,
            '--user=bob',
            '--group=dev',
            `--serviceaccount=${namespace}:robot`,
          ],
          ['clusterrolebinding', `--clusterrole=${name}`, '--user=bob'],
        ];
        for (const [kind, ...args] of rows) {
          const out = await client.prints(['create', kind, name, ...args]);
          assert.equal(out, `${kind}.${rbac}/${name} created\n`);
        }
        await client.prints([
          'create',
          'role',
          'named',
          ...inIt,
          '--verb=get',
          '--resource=secrets',
          '--resource-name=x',
        ]);
        await client.prints(['create', 'rolebinding', 'named', ...inIt, '--role=named', '--user=bob']);
        await client.prints(['create', 'rolebinding', 'ghost', ...inIt, '--role=ghost', '--user=ghosted']);
        const wide = await client.prints(['get', 'rolebinding', name, ...inIt, '-o', 'wide', '--no-headers']);
        assert.match(wide, new RegExp(`^${name} +Role/${name} +\\S+ +bob +dev +${namespace}/robot *$`, 'm'));
      });

      test('auth can-i', async () => {
        const admin = [
          [['create', 'pods'], 'yes'],
          [['*', '*'], 'yes'],
          [['*', '*', '-A'], 'yes'],
          [['get', 'configmaps', ...inIt, '--as=zoe', '--as-group=dev'], 'yes'],
          [['get', 'configmaps', ...inIt, `--as=system:serviceaccount:${namespace}:robot`], 'yes'],
          [['get', 'configmaps', ...inIt, '--as=zoe'], 'no'],
          [['list', 'pods', ...inIt, '--as=ghosted'], `no - RBAC: role.${rbac} "ghost" not found`],
        ] as const;
        const bob = [
          [['get', 'configmaps', ...inIt], 'yes'],
          [['get', 'configmaps/any', ...inIt], 'yes'],
          [['delete', 'configmaps', ...inIt], 'no'],
          [['get', 'configmaps', '-n', 'default'], 'no'],
          [['get', 'configmaps', '-A'], 'no'],
          [['get', 'pods', '--subresource=log', ...inIt], 'yes'],
          [['get', 'pods', ...inIt], 'no'],
          [['get', 'secrets/x', ...inIt], 'yes'],
          [['get', 'secrets/y', ...inIt], 'no'],
          [['get', 'pods', '-q', ...inIt], undefined],
          [['get', '/metrics'], 'yes'],
          [['get', '/logs'], 'no'],
        ] as const;
        for (const [who, rows] of [
          [undefined, admin],
          [as('bob'), bob],
        ] as const) {
          for (const [args, expected] of each === asked ? rows : rows.slice(-3)) {
            const { code, out, err } = await client.run(['auth', 'can-i', ...args], { as: who });
            const printed = expected === undefined ? '' : `${expected}\n`;
            assert.deepEqual([code, out], [expected === 'yes' ? 0 : 1, printed], `${args.join(' ')}: ${err}`);
          }
        }
      });

      test('auth can-i --list', async () => {
        const own = await client.prints(['auth', 'can-i', '--list', ...inIt], { as: as('bob') });
        assert.match(own, /^Resources\s+Non-Resource URLs\s+Resource Names\s+Verbs/);
        assert.match(own, /^configmaps\s+\[\]\s+\[\]\s+\[get list\]/m);
        assert.match(own, /^pods\/log\s+\[\]\s+\[\]\s+\[get list\]/m);
        assert.match(own, /^secrets\s+\[\]\s+\[x\]\s+\[get\]/m);
        assert.match(own, /^selfsubjectaccessreviews\.authorization\.k8s\.io\s+\[\]\s+\[\]\s+\[create\]/m);
        assert.match(own, /^\s+\[\/api\/\*\]\s+\[\]\s+\[get\]/m);
        if (each !== asked) return;
        const elsewhere = await client.prints(['auth', 'can-i', '--list', '-n', 'default'], { as: as('bob') });
        assert.doesNotMatch(elsewhere, /^secrets/m);
        const all = await client.prints(['auth', 'can-i', '--list']);
        assert.match(all, /^\*\.\*\s+\[\]\s+\[\]\s+\[\*\]/m);
        assert.match(all, /^\s+\[\*\]\s+\[\]\s+\[\*\]/m);
      });

      test('auth whoami, as somebody else', async () => {
        const zoe = ['--as=zoe', '--as-group=one', '--as-group=two', '--as-uid=u-1'];
        const { code, out, err } = await client.run(['auth', 'whoami', ...zoe]);
        if (each.release === '1.27') {
          // It knows only the beta of this kind, which servers of 1.32 do not serve unless told to.
          assert.match(err, /the selfsubjectreviews API is not enabled in the cluster/);
          return;
        }
        assert.equal(code, 0, err);
        assert.match(out, /^Username\s+zoe$/m);
        assert.match(out, /^UID\s+u-1$/m);
        assert.match(out, /^Groups\s+\[one two system:authenticated\]$/m);
      });

      test('auth reconcile', async () => {
        const manifest = (verbs: readonly string[], subjects: readonly string[], to = name): string =>
          JSON.stringify({
            apiVersion: 'v1',
            kind: 'List',
            items: [
              {
                apiVersion: `${rbac}/v1`,
                kind: 'Role',
                metadata: { name: 'rec', namespace },
                rules: [{ apiGroups: [''], resources: ['configmaps'], verbs }],
              },
              {
                apiVersion: `${rbac}/v1`,
                kind: 'RoleBinding',
                metadata: { name: 'rec', namespace },
                roleRef: { apiGroup: rbac, kind: to === name ? 'Role' : 'ClusterRole', name: to === name ? 'rec' : to },
                subjects: subjects.map((subject) => ({ apiGroup: rbac, kind: 'User', name: subject })),
              },
            ],
          });
        const reconcile = (input: string, ...more: readonly string[]): Promise<string> =>
          client.prints(['auth', 'reconcile', '-f', '-', ...more], { input });
        const path = `/apis/${rbac}/v1/namespaces/${namespace}`;
        const state = async (): Promise<readonly string[]> => {
          const { json: role } = await server.get<{ rules?: readonly { verbs: readonly string[] }[] }>(
            `${path}/roles/rec`,
          );
          const { json: bound } = await server.get<{
            subjects?: readonly { name: string }[];
            roleRef?: { name: string };
          }>(`${path}/rolebindings/rec`);
          return [
            (role.rules ?? []).flatMap(({ verbs }) => verbs).join(),
            (bound.subjects ?? []).map((subject) => subject.name).join(),
            bound.roleRef?.name ?? '',
          ];
        };
        await reconcile(manifest(['get'], ['u1']), '--dry-run=client');
        assert.deepEqual(await state(), ['', '', '']);
        const made = await reconcile(manifest(['get'], ['u1']));
        assert.match(made, new RegExp(`^role\\.${rbac}/rec reconciled$`, 'm'));
        assert.match(made, new RegExp(`^rolebinding\\.${rbac}/rec reconciled$`, 'm'));
        await reconcile(manifest(['list'], ['u2']));
        assert.deepEqual(await state(), ['get,list', 'u1,u2', 'rec']);
        await reconcile(manifest(['list'], ['u2']), '--remove-extra-permissions', '--remove-extra-subjects');
        assert.deepEqual(await state(), ['list', 'u2', 'rec']);
        await reconcile(manifest(['list'], ['u2'], 'view'));
        assert.deepEqual(await state(), ['list', 'u2', 'view'], 'the binding is made anew');

        const args = ['auth', 'reconcile', '-f', '-'];
        const refused = await client.refused(args, {
          as: as('writer'),
          input: manifest(['list', 'delete'], ['u2'], 'view'),
        });
        assert.match(refused, /user "writer" \(groups=\["system:authenticated"\]\) is attempting to grant RBAC/);
        assert.match(refused, /\{APIGroups:\[""\], Resources:\["configmaps"\], Verbs:\["list" "delete"\]\}$/);
      });

      test('refusals as the server says them', async () => {
        const rows: readonly (readonly [args: readonly string[], sentence: string])[] = [
          [
            ['get', 'secrets', ...inIt],
            `secrets is forbidden: User "bob" cannot list resource "secrets" in API group "" in the namespace "${namespace}"`,
          ],
          [
            ['get', 'pods', '--as=zoe'],
            'users "zoe" is forbidden: User "bob" cannot impersonate resource "users" in API group "" at the cluster scope',
          ],
          [
            ['get', 'nodes'],
            'nodes is forbidden: User "bob" cannot list resource "nodes" in API group "" at the cluster scope',
          ],
          [
            ['delete', 'configmap', 'x', ...inIt],
            `configmaps "x" is forbidden: User "bob" cannot delete resource "configmaps" in API group "" in the namespace "${namespace}"`,
          ],
          [['get', '--raw', '/logs'], 'forbidden: User "bob" cannot get path "/logs"'],
        ];
        for (const [args, sentence] of each === asked ? rows : rows.slice(0, 2)) {
          const said = await client.refused(args, { as: as('bob') });
          assert.equal(said, `Error from server (Forbidden): ${sentence}`);
        }
        const create = ['create', 'role', 'up', ...inIt, '--verb=get', '--resource=secrets'];
        assert.match(
          await client.refused(create, { as: as('bob') }),
          /roles\.rbac\.authorization\.k8s\.io is forbidden: User "bob" cannot create resource "roles" in API group/,
        );
      });
    });
  }

  describe('as a node', () => {
    const node = { as: as('system:node:n1') };
    test('auth can-i', async () => {
      assert.ok(asked);
      const client = new KubectlClient(asked, server);
      const pod = {
        metadata: { name: 'p' },
        spec: {
          nodeName: 'n1',
          containers: [{ name: 'c', image: 'i' }],
          volumes: [{ name: 's', secret: { secretName: 'mounted' } }],
        },
      };
      await server.post('/api/v1/namespaces', { metadata: { name: 'team' } });
      const { status, text } = await server.post('/api/v1/namespaces/team/pods', pod);
      assert.equal(status, 201, text);
      const nothing = "no - no relationship found between node 'n1' and this object";
      for (const [args, expected] of [
        [['get', 'secrets/mounted'], 'yes'],
        [['get', 'secrets/other'], nothing],
        [['get', 'secrets'], 'no - No Object name found'],
        [['get', 'pods/p'], 'yes'],
        [['get', 'nodes/n1'], 'yes'],
        [['get', 'nodes/n2'], "no - node 'n1' cannot read 'n2', only its own Node object"],
        [['list', 'pods'], 'no - can only list/watch pods with spec.nodeName field selector'],
        [['patch', 'pods/p', '--subresource=status'], 'yes'],
      ] as const) {
        const { out, err } = await client.run(['auth', 'can-i', '-n', 'team', ...args], node);
        assert.equal(out, `${expected}\n`, `${args.join(' ')}: ${err}`);
      }
      const { code, err } = await client.run(['auth', 'can-i', '--list', '-n', 'team'], node);
      assert.equal(code, 0, err);
      assert.match(err, /the list may be incomplete: node authorizer does not support user rule resolution/);
    });
  });
});

describe('kubectl in the dialect that it does not know', { skip }, () => {
  const held = new AsyncDisposableStack();
  const folder = held.use(new Folder());
  let client: KubectlClient;
  before(async () => {
    const server = held.use(await OrchProcess.start({ flags: [folder.tokens(users)] }));
    assert.ok(asked);
    client = new KubectlClient(asked, server);
  });
  after(() => held.disposeAsync());

  const group = 'rbac.authorization.orch.io';

  test('roles and bindings go by discovery: apply, get, refusals', async () => {
    const items = [
      {
        apiVersion: `${group}/v1`,
        kind: 'Role',
        metadata: { name: 'own', namespace: 'default' },
        rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }],
      },
      {
        apiVersion: `${group}/v1`,
        kind: 'RoleBinding',
        metadata: { name: 'own', namespace: 'default' },
        roleRef: { apiGroup: group, kind: 'Role', name: 'own' },
        subjects: [{ apiGroup: group, kind: 'User', name: 'bob' }],
      },
    ];
    const input = items.map((item) => JSON.stringify(item)).join('\n');
    for (const args of [
      ['apply', '-f', '-'],
      ['apply', '--server-side', '-f', '-'],
    ]) {
      const out = await client.prints(args, { input });
      assert.match(out, new RegExp(`^role\\.${group}/own `, 'm'));
    }
    assert.match(await client.prints(['get', 'configmaps', '-o', 'name'], { as: as('bob') }), /^configmap\//m);
    assert.match(await client.prints(['get', `rolebindings.${group}`]), /^NAME\s+ROLE\s+AGE\nown\s+Role\/own/);
    assert.equal(
      await client.refused(['get', 'secrets'], { as: as('bob') }),
      'Error from server (Forbidden): secrets is forbidden: User "bob" cannot list resource "secrets" in API group "" in the namespace "default"',
    );
    assert.equal(
      await client.refused(['get', `clusterroles.${group}`], { as: as('bob') }),
      `Error from server (Forbidden): clusterroles.${group} is forbidden: User "bob" cannot list resource "clusterroles" in API group "${group}" at the cluster scope`,
    );
    assert.match(await client.prints(['get', 'configmaps', '--as=bob', '-o', 'name']), /^configmap\//m);
  });

  test('reviews go by their path', async () => {
    const spec = { resourceAttributes: { verb: 'list', resource: 'configmaps', namespace: 'default' } };
    const input = JSON.stringify({ kind: 'SelfSubjectAccessReview', apiVersion: 'authorization.orch.io/v1', spec });
    const path = '/apis/authorization.orch.io/v1/selfsubjectaccessreviews';
    const out = await client.prints(['create', '--raw', path, '-f', '-'], { as: as('bob'), input });
    assert.equal((JSON.parse(out) as { status: { allowed: boolean } }).status.allowed, true);
  });

  test('auth can-i does not find its kind', async () => {
    const { code, err } = await client.run(['auth', 'can-i', 'get', 'pods'], { as: as('bob') });
    assert.equal(code, 1);
    assert.match(err, /Error from server \((NotFound|Forbidden)\)/);
  });
});
