/** A known vulnerability that does no harm here. `until`: the last day on which the exception applies. */
export type Exception = { advisory: string; until: string; reason: string };

const EXCEPTIONS: readonly Exception[] = [];

const SERIOUS = new Set(['high', 'critical']);

type Advisory = { url?: string; title?: string; severity?: string };
type Report = {
  vulnerabilities?: Record<string, { via?: (string | Advisory)[] }>;
  message?: string;
  error?: { summary?: string; code?: string };
};

/**
 * Evaluates the output of `npm audit --json`. A serious vulnerability without an exception is a failure. If the
 * registry gave no answer, the outcome is `not audited` and not `failed`, since checks must also work offline.
 */
export function judgeAudit(
  written: string,
  today: Date,
  exceptions: readonly Exception[] = EXCEPTIONS,
): { outcome: 'passed' | 'failed' | 'not audited'; sentences: string[] } {
  const report = parsed(written);
  if (!report?.vulnerabilities) {
    const why = report?.message ?? report?.error?.summary ?? report?.error?.code ?? 'npm gave no report';
    return { outcome: 'not audited', sentences: [`Nothing was audited: ${why.split('\n')[0]}`] };
  }
  const day = today.toISOString().slice(0, 10);
  const covered = new Set(exceptions.filter(({ until }) => day <= until).map(({ advisory }) => advisory));
  const found = Object.entries(report.vulnerabilities).flatMap(([name, { via = [] }]) =>
    // A name refers to the entry of another package, which is evaluated separately.
    via.flatMap((entry) => (typeof entry === 'object' ? [{ name, ...entry, id: idOf(entry) }] : [])),
  );
  const serious = found.filter(({ severity = '', id }) => SERIOUS.has(severity) && !covered.has(id));
  const findings = serious.map(({ name, severity, title, url }) => `${name}: ${severity}, ${title} (${url})`);
  const summary = `${found.length} known vulnerabilities in what ships, ${serious.length} of them serious and not covered.`;
  return { outcome: serious.length === 0 ? 'passed' : 'failed', sentences: [...findings, summary] };
}

function idOf({ url = '' }: Advisory): string {
  return url.slice(url.lastIndexOf('/') + 1);
}

function parsed(written: string): Report | null {
  try {
    return JSON.parse(written) as Report;
  } catch {
    return null;
  }
}
