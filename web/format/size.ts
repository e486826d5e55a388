/** Returns `812 bytes`, `4.2 KiB`, `1 MiB`. */
export function formatSize(bytes: number): string {
  if (bytes < 1_024) return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`;
  const [size, unit] = bytes < 1_048_576 ? [bytes / 1_024, 'KiB'] : [bytes / 1_048_576, 'MiB'];
  return `${Math.round(size * 10) / 10} ${unit}`;
}
