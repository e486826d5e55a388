import type { ReactNode } from 'react';
import { Dot } from '../../../components/status.tsx';
import type { Tone } from '../../../components/tones.ts';
import classes from './callout.module.css';

type CalloutProps = {
  tone: Tone;
  title: string;
  /** Whether a screen reader announces it immediately. */
  urgent?: boolean;
  children?: ReactNode;
};

/** A highlighted message with a title. */
export function Callout({ tone, title, urgent = false, children }: CalloutProps) {
  return (
    <div className={classes['callout']} data-tone={tone} {...(urgent && { role: 'alert' })}>
      <span className={classes['mark']}>
        <Dot tone={tone} />
      </span>
      <div className={classes['words']}>
        <strong>{title}</strong>
        {children ? <div>{children}</div> : null}
      </div>
    </div>
  );
}
