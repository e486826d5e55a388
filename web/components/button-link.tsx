import { Button, type ButtonProps } from '@mantine/core';
import { createLink, type LinkComponent } from '@tanstack/react-router';
import type { AnchorHTMLAttributes } from 'react';

type AnchorProps = ButtonProps & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof ButtonProps>;

function ButtonAnchor(props: AnchorProps) {
  return <Button component="a" {...props} />;
}

const ButtonRouted = createLink(ButtonAnchor);

/** A link that looks like a button. */
export const ButtonLink: LinkComponent<typeof ButtonAnchor> = (props) => <ButtonRouted {...props} />;
