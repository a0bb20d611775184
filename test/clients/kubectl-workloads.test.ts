import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { KubectlClient } from '../support/kubectl.ts';
import { kubectlReleases } from '../support/kubectl-releases.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** What every release of the client does with workloads, where no controller runs: the test writes what controllers would. */

const skip = kubectlReleases.length === 0 && 'kubectl is not installed';

/** A command, and what it prints. */
type Row = readonly [command: string, output: RegExp];

const made = (resource: string, name: string, verb = 'created') => new RegExp(`^${resource}/${name} ${verb}`, 'm');

const creations: readonly Row[] = [
  ['create deployment web --image=img:1 --replicas=2 --port=80', made('deployment.apps', 'web')],
  ['create job once --image=img:1 -- echo hello', made('job.batch', 'once')],
  ['create cronjob nightly --image=img:1 --schedule=0_1_*_*_* -- echo hello', made('cronjob.batch', 'nightly')],
  ['create job again --from=cronjob/nightly', made('job.batch', 'again')],
  ['create quota small --hard=pods=5,services=2', made('resourcequota', 'small')],
  [
    'create poddisruptionbudget steady --selector=app=web --min-available=50%',
    made('poddisruptionbudget.policy', 'steady'),
  ],
  ['create ingress way --class=front --rule=a.example/path*=web:80,tls=cert', made('ingress.networking.k8s.io', 'way')],
  ['create serviceaccount robot', made('serviceaccount', 'robot')],
  [
    'create rolebinding reads --clusterrole=view --serviceaccount=default:robot',
    made('rolebinding.rbac.authorization.k8s.io', 'reads'),
  ],
  ['run single --image=img:1 --labels=app=single --restart=Never', made('pod', 'single')],
  [
    'autoscale deployment web --min=1 --max=3 --cpu-percent=50',
    made('horizontalpodautoscaler.autoscaling', 'web', 'autoscaled'),
  ],
];

/** Headers and cells as the client shows them. */
const tables: readonly Row[] = [
  ['get deployments', /^NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nweb +0\/2 +0 +0 +\d+s/],
  ['get deploy web -o wide', /CONTAINERS +IMAGES +SELECTOR\n.* img +img:1 +app=web/],
  ['get jobs', /^NAME +(?:STATUS +)?COMPLETIONS +DURATION +AGE\nagain +(?:Running +)?0\/1/],
  [
    'get cj nightly',
    /^NAME +SCHEDULE +(?:TIMEZONE +)?SUSPEND +ACTIVE +LAST SCHEDULE +AGE\nnightly +0 1 \* \* \* +(?:<none> +)?False +0 +<none>/,
  ],
  ['get quota', /^NAME +(?:AGE +)?REQUEST +LIMIT(?: +AGE)?\nsmall/],
  ['get pdb', /^NAME +MIN AVAILABLE +MAX UNAVAILABLE +ALLOWED DISRUPTIONS +AGE\nsteady +50% +N\/A +0/],
  ['get ing', /^NAME +CLASS +HOSTS +ADDRESS +PORTS +AGE\nway +front +a.example +80, 443/],
  ['get hpa', /^NAME +REFERENCE +TARGETS +MINPODS +MAXPODS +REPLICAS +AGE\nweb +Deployment\/web/],
  ['get pods single', /^NAME +READY +STATUS +RESTARTS +AGE\nsingle +0\/1 +Pending/],
  ['get all -o name', /^deployment.apps\/web$/m],
];

const descriptions: readonly Row[] = [
  ['describe deployment web', /Replicas: +2 desired \| 0 updated \| 0 total/],
  ['describe job once', /Completions: +1\n/],
  ['describe cronjob nightly', /Schedule: +0 1 \* \* \*\n/],
  ['describe quota small', /Resource +Used +Hard\n[ -]+\npods +\d+ +5/],
  ['describe pdb steady', /Min available: +50%/],
  ['describe ingress way', /Ingress Class: +front/],
  ['describe hpa web', /Reference: +Deployment\/web/],
];

const changes: readonly Row[] = [
  ['scale deployment web --replicas=3', made('deployment.apps', 'web', 'scaled')],
  ['get deployment web -o jsonpath={.spec.replicas}', /^3$/],
  ['set image deployment/web img=img:2', made('deployment.apps', 'web', 'image updated')],
  ['set env deployment/web A=b', made('deployment.apps', 'web', 'env updated')],
  ['set resources deployment/web --limits=cpu=200m', made('deployment.apps', 'web', 'resource requirements updated')],
  ['set serviceaccount deployment/web robot', made('deployment.apps', 'web', 'serviceaccount updated')],
  ['set subject rolebinding reads --user=jane', /rolebinding.rbac.authorization.k8s.io\/reads subjects updated/],
  ['get deployment web -o jsonpath={.metadata.generation}', /^6$/],
  ['label deployment web tier=front', made('deployment.apps', 'web', 'labeled')],
  ['annotate deployment web note=x', made('deployment.apps', 'web', 'annotate')],
  ['get deployment -l tier=front -o name', /^deployment.apps\/web$/m],
  ['get deployment web -o jsonpath={.metadata.generation}', /^[67]$/],
  ['rollout pause deployment/web', made('deployment.apps', 'web', 'paused')],
  ['rollout resume deployment/web', made('deployment.apps', 'web', 'resumed')],
  ['rollout restart deployment/web', made('deployment.apps', 'web', 'restarted')],
  ['get deployment web -o jsonpath={.spec.template.metadata.annotations}', /restartedAt/],
  ['patch cronjob nightly --type=merge -p {"spec":{"suspend":true}}', made('cronjob.batch', 'nightly', 'patched')],
];

