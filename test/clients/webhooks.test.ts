import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { systemRandom } from '../../src/base/random.ts';
import { systemClock } from '../../src/base/time/clock.ts';
import { once } from '../../src/base/waits-fixture.ts';
import { ensureAuthority, ensureIssued } from '../../src/pki/ca.ts';
import { ruleFor, webhookFor } from '../support/admission-webhook.ts';
import { type ClientCommand, cacheFolder, goBuild, goEnvironment } from '../support/official-clients.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { type Program, prepareProgram } from '../support/prepared-program.ts';

/**
 * Admission webhooks in other languages, over TLS: ./webhooks/README.md. One whose toolchain or registry is absent is skipped with the
 * reason.
 */

interface WebhookProgram extends Program {
  readonly language: string;
  /** Version of HTTP that its server speaks with who offers it all. */
  readonly protocol: string;
  readonly run: ClientCommand;
}

const folder = (name: string): string => resolve(import.meta.dirname, 'webhooks', name);
const goProgram = join(cacheFolder, 'go/webhook');

const programs: readonly WebhookProgram[] = [
  {
    ...{ language: 'Go', protocol: 'HTTP/2.0', folder: folder('go') },
    toolchain: [{ command: 'go', args: ['version'] }],
    fetch: [{ command: 'go', args: ['mod', 'download'], env: goEnvironment }],
    registry: 'https://proxy.golang.org/',
    build: [{ command: 'go', args: [...goBuild, '-o', goProgram, '.'], env: { ...goEnvironment, GOPROXY: 'off' } }],
    run: { command: goProgram, args: [] },
  },
  {
    ...{ language: 'Python', protocol: 'HTTP/1.1', folder: folder('python') },
    toolchain: [{ command: 'python3', args: ['-c', 'import ssl'] }],
    ...{ fetch: [], build: [] },
    run: { command: 'python3', args: ['-B', 'main.py'] },
  },
];

const buildMsMax = 13 * 60_000;

for (const program of programs) {
  describe(`a webhook in ${program.language}`, { timeout: buildMsMax + 5 * 60_000 }, () => {
    const directory = mkdtempSync(join(tmpdir(), 'webhook-'));
    let notRun: string | undefined;
    let child: ChildProcess | undefined;
    let clientConfig: (path: string) => object;
    before(async () => {
      notRun = await prepareProgram(program);
      if (notRun === undefined) clientConfig = await start();
    });
    after(async () => {
      if (child?.kill('SIGKILL')) await once(child, 'close');
      rmSync(directory, { recursive: true });
    });

    /** Starts it; what configurations say of it. */
    async function start() {
      const files = (name: string) => ({
        certificate: join(directory, `${name}.crt`),
        key: join(directory, `${name}.key`),
      });
      const context = { clock: systemClock, random: systemRandom };
      const authority = ensureAuthority(files('ca'), 'ca', context);
      const serving = { subject: { commonName: 'webhook' }, use: 'serverAuth', hosts: ['127.0.0.1'] } as const;
      ensureIssued(files('webhook'), authority, serving, context);
      const { certificate, key } = files('webhook');
      const { command, args } = program.run;
      child = spawn(command, [...args, '-certificate', certificate, '-key', key], {
        cwd: program.folder,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [port] = await once(createInterface(child.stdout as NonNullable<typeof child.stdout>), 'line');
      const caBundle = Buffer.from(authority.certificatePem).toString('base64');
      return (path: string) => ({ url: `https://127.0.0.1:${port}${path}`, caBundle });
    }

    for (const [dialect, group] of [
      ['kubernetes', 'admissionregistration.k8s.io'],
      ['orch', 'admissionregistration.orch.io'],
    ] as const) {
      test(`patches, warns and refuses: ${dialect}`, async (t) => {
        if (notRun !== undefined) return t.skip(notRun);
        await using server = await OrchProcess.start({ flags: [`--dialect=${dialect}`] });
        for (const [type, path] of [
          ['Mutating', '/mutate'],
          ['Validating', '/validate'],
        ] as const) {
          const webhook = webhookFor(
            { clientConfig: { ...clientConfig(path) } },
            { rules: [ruleFor('CREATE', 'configmaps')] },
          );
          const { status, text } = await server.post(`/apis/${group}/v1/${type.toLowerCase()}webhookconfigurations`, {
            ...{ apiVersion: `${group}/v1`, kind: `${type}WebhookConfiguration` },
            ...{ metadata: { name: 'foreign' }, webhooks: [webhook] },
          });
          assert.equal(status, 201, text);
        }
        const maps = '/api/v1/namespaces/default/configmaps';
        const create = (name: string, data: object) =>
          server.post<{ readonly data: object; readonly message: string; readonly reason: string }>(maps, {
            ...{ metadata: { name }, data },
          });
        const made = await Promise.all(Array.from({ length: 20 }, (_, n) => create(`made-${n}`, { n: String(n) })));
        for (const [n, { status, json, headers, text }] of made.entries()) {
          assert.equal(status, 201, text);
          assert.deepEqual(json.data, { n: String(n), judged: `${program.language}, ${program.protocol}` });
          assert.equal(headers['warning'], `299 - "judged by ${program.language}"`);
        }
        const refused = await create('refused', { forbidden: 'yes' });
        assert.equal(refused.status, 422, refused.text);
        assert.equal(refused.json.reason, 'Invalid');
        assert.equal(refused.json.message, 'admission webhook "judge.example.com" denied the request: it is forbidden');
        assert.equal((await server.get(`${maps}/refused`)).status, 404);
      });
    }
  });
}
