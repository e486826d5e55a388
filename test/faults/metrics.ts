/** Prints metrics below the test. */
export function printMetrics(metrics: Record<string, string | number>): void {
  for (const [name, value] of Object.entries(metrics)) console.log(`        ${name}: ${value}`);
}

export function seconds(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(1)} s`;
}
