import { toneOf, type StatusWord, type Tone } from './tones.ts';
import classes from './status.module.css';

type StatusProps = {
  status: StatusWord;
  /** The text instead of the status, for example `Attempt 1 of 3`. */
  children?: string;
};

/** A status as a word with a dot. Colour, lightness and shape of the dot show the same status. */
export function Status({ status, children }: StatusProps) {
  const tone = toneOf(status);
  return (
    <span className={classes['status']} data-tone={tone}>
      <Dot tone={tone} />
      <span>{children ?? status}</span>
    </span>
  );
}

/** The dot alone, for use beside a text that names the status. */
export function Dot({ tone }: { tone: Tone }) {
  return (
    <svg className={classes['dot']} data-tone={tone} viewBox="0 0 12 12" width="12" height="12" aria-hidden>
      {SHAPES[tone]}
    </svg>
  );
}

const SHAPES: Readonly<Record<Tone, React.ReactNode>> = {
  waiting: (
    <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" strokeWidth="2" strokeDasharray="2 2" />
  ),
  moving: (
    <>
      <circle cx="6" cy="6" r="5" fill="currentColor" opacity="0.3" />
      <circle cx="6" cy="6" r="3" fill="currentColor" />
    </>
  ),
  held: (
    <>
      <rect x="2" y="1.5" width="3" height="9" rx="1" fill="currentColor" />
      <rect x="7" y="1.5" width="3" height="9" rx="1" fill="currentColor" />
    </>
  ),
  retrying: (
    <>
      <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" strokeWidth="2" />
      <path d="M6 2a4 4 0 0 0 0 8Z" fill="currentColor" />
    </>
  ),
  asking: <path d="M6 0.8 11.2 6 6 11.2 0.8 6Z" fill="currentColor" />,
  done: <circle cx="6" cy="6" r="5" fill="currentColor" />,
  failed: (
    <path
      d="M2.2 2.2 9.8 9.8 M9.8 2.2 2.2 9.8"
      stroke="currentColor"
      strokeWidth="2.6"
      strokeLinecap="round"
    />
  ),
  escalated: <path d="M6 1 11.2 10.6 H0.8 Z" fill="currentColor" />,
  off: <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" strokeWidth="2" />,
};