const deployments = '/apis/apps/v1/namespaces';

interface Deployment {
  readonly metadata: { readonly name: string; readonly uid: string; readonly generation: number };
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } };
  };
}

for (const release of kubectlReleases) {
  describe(`kubectl ${release.release} and workloads`, { skip, timeout: 240_000 }, () => {
    const space = `release-${release.release.replace('.', '-')}`;
    let server: OrchProcess;
    let client: KubectlClient;
    before(async () => {
      server = await OrchProcess.start({ flags: ['--dialect=kubernetes'] });
      client = new KubectlClient(release, server);
      await client.prints(['create', 'namespace', space]);
    });
    after(() => server[Symbol.asyncDispose]());

    /** An underscore stands for a space in an argument. */
    const run = (command: string, input?: string): Promise<string> =>
      client.prints(
        ['-n', space, ...command.split(' ').map((argument) => argument.replaceAll('_', ' '))],
        input === undefined ? {} : { input },
      );

    async function prints(rows: readonly Row[]): Promise<void> {
      for (const [command, output] of rows) assert.match(await run(command), output, command);
    }

    const web = async (): Promise<Deployment> =>
      (await server.get<Deployment>(`${deployments}/${space}/deployments/web`)).json;

    /** A former or present state of the deployment. */
    async function replicaSet(revision: number, image: string): Promise<void> {
      const { metadata } = await web();
      const labels = { app: 'web', 'pod-template-hash': `${revision}` };
      const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: metadata.uid, controller: true };
      const body = {
        ...{ apiVersion: 'apps/v1', kind: 'ReplicaSet' },
        metadata: {
          ...{ name: `web-${revision}`, labels, ownerReferences: [owner] },
          annotations: { 'deployment.kubernetes.io/revision': `${revision}` },
        },
        spec: {
          ...{ replicas: 0, selector: { matchLabels: labels } },
          template: { metadata: { labels }, spec: { containers: [{ name: 'img', image }] } },
        },
      };
      const { status, text } = await server.post(`${deployments}/${space}/replicasets`, body);
      assert.equal(status, 201, text);
    }

    it('creates them', () => prints(creations));
    it('shows them', () => prints(tables));
    it('describes them', () => prints(descriptions));
    it('changes them', () => prints(changes));

    it('shows former states, and goes back to one', async () => {
      await replicaSet(1, 'img:1');
      await replicaSet(2, 'img:2');
      assert.match(await run('rollout history deployment/web'), /REVISION +CHANGE-CAUSE\n1 +<none>\n2 +<none>/);
      assert.match(await run('rollout history deployment/web --revision=1'), /Image:\s+img:1/);
      assert.match(await run('rollout undo deployment/web --to-revision=1'), /deployment.apps\/web rolled back/);
      assert.equal((await web()).spec.template.spec.containers[0]?.image, 'img:1');
    });

    it('waits for what a controller writes', async () => {
      const { metadata } = await web();
      const conditions = [{ type: 'Available', status: 'True' }];
      const counts = { replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3 };
      const path = `${deployments}/${space}/deployments/web/status`;
      const status = { observedGeneration: metadata.generation, ...counts, conditions };
      const headers = { 'content-type': 'application/merge-patch+json' };
      const waiting = run('rollout status deployment/web --timeout=60s');
      assert.equal((await server.request('PATCH', path, { body: { status }, headers })).status, 200);
      assert.match(await waiting, /deployment "web" successfully rolled out/);
      assert.match(await run('wait --for=condition=Available deployment/web --timeout=60s'), /condition met/);
    });

    it('applies, and prunes what is gone', async () => {
      const job = (name: string) => ({
        ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name, labels: { set: 'a' } } },
        spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'img:1' }] } } },
      });
      const list = (...names: string[]) => JSON.stringify({ apiVersion: 'v1', kind: 'List', items: names.map(job) });
      const apply = 'apply --prune -l set=a --prune-allowlist=batch/v1/Job -f -';
      assert.match(await run(apply, list('a', 'b')), /job.batch\/a created\njob.batch\/b created/);
      assert.match(await run(apply, list('a')), /job.batch\/a unchanged\n(?:.*\n)*job.batch\/b pruned/);
      assert.match(await run('apply --server-side -f -', list('c')), /job.batch\/c serverside-applied/);
    });

    it('deletes them, with or without what they own', async () => {
      assert.match(await run('delete deployment web --cascade=orphan'), /deployment.apps "web" deleted/);
      assert.match(await run('get rs -o name'), /replicaset.apps\/web-1\nreplicaset.apps\/web-2/);
      assert.match(
        await run('delete job,cronjob,pdb,quota,ingress,hpa --all --wait=false'),
        /cronjob.batch "nightly" deleted/,
      );
    });

    it('knows priority classes, which are of no namespace', async () => {
      await prints([
        ['create priorityclass mine --value=7 --description=x', made('priorityclass.scheduling.k8s.io', 'mine')],
        ['get pc mine', /^NAME +VALUE +GLOBAL-DEFAULT +AGE/],
        ['describe pc mine', /Value: +7\n/],
        ['delete pc mine', /priorityclass.scheduling.k8s.io "mine" deleted/],
      ]);
    });
  });
}
