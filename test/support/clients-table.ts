import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type StepLine, steps } from './client-script.ts';
import { environmentLibraries } from './environment-libraries.ts';
import type { ClientRun, OfficialClient } from './official-clients.ts';

const root = resolve(import.meta.dirname, '../..');

export const clientsFile = join(root, 'docs/CLIENTS.md');

/** What came of one row: the lines that its program printed, or why it did not run. */
export type Outcome = { readonly lines: readonly StepLine[] } | { readonly notRun: string };

export interface ClientRow {
  readonly client: OfficialClient;
  readonly run: ClientRun;
  readonly outcome: Outcome;
}

export function clientRow({ client, run, outcome }: ClientRow): string {
  const name = `${client.library} (${client.language})`;
  const cells = [
    client.version === '' ? name : [name, run.name].filter(Boolean).join(', '),
    client.version || run.name,
  ];
  if ('notRun' in outcome) return tableLine([...cells, `not run: ${outcome.notRun}`, '']);
  const passed = outcome.lines.filter(({ ok, note }) => ok && note === undefined);
  const absent = outcome.lines.filter(({ note }) => note !== undefined);
  const notes = absent.map(({ step, note = '' }) => `– \`${step}\`: ${note.replace(/^not in this client: /, '')}`);
  return tableLine([...cells, `${passed.length} of ${steps.length}`, notes.join('; ')]);
}

const tableLine = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`.replaceAll('  ', ' ');

/** The whole document. */
export function clientsDocument(rows: readonly ClientRow[]): string {
  return `# Clients

Official clients that do the same script against \`bin/orch up --dialect=kubernetes\` when the tests run, each in the release that the table names. The
steps (${steps.map((step) => `\`${step}\``).join(', ')})
are described in [test/clients/official/README.md](../test/clients/official/README.md). The file is written by the run itself:

    ORCH_WRITE_CLIENTS=1 npm test -- test/clients/official-clients.test.ts

Every test run compares the rows of the clients that it could run. Those whose toolchain is absent are skipped, and the run says so.

| client | release | steps passed | not in this client |
|---|---|---|---|
${rows.map(clientRow).join('\n')}

Objects of ten kinds that are defined at run time are followed through a restart by dynamic informers of client-go, by \`CustomObjectsApi\` with \`Watch\` of kubernetes
(Python), and by informers of @kubernetes/client-node (\`custom-informer.test.ts\`).

Libraries that start a control plane for tests start what \`orch envtest\` makes ([TESTING.md](TESTING.md)), and do the script of
[test/clients/environments/README.md](../test/clients/environments/README.md): definition, custom object, Deployment, user.

| library | release |
|---|---|
${environmentLibraries.map(({ library, language, version }) => tableLine([`${library} (${language})`, version])).join('\n')}

More is tested with every release of kubectl that the machine has:

| suite | covers |
|---|---|
${kubectlSuites()
  .map((cells) => tableLine(cells))
  .join('\n')}
`;
}

/** The suites of the command line, and the first sentence of what each says of itself. */
function kubectlSuites(): readonly (readonly string[])[] {
  const folder = join(root, 'test/clients');
  const files = readdirSync(folder).filter((name) => /^kubectl.*\.test\.ts$/.test(name));
  return files.sort().map((name) => {
    const comment = /^\/\*\*(.*?)\*\//ms.exec(readFileSync(join(folder, name), 'utf8'))?.[1] ?? '';
    const text = comment
      .replaceAll(/\n ?\*?/g, ' ')
      .replaceAll(/ +/g, ' ')
      .trim();
    const sentence = /^(.*?)\.(?: |$)/.exec(text)?.[1];
    if (sentence === undefined) throw new Error(`${name} does not say what it covers`);
    return [`\`${name}\``, sentence];
  });
}
