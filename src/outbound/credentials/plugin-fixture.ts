import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CredentialPlugin } from '../connection-config.ts';

/** Credential plugins for tests: programs in a directory of their own. */
export class PluginFixture {
  readonly directory = mkdtempSync(join(tmpdir(), 'plugin-'));
  #count = 0;

  file(name: string): string {
    return join(this.directory, name);
  }

  /** A program with the given source, which can use `answer(status)`, `fs`, and `info`, its input ExecCredential. */
  program(source: string, name = `plugin-${++this.#count}`): string {
    const file = this.file(name);
    writeFileSync(file, `#!${process.execPath}\n${preamble}\n${source}\n`, { mode: 0o755 });
    return file;
  }

  /** A plugin that records each run and then executes the source. */
  plugin(source: string, more: Partial<CredentialPlugin> = {}): CredentialPlugin {
    const command = this.program(`fs.appendFileSync(${JSON.stringify(this.file('runs'))}, 'x');\n${source}`);
    return {
      apiVersion: 'client.authentication.orch.io/v1',
      command,
      args: [],
      env: [],
      installHint: undefined,
      interactiveMode: 'Never',
      cluster: undefined,
      variable: 'ORCH_EXEC_INFO',
      ...more,
    };
  }

  /** Number of plugin runs since the last call. */
  runs(): number {
    const count = existsSync(this.file('runs')) ? readFileSync(this.file('runs')).length : 0;
    writeFileSync(this.file('runs'), '');
    return count;
  }

  close(): void {
    rmSync(this.directory, { recursive: true });
  }
}

const preamble = `
const fs = require('node:fs');
const info = JSON.parse(process.env.ORCH_EXEC_INFO ?? '{}');
const answer = (status) => process.stdout.write(JSON.stringify({ kind: 'ExecCredential', apiVersion: info.apiVersion, status }));
`;
