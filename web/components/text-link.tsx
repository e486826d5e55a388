import { Anchor, type AnchorProps } from '@mantine/core';
import { createLink, type LinkComponent } from '@tanstack/react-router';
import type { AnchorHTMLAttributes } from 'react';

type TextAnchorProps = AnchorProps & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof AnchorProps>;

function TextAnchor(props: TextAnchorProps) {
  return <Anchor inherit underline="always" {...props} />;
}

const TextRouted = createLink(TextAnchor);

/** A link within a sentence. */
export const TextLink: LinkComponent<typeof TextAnchor> = (props) => <TextRouted {...props} />;
