import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { kubectlMissing } from '../support/kubectl.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** What `examples/` and the README show does what it shows. */

const root = resolve(import.meta.dirname, '../..');
/** What stands in folders is sourced by the examples. */
const examples = readdirSync(join(root, 'examples'), { withFileTypes: true }).flatMap((entry) =>
  entry.isFile() ? [entry.name] : [],
);

const missing = (program: string, ...args: readonly string[]): string | undefined =>
  spawnSync(program, args).error ? `${program} is not installed` : undefined;

const skip = kubectlMissing ?? missing('openssl', 'version') ?? missing('curl', '--version');

interface Outcome {
  readonly code: number;
  readonly out: string;
}

describe('the examples', { skip }, () => {
  let server: OrchProcess;
  let home: string;
  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'orch-examples-'));
    server = await OrchProcess.start();
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    rmSync(home, { recursive: true, force: true });
  });

  const run = (args: readonly string[], cwd = root): Promise<Outcome> =>
    new Promise((resolve) => {
      const env = { ...process.env, HOME: home, TMPDIR: home, KUBECONFIG: server.kubeconfig };
      execFile('sh', args, { cwd, env, timeout: 120_000 }, (error, out, err) =>
        resolve({ code: error ? Number(error.code ?? 1) : 0, out: out + err }),
      );
    });

  const runCommands = (commands: string, cwd: string): Promise<Outcome> =>
    run(['-euc', commands.replaceAll(':6443/', `:${server.port}/`)], cwd);

  for (const script of examples.filter((name) => name.endsWith('.sh'))) {
    test(script, async () => {
      const { code, out } = await run([join('examples', script)]);
      assert.equal(code, 0, out);
      assert.deepEqual(
        readdirSync(home).filter((name) => name.startsWith('tmp.')),
        [],
        'it leaves nothing behind',
      );
    });
  }

  test('leave the server as it was', async () => {
    for (const path of ['/api/v1/namespaces/default/configmaps', '/api/v1/namespaces/default/serviceaccounts']) {
      const { json } = await server.get<{ readonly items: readonly { readonly metadata: { name: string } }[] }>(path);
      assert.equal(json.items.length, 1, JSON.stringify(json.items.map(({ metadata: { name } }) => name)));
    }
  });

  test('the commands of the README on users and permissions, word for word', async () => {
    const folder = mkdtempSync(join(home, 'readme-'));
    symlinkSync(server.dataDir, join(folder, '.orch'));
    symlinkSync(join(root, 'examples'), join(folder, 'examples'));
    const { code, out } = await runCommands(commandsAfter('README.md', 'robot'), folder);
    assert.equal(code, 0, out);
    assert.match(out, /"kind": "ConfigMapList"/);
  });

  test('the commands of docs/OPERATIONS.md that get a certificate, word for word', async () => {
    const folder = mkdtempSync(join(home, 'certificate-'));
    symlinkSync(server.dataDir, join(folder, '.orch'));
    const { code, out } = await runCommands(commandsAfter('docs/OPERATIONS.md', '### Certificates for others'), folder);
    assert.equal(code, 0, out);
    assert.match(out, /"username": "jane",\s+"groups": \[\s+"developers",/);
  });
});

/** The indented block of a document that follows the first line with that word. */
function commandsAfter(file: string, word: string): string {
  const lines = readFileSync(join(root, file), 'utf8').split('\n');
  const said = lines.findIndex((line) => line.includes(word));
  const from = lines.findIndex((line, at) => at > said && line.startsWith('    '));
  const block = lines.slice(from, lines.indexOf('', from));
  return block.map((line) => line.replace(/^ {4}/, '')).join('\n');
}

/** Preloaded by programs that import the package: they get the sources, not a bundle that may be older. */
const library = `data:text/javascript,
  import { registerHooks } from 'node:module';
  const urls = ${JSON.stringify({
    orch: pathToFileURL(join(root, 'src/library/library.ts')),
    'orch/testing': pathToFileURL(join(root, 'src/cli/testing/testing.ts')),
  })};
  registerHooks({ resolve: (name, context, next) => urls[name] ? { url: urls[name], shortCircuit: true } : next(name, context) });
`;

for (const program of examples.filter((name) => name.endsWith('.ts'))) {
  test(program, () => {
    const flags = ['--disable-warning=ExperimentalWarning', `--import=${library}`];
    const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, join(root, 'examples', program)], {
      ...{ encoding: 'utf8', timeout: 120_000 },
    });
    assert.equal(status, 0, stdout + stderr);
    assert.equal(stderr, '');
  });
}

test('every example is listed', () => {
  const list = readFileSync(join(root, 'examples/README.md'), 'utf8');
  for (const name of examples.filter((each) => each !== 'README.md'))
    assert.match(list, new RegExp(`^\\| \`${name}\` \\|`, 'm'));
});
