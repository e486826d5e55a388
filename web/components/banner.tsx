import { Title } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './banner.module.css';
import type { Tone } from './tones.ts';

type BannerProps = {
  tone: Tone;
  title: ReactNode;
  /** What a screen reader calls it. */
  label?: string;
  /** Whether it is told at once where it comes up. */
  urgent?: boolean;
  children?: ReactNode;
};

/** What a person must know before all else on a page. */
export function Banner({ tone, title, label, urgent = false, children }: BannerProps) {
  return (
    <section
      className={classes['band']}
      data-tone={tone}
      {...(label && { 'aria-label': label })}
      {...(urgent && { role: 'alert' })}
    >
      <Title order={2}>{title}</Title>
      <div className={classes['rest']}>{children}</div>
    </section>
  );
}
