import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { kubectlLeftOut, kubectlReleases, leftOutReason } from './kubectl-releases.ts';

const programs = resolve(import.meta.dirname, '../clients/official');

/** Where programs are built and what they need is kept; worth keeping from one run to the next. */
export const cacheFolder =
  process.env['ORCH_CLIENTS_CACHE'] ?? join(tmpdir(), `orch-official-clients-${userInfo().uid}`);

/** A command, in the folder of its program. */
export interface ClientCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** One way to run a program: a row of the table. */
export interface ClientRun {
  /** What tells the rows of one client apart; '' where it has one. */
  readonly name: string;
  readonly run: ClientCommand;
  readonly serverFlags?: readonly string[];
  /** Why it cannot run on this machine. */
  readonly missing?: string;
  /** Runs, and is no row of the table: a release that only this machine has. */
  readonly unlisted?: boolean;
}

export interface OfficialClient {
  readonly language: string;
  readonly library: string;
  readonly version: string;
  readonly folder: string;
  /** Commands that succeed where the toolchain is there. */
  readonly toolchain: readonly (ClientCommand & {
    /** What it looks for. Default: itself. */ readonly tool?: string;
  })[];
  /** Gets what the lock file names. Needs the registry, unless all is in the cache. */
  readonly fetch: readonly ClientCommand[];
  readonly registry?: string;
  /** Works without a network. */
  readonly build: readonly ClientCommand[];
  readonly runs: readonly ClientRun[];
  /** A program that follows the resources that its arguments name: ../clients/official/README.md. */
  readonly follower?: ClientCommand;
}

const asks = (command: string, ...args: readonly string[]): ClientCommand => ({ command, args });

/** The version that a file of the program names. */
function versionIn(file: string, pattern: RegExp): string {
  const version = pattern.exec(readFileSync(join(programs, file), 'utf8'))?.[1];
  if (version === undefined) throw new Error(`${file} names no version: ${pattern}`);
  return version;
}

/** Begins every build of a program in Go. One set of flags, so that programs share what they have in common; it is built for once. */
export const goBuild = ['build', '-ldflags=-s -w', '-gcflags=all=-N -l'];

/** Of commands that fetch or build programs in Go. */
export const goEnvironment = {
  GOMODCACHE: join(cacheFolder, 'go/modules'),
  GOCACHE: join(cacheFolder, 'go/build'),
  GOFLAGS: '-modcacherw -buildvcs=false',
  CGO_ENABLED: '0',
};

function go(): OfficialClient {
  const cache = join(cacheFolder, 'go');
  const [program, follower] = [join(cache, 'client'), join(cache, 'follower')];
  const env = goEnvironment;
  /** Bodies in a format, and nothing else accepted in answers. */
  const speaks = (mediaType: string) => ({
    command: program,
    args: [`-content-type=${mediaType}`, `-answers=${mediaType}`],
  });
  return {
    language: 'Go',
    library: 'client-go',
    version: versionIn('go/go.mod', /k8s\.io\/client-go v([\d.]+)/),
    folder: join(programs, 'go'),
    toolchain: [asks('go', 'version')],
    fetch: [{ command: 'go', args: ['mod', 'download'], env }],
    registry: 'https://proxy.golang.org/',
    build: [
      { command: 'go', args: [...goBuild, '-o', program, '.'], env: { ...env, GOPROXY: 'off' } },
      { command: 'go', args: [...goBuild, '-o', follower, './follow'], env: { ...env, GOPROXY: 'off' } },
    ],
    follower: asks(follower),
    runs: [
      { name: 'protobuf', run: speaks('application/vnd.kubernetes.protobuf') },
      { name: 'JSON', run: speaks('application/json') },
      {
        name: 'CBOR',
        run: {
          ...speaks('application/cbor'),
          env: { KUBE_FEATURE_ClientsAllowCBOR: 'true', KUBE_FEATURE_ClientsPreferCBOR: 'true' },
        },
        serverFlags: ['--feature-gates=CBORServingAndStorage=true'],
      },
    ],
  };
}

