import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { Folder } from '../support/authorization.ts';
import { Command } from '../support/command.ts';

/** What is wrong with the flags of authorization ends the start with one line that names the flag, and exit 1. */

const folder = new Folder();
after(() => folder[Symbol.dispose]());

const absent = join(folder.path, 'absent');
const policy = '{"apiVersion":"abac.authorization.orch.io/v1beta1","kind":"Policy","spec":{"user":"a","resource":"*"}}';
const policies = folder.write('policies.jsonl', `# one\n${policy}\n`);
const kubeconfig = (server: string, more = ''): string =>
  `{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: '${server}'${more}}}], users: [{name: u, user: {}}], contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}`;
const connection = folder.write('webhook.kubeconfig', kubeconfig('https://127.0.0.1:1/authorize'));
const config = (text: string): string => `--authorization-config=${folder.write(`c${++count}.yaml`, text)}`;
let count = 0;
const document = (authorizers: string, version = 'v1'): string =>
  `{apiVersion: apiserver.config.orch.io/${version}, kind: AuthorizationConfiguration, authorizers: ${authorizers}}`;
const webhook = (rest: string): string =>
  `{timeout: 3s, subjectAccessReviewVersion: v1, matchConditionSubjectAccessReviewVersion: v1, failurePolicy: Deny, connectionInfo: {type: KubeConfigFile, kubeConfigFile: ${connection}}${rest}}`;
const rbac = document('[{type: RBAC, name: rbac}]');
const mode = '--authorization-mode';

const usesWebhook = [`${mode}=Webhook`, `--authorization-webhook-config-file=${connection}`];

/** One or two for each flag: what else files may have wrong is tested where they are read. */
const rows: readonly (readonly [what: string, flags: readonly string[], ...expected: RegExp[]])[] = [
  ['an unknown mode', [`${mode}=RBAC,Magic`], /--authorization-mode/, /"Magic"/],
  ['a mode twice', [`${mode}=RBAC,Node,RBAC`], /--authorization-mode/, /RBAC/],
  ['ABAC without policies', [`${mode}=ABAC`], /--authorization-policy-file/],
  ['policies without ABAC', [`--authorization-policy-file=${policies}`], /--authorization-policy-file/, /ABAC/],
  [
    'policies with a mistake',
    [`${mode}=ABAC`, `--authorization-policy-file=${folder.write('p1', `${policy}\n\n{"spec"\n`)}`],
    /--authorization-policy-file/,
    /p1, line 3/,
  ],
  ['Webhook without a file', [`${mode}=Webhook`], /--authorization-webhook-config-file/],
  [
    'a webhook file without Webhook',
    [`--authorization-webhook-config-file=${connection}`],
    /--authorization-webhook-config-file/,
    /Webhook/,
  ],
  [
    'no such webhook file',
    [`${mode}=Webhook`, `--authorization-webhook-config-file=${absent}`],
    /--authorization-webhook-config-file/,
    /absent/,
  ],
  [
    'a webhook that is not asked by HTTP',
    [`${mode}=Webhook`, `--authorization-webhook-config-file=${folder.write('k2', kubeconfig('ftp://127.0.0.1:1'))}`],
    /--authorization-webhook-config-file/,
    /k2/,
    /https/,
  ],
  [
    'a version that there is not',
    [...usesWebhook, '--authorization-webhook-version=v2'],
    /--authorization-webhook-version/,
  ],
  [
    'a time that is none',
    [...usesWebhook, '--authorization-webhook-cache-authorized-ttl=soon'],
    /--authorization-webhook-cache-authorized-ttl/,
  ],
  [
    'a time below nothing',
    [...usesWebhook, '--authorization-webhook-cache-unauthorized-ttl=-1s'],
    /--authorization-webhook-cache-unauthorized-ttl/,
  ],
  ['a file and a mode', [config(rbac), `${mode}=RBAC`], /--authorization-config/, /--authorization-mode/],
  [
    'a file and a setting of webhooks',
    [config(rbac), '--authorization-webhook-version=v1'],
    /--authorization-config/,
    /--authorization-webhook-version/,
  ],
  ['no such file', [`--authorization-config=${absent}`], /--authorization-config/, /absent/],
  [
    'a file with mistakes',
    [config(document('[{type: RBAC}, {type: Magic, name: a}, {type: Webhook, name: w}]'))],
    /--authorization-config: /,
    /c\d+\.yaml: authorizers\[0\]\.name: .*; authorizers\[1\]\.type: .*"Magic".*; authorizers\[2\]\.webhook: /,
  ],
  [
    'an expression that is none',
    [config(document(`[{type: Webhook, name: w, webhook: ${webhook(", matchConditions: [{expression: '1 +'}]")}}]`))],
    /--authorization-config: /,
    /authorizers\[0\]\.webhook\.matchConditions\[0\]\.expression/,
  ],
  [
    'a webhook of a cluster that there is not',
    [
      config(
        document(
          `[{type: Webhook, name: w, webhook: ${webhook('').replace(/\{type: KubeConfigFile[^}]*\}/, '{type: InClusterConfig}')}}]`,
        ),
      ),
    ],
    /--authorization-config: /,
  ],
];

/** Runs them a few at a time: most of each is the start of a process. */
const running: Promise<unknown>[] = [];
async function inTurn<T>(run: () => Promise<T>): Promise<T> {
  const at = running.length;
  const before = running[at - 3];
  const mine = Promise.resolve(before).then(run);
  running.push(mine.catch(() => {}));
  return mine;
}

describe('a start with wrong flags of authorization', { concurrency: true }, () => {
  for (const [index, [what, flags, ...expected]] of rows.entries()) {
    test(what, () =>
      inTurn(async () => {
        const dataDirectory = join(folder.path, `data-${index}`);
        await using run = new Command('up', `--data-dir=${dataDirectory}`, '--secure-port=0', ...flags);
        assert.equal(await run.exit(), 1, run.out);
        const lines = run.err.trimEnd().split('\n');
        assert.equal(lines.length, 1, run.err);
        for (const pattern of expected) assert.match(run.err, pattern);
        assert.doesNotMatch(run.err, /\bat .*\.ts:/);
        assert.equal(run.out.includes('listens on'), false);
        assert.equal(existsSync(join(dataDirectory, 'admin.kubeconfig')), false, 'nothing is served');
      }),
    );
  }
});
