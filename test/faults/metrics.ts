/** Prints what was measured under the test that measured it. */
export function sayFigures(figures: Record<string, string | number>): void {
  for (const [name, value] of Object.entries(figures)) console.log(`        ${name}: ${value}`);
}

export function seconds(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(1)} s`;
}
