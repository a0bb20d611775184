import type { Metrics } from '../../base/metrics.ts';
import type { Dialect } from '../../dialect/dialect.ts';

/** `GET /version`: clients compare their own release with it. */
export function versionInfo({ gitVersion }: Pick<Dialect, 'gitVersion'>) {
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  return {
    major,
    minor,
    gitVersion,
    gitCommit: '',
    gitTreeState: '',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: '',
    compiler: `node ${process.version}`,
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
}

/** The same as a metric, whose value is always 1. The name is the published one, with the dialect's prefix. */
export function buildInfo(metrics: Metrics, dialect: Dialect): void {
  const version = versionInfo(dialect);
  const info = metrics.gauge({
    name: `${dialect.name}_build_info`,
    common: true,
    help: 'What this program was built from.',
    labels: [
      ...['major', 'minor', 'git_version', 'git_commit', 'git_tree_state', 'build_date', 'go_version'],
      ...['compiler', 'platform'],
    ],
  });
  info.set(
    {
      ...{ major: version.major, minor: version.minor, git_version: version.gitVersion },
      ...{ git_commit: version.gitCommit, git_tree_state: version.gitTreeState, build_date: version.buildDate },
      ...{ go_version: version.goVersion, compiler: version.compiler, platform: version.platform },
    },
    1,
  );
}
