import { Button } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';

const SnippetTabs = lazy(async () => ({ default: (await import('../form/snippet-tabs.tsx')).SnippetTabs }));

/** The button that shows code which verifies signatures. */
export function VerificationCode() {
  const [isShown, setIsShown] = useState(false);
  return (
    <>
      <Button
        variant="default"
        size="xs"
        aria-expanded={isShown}
        onClick={() => setIsShown(!isShown)}
        style={{ alignSelf: 'flex-start' }}
      >
        {isShown ? 'Hide code' : 'Show verification code'}
      </Button>
      <Suspense>{isShown ? <SnippetTabs /> : null}</Suspense>
    </>
  );
}
