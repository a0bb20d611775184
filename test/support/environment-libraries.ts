import { globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { leftOutReason, triesAllClients } from './kubectl-releases.ts';
import { type ClientCommand, cacheFolder, goBuild, goEnvironment } from './official-clients.ts';
import type { Program } from './prepared-program.ts';

const programs = resolve(import.meta.dirname, '../clients/environments');

/** The definition that programs install. */
const definitionFile = join(programs, 'widgets.yaml');

/** The steps of a program, in their order: ../clients/environments/README.md. */
export const environmentSteps = ['start', 'definition', 'custom', 'deployment', 'user', 'stop'] as const;

/** A library that starts a control plane for tests, and a program that uses it. */
interface EnvironmentLibrary extends Program {
  readonly language: string;
  readonly library: string;
  readonly version: string;
  /** Where the library looks for programs, below the folder that it is given. */
  readonly assets: string;
  readonly run: (folder: string) => ClientCommand;
  /** Why it is not tried. */
  readonly leftOut?: string;
}

function versionIn(file: string, pattern: RegExp): string {
  const version = pattern.exec(readFileSync(join(programs, file), 'utf8'))?.[1];
  if (version === undefined) throw new Error(`${file} names no version: ${pattern}`);
  return version;
}

/** The newest release of its time, and one that was so two years before. */
function go(modules: 'go.mod' | 'older.mod'): EnvironmentLibrary {
  const program = join(cacheFolder, `go/environment-${modules}`);
  const flags = [`-modfile=${modules}`];
  return {
    language: 'Go',
    library: 'controller-runtime',
    version: versionIn(`go/${modules}`, /sigs\.k8s\.io\/controller-runtime v([\d.]+)/),
    folder: join(programs, 'go'),
    toolchain: [{ command: 'go', args: ['version'] }],
    fetch: [{ command: 'go', args: ['mod', 'download', ...flags], env: goEnvironment }],
    registry: 'https://proxy.golang.org/',
    build: [
      { command: 'go', args: [...goBuild, ...flags, '-o', program, '.'], env: { ...goEnvironment, GOPROXY: 'off' } },
    ],
    assets: '',
    run: (folder) => ({ command: program, args: [definitionFile], env: { KUBEBUILDER_ASSETS: folder } }),
    ...(modules === 'older.mod' && !triesAllClients && { leftOut: leftOutReason }),
  };
}

function java(): EnvironmentLibrary {
  const built = join(cacheFolder, 'environment-java');
  return {
    language: 'Java',
    library: 'kube-api-test',
    version: versionIn('java/pom.xml', /<artifactId>kube-api-test<\/artifactId>\s*<version>([\d.]+)/),
    folder: join(programs, 'java'),
    toolchain: [
      { command: 'javac', args: ['-version'] },
      { command: 'mvn', args: ['-version'] },
      // It asks the server with it whether it is ready.
      { command: 'kubectl', args: ['version', '--client'] },
    ],
    fetch: [{ command: 'mvn', args: ['--batch-mode', '--quiet', 'compile', 'dependency:copy-dependencies'] }],
    registry: 'https://repo.maven.apache.org/maven2/',
    build: [],
    assets: 'k8s/1.32.0-linux-amd64',
    run: (folder) => ({
      command: 'java',
      args: ['-cp', `${join(built, 'classes')}:${join(built, 'dependency', '*')}`, 'Main', definitionFile, folder],
    }),
  };
}

/** It brings its own program in Go, and reads that one's header as a compiler of C does. Takes five minutes to build. */
function rust(): EnvironmentLibrary {
  const built = join(cacheFolder, 'environment-rust');
  const { CGO_ENABLED: _, ...goSettings } = goEnvironment;
  const build = `BINDGEN_EXTRA_CLANG_ARGS="-isystem $(gcc -print-file-name=include)" \
    exec cargo build --quiet --locked --target-dir "$0"`;
  return {
    language: 'Rust',
    library: 'envtest',
    version: versionIn('rust/Cargo.toml', /^envtest = "=([\d.]+)"/m),
    folder: join(programs, 'rust'),
    toolchain: [
      { command: 'cargo', args: ['--version'] },
      { command: 'go', args: ['version'] },
      { command: 'gcc', args: ['--version'] },
      { command: 'sh', args: ['-c', 'find /usr/lib -name "libclang[-.]*so*" | grep -q .'], tool: 'libclang' },
    ],
    fetch: [{ command: 'sh', args: ['-c', build, built], env: goSettings }],
    registry: 'https://index.crates.io/config.json',
    build: [],
    assets: '',
    run: (folder) => ({
      command: join(built, 'debug/environment'),
      args: [definitionFile, folder],
      env: { LD_LIBRARY_PATH: dirname(globSync(join(built, 'debug/build/envtest-*/out/libgo.so'))[0] ?? '') },
    }),
    ...(!triesAllClients && { leftOut: leftOutReason }),
  };
}

export const environmentLibraries: readonly EnvironmentLibrary[] = [go('go.mod'), go('older.mod'), java(), rust()];
