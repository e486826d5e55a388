import { Title } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './banner.module.css';
import type { Tone } from './tones.ts';

type BannerProps = {
  tone: Tone;
  title: ReactNode;
  /** The accessible name. */
  label?: string;
  /** Whether a screen reader announces it immediately. */
  urgent?: boolean;
  children?: ReactNode;
};

/** Shows the most important information of a page. */
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
