const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
});

/** Returns `14:03:21` in the local time zone. */
export function formatClockTime(iso: string): string {
  return clock.format(new Date(iso));
}