function typescript(): OfficialClient {
  return {
    language: 'TypeScript',
    library: '@kubernetes/client-node',
    version: versionIn('../../../package.json', /"@kubernetes\/client-node": "([\d.]+)"/),
    folder: join(programs, 'typescript'),
    toolchain: [],
    fetch: [],
    build: [],
    runs: [{ name: '', run: { command: process.execPath, args: ['main.ts'] } }],
  };
}

function python(): OfficialClient {
  const environment = join(cacheFolder, 'python');
  const runs = (file: string): ClientCommand => asks(join(environment, 'bin/python'), '-B', file);
  return {
    language: 'Python',
    library: 'kubernetes',
    version: versionIn('python/requirements.txt', /^kubernetes==([\d.]+)/m),
    folder: join(programs, 'python'),
    toolchain: [asks('python3', '-c', 'import venv')],
    fetch: [
      asks('python3', '-m', 'venv', environment),
      asks(join(environment, 'bin/python'), '-m', 'pip', 'install', '--quiet', '--requirement', 'requirements.txt'),
    ],
    registry: 'https://pypi.org/simple/kubernetes/',
    build: [],
    runs: [{ name: '', run: runs('main.py') }],
    follower: runs('follow.py'),
  };
}

/** Its build folder, which `pom.xml` names, is in the cache; the repository is that of the user. */
function java(): OfficialClient {
  const built = join(cacheFolder, 'java');
  return {
    language: 'Java',
    library: 'client-java',
    version: versionIn('java/pom.xml', /<artifactId>client-java<\/artifactId>\s*<version>([\d.]+)/),
    folder: join(programs, 'java'),
    toolchain: [asks('javac', '-version'), asks('mvn', '-version')],
    fetch: [asks('mvn', '--batch-mode', '--quiet', 'compile', 'dependency:copy-dependencies')],
    registry: 'https://repo.maven.apache.org/maven2/',
    build: [],
    runs: [
      {
        name: '',
        run: asks('java', '-cp', [join(built, 'classes'), join(built, 'dependency', '*')].join(':'), 'Main'),
      },
    ],
  };
}

function rust(): OfficialClient {
  const built = join(cacheFolder, 'rust');
  return {
    language: 'Rust',
    library: 'kube',
    version: versionIn('rust/Cargo.toml', /^kube = \{ version = "=([\d.]+)"/m),
    folder: join(programs, 'rust'),
    toolchain: [asks('cargo', '--version')],
    fetch: [asks('cargo', 'fetch', '--quiet', '--locked')],
    registry: 'https://index.crates.io/config.json',
    build: [asks('cargo', 'build', '--quiet', '--locked', '--offline', '--target-dir', built)],
    runs: [{ name: '', run: asks(join(built, 'debug/script')) }],
  };
}

/** Those that the table has, whatever this machine has. */
const kubectlReleasesListed: readonly string[] = ['1.27', '1.28', '1.29', '1.30', '1.31', '1.32', '1.33'];

function kubectl(): OfficialClient {
  const found = new Map(kubectlReleases.map(({ program, release }) => [release || releaseOf(program), program]));
  const leftOut = new Set(kubectlLeftOut.map(({ release }) => release));
  const releases = new Set([...kubectlReleasesListed, ...found.keys()]);
  return {
    language: 'command line',
    library: 'kubectl',
    version: '',
    folder: join(programs, 'kubectl'),
    toolchain: [],
    fetch: [],
    build: [],
    runs: [...releases].map((name) => ({
      name,
      run: { command: process.execPath, args: ['main.ts', found.get(name) ?? ''] },
      ...(!found.has(name) && { missing: leftOut.has(name) ? leftOutReason : `kubectl ${name} is not installed` }),
      ...(!kubectlReleasesListed.includes(name) && { unlisted: true }),
    })),
  };
}

function releaseOf(program: string): string {
  const { stdout } = spawnSync(program, ['version', '--client', '-o', 'json'], { encoding: 'utf8' });
  return /"gitVersion": *"v(\d+\.\d+)/.exec(stdout)?.[1] ?? 'unknown';
}

export const officialClients: readonly OfficialClient[] = [go(), typescript(), python(), java(), rust(), kubectl()];
